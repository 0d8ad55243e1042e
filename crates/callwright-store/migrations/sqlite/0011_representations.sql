-- When tools are wanted. The columns are those of lessons.

INSERT INTO revisions (topic, revision) VALUES ('representations', 0), ('samples', 0);

-- What was learned or written of tools, for all replicas: it stands over the files.
CREATE TABLE representations (
    id         TEXT    NOT NULL PRIMARY KEY,
    scope      TEXT    NOT NULL,
    revision   INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    oldest_at  INTEGER,
    deleted    INTEGER NOT NULL,
    retired    INTEGER NOT NULL,
    toolsets   TEXT    NOT NULL,
    tools      TEXT    NOT NULL,
    traces     TEXT    NOT NULL,
    sessions   TEXT    NOT NULL,
    document   TEXT
);
CREATE UNIQUE INDEX representations_by_revision ON representations (revision);
CREATE INDEX representations_by_scope ON representations (scope, id);

-- Requests whose right tools are known.
CREATE TABLE samples (
    id         TEXT    NOT NULL PRIMARY KEY,
    scope      TEXT    NOT NULL,
    revision   INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    oldest_at  INTEGER,
    deleted    INTEGER NOT NULL,
    retired    INTEGER NOT NULL,
    toolsets   TEXT    NOT NULL,
    tools      TEXT    NOT NULL,
    traces     TEXT    NOT NULL,
    sessions   TEXT    NOT NULL,
    document   TEXT
);
CREATE UNIQUE INDEX samples_by_revision ON samples (revision);
CREATE INDEX samples_by_scope ON samples (scope, id);
