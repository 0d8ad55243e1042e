-- Figures of a turn for lists and the overview. Traces that were stored earlier have none: NULL is excluded from
-- percentiles, and 0 adds nothing to a sum.
ALTER TABLE traces ADD COLUMN attempts BIGINT NOT NULL DEFAULT 0;
ALTER TABLE traces ADD COLUMN overhead_ms DOUBLE PRECISION;
ALTER TABLE traces ADD COLUMN upstream_ms DOUBLE PRECISION;
ALTER TABLE traces ADD COLUMN input_tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE traces ADD COLUMN output_tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE traces ADD COLUMN cost_nanos BIGINT; -- billionths of the currency; NULL without a price
ALTER TABLE traces ADD COLUMN findings TEXT NOT NULL DEFAULT '[]'; -- JSON array: kind, name, tool
ALTER TABLE traces ADD COLUMN question TEXT; -- beginning of the user's last message, if bodies are recorded

-- The overview reads the index alone: the figures follow the document in a row, and documents are large.
DROP INDEX traces_by_time;
CREATE INDEX traces_by_time ON traces
    (started_at, id) INCLUDE (verdict, status, overhead_ms, upstream_ms, input_tokens, output_tokens, cost_nanos);

-- Faults, failures and refusals of turns. Rows are removed with their trace, by time and id.
CREATE TABLE trace_findings (
    started_at BIGINT NOT NULL,
    trace_id   TEXT    NOT NULL,
    kind       TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    tool       TEXT    NOT NULL, -- empty: concerns no tool
    PRIMARY KEY (started_at, trace_id, kind, name, tool)
);

CREATE INDEX trace_findings_by_name ON trace_findings (kind, name, started_at, trace_id);
