-- How many workers and devices a token may admit (0: any number), and how many it has.
ALTER TABLE token ADD COLUMN max_uses INTEGER NOT NULL DEFAULT 0;
ALTER TABLE token ADD COLUMN uses INTEGER NOT NULL DEFAULT 0;
