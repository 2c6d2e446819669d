-- GET /devices/{device}/tasks: the newest of what a device did in years, of one run or type where it is asked for.
CREATE INDEX task_history ON task (device_id, id, run_id, type);
