-- Calls that a person has to approve, and what became of them.
CREATE TABLE approvals (
    id           TEXT    NOT NULL PRIMARY KEY, -- begins with the time at which it was asked for
    status       TEXT    NOT NULL,
    mode         TEXT    NOT NULL, -- `wait`: a turn of the process that asked waits for it; `notice`: nobody does
    created_at   INTEGER NOT NULL, -- milliseconds since 1970-01-01T00:00:00Z
    expires_at   INTEGER NOT NULL, -- likewise: of the question, then of the decision
    valid_ms     INTEGER NOT NULL, -- how long a decision holds
    tenant       TEXT    NOT NULL, -- hash of the client's key
    client       TEXT    NOT NULL, -- how people tell clients apart
    session      TEXT    NOT NULL, -- the trace id where the turn belongs to none
    trace        TEXT    NOT NULL,
    toolset      TEXT    NOT NULL,
    tool         TEXT    NOT NULL,
    operation    TEXT    NOT NULL,
    method       TEXT    NOT NULL,
    digest       TEXT    NOT NULL, -- hash of operation, target and arguments: what exactly is approved
    keep         INTEGER NOT NULL, -- 0: target and arguments are erased once nothing depends on them
    target       TEXT,
    arguments    TEXT,             -- JSON
    decided_at   INTEGER,
    decided_by   TEXT,
    comment      TEXT,
    used_at      INTEGER
);

CREATE INDEX approvals_of_call ON approvals (session, digest, id);
CREATE INDEX approvals_by_status ON approvals (status, id);
CREATE INDEX approvals_open ON approvals (expires_at) WHERE status IN ('pending', 'approved');
CREATE INDEX approvals_by_time ON approvals (created_at);
