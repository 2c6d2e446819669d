-- The train tasks of a round among the many that only evaluate: GET /runs/{run}/work, GET /runs/{run}/rounds/{n}/tasks?type=.
CREATE INDEX task_type ON task (run_id, round, type, ordinal, id);
