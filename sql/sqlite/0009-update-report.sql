-- What a device said with its update, which stood in its task: there it made a row three times as long that lies among others.
CREATE TABLE update_report (
    update_id TEXT NOT NULL PRIMARY KEY,
    report TEXT NOT NULL
) STRICT, WITHOUT ROWID;
