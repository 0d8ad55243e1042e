-- Owners of what virtual keys stored in the provider's account.
CREATE TABLE provider_objects (
    id         TEXT NOT NULL PRIMARY KEY, -- hash of the provider's id
    tenant     TEXT NOT NULL, -- id of the virtual key
    team       TEXT NOT NULL, -- group of the virtual key; empty: none
    expires_at INTEGER, -- milliseconds since 1970-01-01T00:00:00Z; NULL: kept until the object is deleted
    reserved   TEXT -- charge of a response in the background that was not counted yet
);

CREATE INDEX provider_objects_by_expiry ON provider_objects (expires_at) WHERE expires_at IS NOT NULL;
