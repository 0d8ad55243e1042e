-- The proxy's part of answers of which the client has its own calls: put back into the conversation when the client returns.
CREATE TABLE kept_parts (
    turn       TEXT    NOT NULL PRIMARY KEY, -- trace id of the turn that gave the answer
    tenant     TEXT    NOT NULL, -- hash of the client's key
    calls      TEXT    NOT NULL, -- hash of the ids of the calls that the client has
    context    TEXT    NOT NULL, -- hash of the conversation since the user spoke last
    history    TEXT    NOT NULL, -- hash of the whole conversation
    expires_at INTEGER NOT NULL, -- milliseconds since 1970-01-01T00:00:00Z
    document   TEXT    NOT NULL
);

CREATE INDEX kept_parts_by_calls ON kept_parts (tenant, calls);
CREATE INDEX kept_parts_by_expiry ON kept_parts (expires_at);
