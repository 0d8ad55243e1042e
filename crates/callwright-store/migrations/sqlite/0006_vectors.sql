-- Vectors that models of meaning gave for texts. Losing them costs time alone.
CREATE TABLE vectors (
    model      TEXT    NOT NULL, -- id of the model, with a hash of what it consists of
    text       BLOB    NOT NULL, -- SHA-256 of the text
    written_at INTEGER NOT NULL, -- milliseconds since 1970-01-01T00:00:00Z
    vector     BLOB    NOT NULL, -- components, 32-bit floating-point numbers, little-endian
    PRIMARY KEY (model, text)
) WITHOUT ROWID;

CREATE INDEX vectors_by_age ON vectors (written_at);
