-- The turn that began the call last: its trace id. Another turn that makes the call while its answer was not told repeats it.
ALTER TABLE intents ADD COLUMN turn TEXT NOT NULL DEFAULT '';
-- The key under which the API recognises a repeat of this request, where its operation documents one.
ALTER TABLE intents ADD COLUMN idempotency_key TEXT;
-- What the API answered, until the client has been told; erased then.
ALTER TABLE intents ADD COLUMN answer TEXT;

CREATE INDEX intents_untold ON intents (turn) WHERE answer IS NOT NULL;
