-- The stored records of turns. What lists filter and order by stands in columns; the whole trace is the JSON document,
-- last, so that reading the columns does not touch its pages.
CREATE TABLE traces (
    id          TEXT    NOT NULL PRIMARY KEY,
    started_at  INTEGER NOT NULL, -- milliseconds since 1970-01-01T00:00:00Z
    session     TEXT,
    endpoint    TEXT    NOT NULL,
    model       TEXT    NOT NULL,
    upstream    TEXT    NOT NULL,
    policy      TEXT    NOT NULL,
    mode        TEXT    NOT NULL,
    verdict     TEXT    NOT NULL,
    status      INTEGER NOT NULL,
    duration_ms REAL    NOT NULL,
    tools       TEXT    NOT NULL, -- JSON array: names of the tools that were called or executed
    document    TEXT    NOT NULL
);

-- Lists are newest first and paged by (started_at, id).
CREATE INDEX traces_by_time ON traces (started_at, id);
CREATE INDEX traces_by_session ON traces (session, started_at, id) WHERE session IS NOT NULL;
-- The operator's most frequent question: what went wrong?
CREATE INDEX traces_by_verdict ON traces (verdict, started_at, id);

-- Traces by tool: the index that `traces.tools` cannot have. A row goes with its trace, by its whole key: a foreign key would
-- need a second index, in the order of random ids.
CREATE TABLE trace_tools (
    tool       TEXT    NOT NULL,
    started_at INTEGER NOT NULL,
    trace_id   TEXT    NOT NULL,
    PRIMARY KEY (tool, started_at, trace_id)
) WITHOUT ROWID;
