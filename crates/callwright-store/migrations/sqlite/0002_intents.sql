-- Calls that were about to be executed. A row without a label was begun and never finished: it may have taken effect.
CREATE TABLE intents (
    session        TEXT    NOT NULL,
    operation      TEXT    NOT NULL,
    arguments_hash TEXT    NOT NULL,
    begun_at       INTEGER NOT NULL, -- milliseconds since 1970-01-01T00:00:00Z
    label          TEXT,
    PRIMARY KEY (session, operation, arguments_hash)
) WITHOUT ROWID;

CREATE INDEX intents_by_time ON intents (begun_at);

-- One row, rewritten at every opening: proves that the file can be written.
CREATE TABLE openings (
    id        INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    opened_at INTEGER NOT NULL
);
