-- The labels of devices by name and value: GET /devices?label=. Lists read them from an index alone.
CREATE TABLE device_label (
    device_id TEXT NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (device_id, name)
) STRICT, WITHOUT ROWID;
INSERT INTO device_label (device_id, name, value)
    SELECT device.id, label.key, label.value FROM device, json_each(device.labels) AS label;
CREATE INDEX device_label_name ON device_label (name, device_id, value);
CREATE INDEX device_label_value ON device_label (name, value, device_id);
