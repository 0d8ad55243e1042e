-- What is learned from use, and what several processes agree on by way of the store.

-- Turns that have to do with memory, in the order in which they were written: what is learned from is read in it.
ALTER TABLE traces ADD COLUMN revision BIGINT;
CREATE INDEX traces_by_revision ON traces (revision) WHERE revision IS NOT NULL;

-- Whose turn it was: the hash of the client's key. What is deleted of a client is found by it.
ALTER TABLE traces ADD COLUMN tenant TEXT NOT NULL DEFAULT '';

-- The replica whose turn waits for the decision.
ALTER TABLE approvals ADD COLUMN owner TEXT NOT NULL DEFAULT '';

-- How often each topic changed. A writer takes its revisions in the transaction in which it writes, and keeps the row locked until it
-- commits: whoever has seen a revision has seen all before it.
CREATE TABLE revisions (
    topic    TEXT   NOT NULL PRIMARY KEY,
    revision BIGINT NOT NULL
);
INSERT INTO revisions (topic, revision) VALUES ('traces', 0), ('lessons', 0), ('procedures', 0), ('feedback', 0);

CREATE TABLE lessons (
    id         TEXT    NOT NULL PRIMARY KEY,
    scope      TEXT    NOT NULL,
    revision   BIGINT  NOT NULL,
    updated_at BIGINT  NOT NULL,
    oldest_at  BIGINT,
    deleted    BOOLEAN NOT NULL,
    retired    BOOLEAN NOT NULL,
    toolsets   TEXT    NOT NULL,
    tools      TEXT    NOT NULL,
    traces     TEXT    NOT NULL,
    sessions   TEXT    NOT NULL,
    document   TEXT
);
CREATE UNIQUE INDEX lessons_by_revision ON lessons (revision);
CREATE INDEX lessons_by_scope ON lessons (scope, id);

CREATE TABLE procedures (
    id         TEXT    NOT NULL PRIMARY KEY,
    scope      TEXT    NOT NULL,
    revision   BIGINT  NOT NULL,
    updated_at BIGINT  NOT NULL,
    oldest_at  BIGINT,
    deleted    BOOLEAN NOT NULL,
    retired    BOOLEAN NOT NULL,
    toolsets   TEXT    NOT NULL,
    tools      TEXT    NOT NULL,
    traces     TEXT    NOT NULL,
    sessions   TEXT    NOT NULL,
    document   TEXT
);
CREATE UNIQUE INDEX procedures_by_revision ON procedures (revision);
CREATE INDEX procedures_by_scope ON procedures (scope, id);

CREATE TABLE feedback (
    trace    TEXT   NOT NULL,
    source   TEXT   NOT NULL,
    revision BIGINT NOT NULL,
    at       BIGINT NOT NULL,
    document TEXT   NOT NULL,
    PRIMARY KEY (trace, source)
);
CREATE UNIQUE INDEX feedback_by_revision ON feedback (revision);
CREATE INDEX feedback_by_time ON feedback (at);

CREATE TABLE jobs (
    name       TEXT   NOT NULL PRIMARY KEY,
    cursor     TEXT   NOT NULL,
    updated_at BIGINT NOT NULL
);

CREATE TABLE leases (
    name       TEXT   NOT NULL PRIMARY KEY,
    owner      TEXT   NOT NULL,
    expires_at BIGINT NOT NULL
);
