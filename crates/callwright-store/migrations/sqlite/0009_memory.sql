-- What is learned from use, and what several processes agree on by way of the store.

-- Turns that have to do with memory, in the order in which they were written: what is learned from is read in it.
ALTER TABLE traces ADD COLUMN revision INTEGER;
CREATE INDEX traces_by_revision ON traces (revision) WHERE revision IS NOT NULL;

-- Whose turn it was: the hash of the client's key. What is deleted of a client is found by it.
ALTER TABLE traces ADD COLUMN tenant TEXT NOT NULL DEFAULT '';

-- The process whose turn waits for the decision.
ALTER TABLE approvals ADD COLUMN owner TEXT NOT NULL DEFAULT '';

-- How often each topic changed. A writer takes its revisions in the transaction in which it writes: whoever has seen a revision
-- has seen all before it.
CREATE TABLE revisions (
    topic    TEXT    NOT NULL PRIMARY KEY,
    revision INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO revisions (topic, revision) VALUES ('traces', 0), ('lessons', 0), ('procedures', 0), ('feedback', 0);

-- Lessons of the notebook. What is deleted stays as a tombstone, without its text, until every process has noticed.
CREATE TABLE lessons (
    id         TEXT    NOT NULL PRIMARY KEY,
    scope      TEXT    NOT NULL,
    revision   INTEGER NOT NULL,
    updated_at INTEGER NOT NULL, -- milliseconds since 1970-01-01T00:00:00Z
    oldest_at  INTEGER,          -- likewise: of the oldest evidence
    deleted    INTEGER NOT NULL,
    retired    INTEGER NOT NULL,
    toolsets   TEXT    NOT NULL, -- JSON array
    tools      TEXT    NOT NULL, -- JSON array
    traces     TEXT    NOT NULL, -- JSON array: of the evidence
    sessions   TEXT    NOT NULL, -- JSON array: of the evidence
    document   TEXT              -- JSON; NULL: deleted
);
CREATE UNIQUE INDEX lessons_by_revision ON lessons (revision);
CREATE INDEX lessons_by_scope ON lessons (scope, id);

-- Procedures: past solutions. The columns are those of lessons.
CREATE TABLE procedures (
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
CREATE UNIQUE INDEX procedures_by_revision ON procedures (revision);
CREATE INDEX procedures_by_scope ON procedures (scope, id);

-- Verdicts of applications on turns: one for each turn and source, the latest.
CREATE TABLE feedback (
    trace    TEXT    NOT NULL,
    source   TEXT    NOT NULL,
    revision INTEGER NOT NULL,
    at       INTEGER NOT NULL, -- milliseconds since 1970-01-01T00:00:00Z
    document TEXT    NOT NULL, -- JSON
    PRIMARY KEY (trace, source)
) WITHOUT ROWID;
CREATE UNIQUE INDEX feedback_by_revision ON feedback (revision);
CREATE INDEX feedback_by_time ON feedback (at);

-- How far each job is.
CREATE TABLE jobs (
    name       TEXT    NOT NULL PRIMARY KEY,
    cursor     TEXT    NOT NULL,
    updated_at INTEGER NOT NULL
) WITHOUT ROWID;

-- Who does what alone, and until when unless they say that they go on: jobs, and which processes live.
CREATE TABLE leases (
    name       TEXT    NOT NULL PRIMARY KEY,
    owner      TEXT    NOT NULL,
    expires_at INTEGER NOT NULL -- milliseconds since 1970-01-01T00:00:00Z, by the clock of the database
) WITHOUT ROWID;
