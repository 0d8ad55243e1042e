-- Virtual keys, and what they use.

INSERT INTO revisions (topic, revision) VALUES ('virtual_keys', 0), ('key_usage', 0);

-- Keys that the proxy gave out. Documents have hashes of their secrets.
CREATE TABLE virtual_keys (
    id         TEXT    NOT NULL PRIMARY KEY,
    name       TEXT    NOT NULL,
    revision   INTEGER NOT NULL,
    updated_at INTEGER NOT NULL, -- milliseconds since 1970-01-01T00:00:00Z
    revoked    INTEGER NOT NULL,
    document   TEXT    NOT NULL
);
CREATE UNIQUE INDEX virtual_keys_by_revision ON virtual_keys (revision);
CREATE UNIQUE INDEX virtual_keys_by_name ON virtual_keys (name) WHERE NOT revoked;

-- What keys and groups used on a day. Imported rows have revision 0.
CREATE TABLE key_usage (
    subject  TEXT    NOT NULL,           -- key:ID or group:NAME
    day      TEXT    NOT NULL,           -- of UTC, such as 2026-11-23
    revision INTEGER NOT NULL DEFAULT 0,
    requests INTEGER NOT NULL,
    tokens   INTEGER NOT NULL,
    nanos    INTEGER NOT NULL,           -- billionths of the price table's currency
    PRIMARY KEY (subject, day)
);
CREATE INDEX key_usage_by_revision ON key_usage (revision);
CREATE INDEX key_usage_by_day ON key_usage (day);

-- Requests that are under way in each process.
CREATE TABLE key_requests (
    subject  TEXT    NOT NULL,
    owner    TEXT    NOT NULL,
    requests INTEGER NOT NULL,
    seen_at  INTEGER NOT NULL, -- milliseconds since 1970-01-01T00:00:00Z
    PRIMARY KEY (subject, owner)
);

-- How often each process told what keys used: what it tells again, because the answer was lost, counts once.
CREATE TABLE key_tellings (
    owner   TEXT    NOT NULL PRIMARY KEY,
    number  INTEGER NOT NULL,
    told_at INTEGER NOT NULL -- milliseconds since 1970-01-01T00:00:00Z
);
