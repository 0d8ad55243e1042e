-- Plans of which calls are with a client, or whose missing inputs a user was asked for: gone on with when the client returns.
CREATE TABLE plans (
    tenant     TEXT    NOT NULL, -- hash of the client's key
    key        TEXT    NOT NULL, -- what the plan is found by: the handle that the ids of its calls begin with, or a hash of the question
    turn       TEXT    NOT NULL, -- trace id of the turn that left it so
    expires_at INTEGER NOT NULL, -- milliseconds since 1970-01-01T00:00:00Z
    document   TEXT    NOT NULL,
    PRIMARY KEY (tenant, key)
) WITHOUT ROWID;

CREATE INDEX plans_by_expiry ON plans (expires_at);
