-- Tokens that the APIs of toolsets gave, sealed: nobody reads them without the operator's key.
CREATE TABLE tokens (
    name       TEXT    NOT NULL PRIMARY KEY, -- SHA-256 of what the token is for
    expires_at INTEGER NOT NULL,             -- milliseconds since 1970-01-01T00:00:00Z
    sealed     BLOB    NOT NULL
) WITHOUT ROWID;
CREATE INDEX tokens_by_end ON tokens (expires_at);
