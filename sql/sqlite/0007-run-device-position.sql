-- Where a device stands among its run's: selection draws positions, and a round reads only the devices that it takes.
ALTER TABLE run_device ADD COLUMN position INTEGER NOT NULL DEFAULT 0;
UPDATE run_device SET position = place FROM
    (SELECT run_id AS of_run, ordinal AS of_ordinal,
        row_number() OVER (PARTITION BY run_id ORDER BY ordinal) - 1 AS place FROM run_device)
    WHERE run_id = of_run AND ordinal = of_ordinal;
CREATE UNIQUE INDEX run_device_position ON run_device (run_id, position);
