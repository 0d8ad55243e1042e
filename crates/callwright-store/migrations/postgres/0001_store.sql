-- Times are milliseconds since 1970-01-01T00:00:00Z. The tables mean what those of SQLite mean: see the comments there.

-- The stored records of turns.
CREATE TABLE traces (
    id          TEXT             NOT NULL PRIMARY KEY,
    started_at  BIGINT           NOT NULL,
    session     TEXT,
    endpoint    TEXT             NOT NULL,
    model       TEXT             NOT NULL,
    upstream    TEXT             NOT NULL,
    policy      TEXT             NOT NULL,
    mode        TEXT             NOT NULL,
    verdict     TEXT             NOT NULL,
    status      BIGINT           NOT NULL,
    duration_ms DOUBLE PRECISION NOT NULL CHECK (duration_ms < 'Infinity'), -- NaN, which JSON has not, is greater
    tools       TEXT             NOT NULL, -- JSON array
    document    TEXT             NOT NULL  -- JSON; as text, since it comes back as it was
);

CREATE INDEX traces_by_time ON traces (started_at, id);
CREATE INDEX traces_by_session ON traces (session, started_at, id) WHERE session IS NOT NULL;
CREATE INDEX traces_by_verdict ON traces (verdict, started_at, id);

CREATE TABLE trace_tools (
    tool       TEXT   NOT NULL,
    started_at BIGINT NOT NULL,
    trace_id   TEXT   NOT NULL,
    PRIMARY KEY (tool, started_at, trace_id)
);

-- Calls that were about to be executed. A row without a label was begun and never finished: it may have taken effect.
CREATE TABLE intents (
    session         TEXT   NOT NULL,
    operation       TEXT   NOT NULL,
    arguments_hash  TEXT   NOT NULL,
    begun_at        BIGINT NOT NULL,
    label           TEXT,
    turn            TEXT   NOT NULL,
    idempotency_key TEXT,
    answer          TEXT,
    PRIMARY KEY (session, operation, arguments_hash)
);

CREATE INDEX intents_by_time ON intents (begun_at);
CREATE INDEX intents_untold ON intents (turn) WHERE answer IS NOT NULL;

-- The proxy's part of answers of which the client has its own calls.
CREATE TABLE kept_parts (
    turn       TEXT   NOT NULL PRIMARY KEY,
    tenant     TEXT   NOT NULL,
    calls      TEXT   NOT NULL,
    context    TEXT   NOT NULL,
    history    TEXT   NOT NULL,
    expires_at BIGINT NOT NULL,
    document   TEXT   NOT NULL
);

CREATE INDEX kept_parts_by_calls ON kept_parts (tenant, calls);
CREATE INDEX kept_parts_by_expiry ON kept_parts (expires_at);

-- Calls that a person has to approve, and what became of them.
CREATE TABLE approvals (
    id         TEXT    NOT NULL PRIMARY KEY,
    status     TEXT    NOT NULL,
    mode       TEXT    NOT NULL,
    created_at BIGINT  NOT NULL,
    expires_at BIGINT  NOT NULL,
    valid_ms   BIGINT  NOT NULL,
    tenant     TEXT    NOT NULL,
    client     TEXT    NOT NULL,
    session    TEXT    NOT NULL,
    trace      TEXT    NOT NULL,
    toolset    TEXT    NOT NULL,
    tool       TEXT    NOT NULL,
    operation  TEXT    NOT NULL,
    method     TEXT    NOT NULL,
    digest     TEXT    NOT NULL,
    keep       BOOLEAN NOT NULL,
    target     TEXT,
    arguments  TEXT,
    decided_at BIGINT,
    decided_by TEXT,
    comment    TEXT,
    used_at    BIGINT
);

CREATE INDEX approvals_of_call ON approvals (session, digest, id);
CREATE INDEX approvals_by_status ON approvals (status, id);
CREATE INDEX approvals_by_time ON approvals (created_at);

-- Vectors that models of meaning gave for texts.
CREATE TABLE vectors (
    model      TEXT   NOT NULL,
    text       BYTEA  NOT NULL,
    written_at BIGINT NOT NULL,
    vector     BYTEA  NOT NULL,
    PRIMARY KEY (model, text)
);

CREATE INDEX vectors_by_age ON vectors (written_at);

-- Plans of which calls are with a client, or whose missing inputs a user was asked for.
CREATE TABLE plans (
    tenant     TEXT   NOT NULL,
    key        TEXT   NOT NULL,
    turn       TEXT   NOT NULL,
    expires_at BIGINT NOT NULL,
    document   TEXT   NOT NULL,
    PRIMARY KEY (tenant, key)
);

CREATE INDEX plans_by_expiry ON plans (expires_at);
