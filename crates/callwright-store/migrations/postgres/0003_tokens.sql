-- Tokens that the APIs of toolsets gave, sealed: nobody reads them without the operator's key.
CREATE TABLE tokens (
    name       TEXT   NOT NULL PRIMARY KEY,
    expires_at BIGINT NOT NULL,
    sealed     BYTEA  NOT NULL
);
CREATE INDEX tokens_by_end ON tokens (expires_at);
