-- Figures of a turn for lists and the overview. Traces that were stored earlier have none: NULL is excluded from
-- percentiles, and 0 adds nothing to a sum.
ALTER TABLE traces ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE traces ADD COLUMN overhead_ms REAL;
ALTER TABLE traces ADD COLUMN upstream_ms REAL;
ALTER TABLE traces ADD COLUMN input_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE traces ADD COLUMN output_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE traces ADD COLUMN cost_nanos INTEGER; -- billionths of the currency; NULL without a price
ALTER TABLE traces ADD COLUMN findings TEXT NOT NULL DEFAULT '[]'; -- JSON array: kind, name, tool
ALTER TABLE traces ADD COLUMN question TEXT; -- beginning of the user's last message, if bodies are recorded

-- One index for lists and the overview, which read it alone: the figures follow the document in a row, and documents are
-- large. An index per filter would make a rare value quicker to find (here 1,000 traces take 0.2 ms), but each is a
-- further page to write per trace.
DROP INDEX traces_by_time;
DROP INDEX traces_by_verdict;
DROP INDEX traces_by_model;
DROP INDEX traces_by_policy;
DROP INDEX traces_by_mode;
DROP INDEX traces_by_status;
DROP INDEX traces_by_tenant;
CREATE INDEX traces_by_time ON traces
    (started_at, id, verdict, status, model, policy, mode, tenant, overhead_ms, upstream_ms, input_tokens, output_tokens,
    cost_nanos);

-- Faults, failures and refusals of turns. Rows are removed with their trace, by time and id.
CREATE TABLE trace_findings (
    started_at INTEGER NOT NULL,
    trace_id   TEXT    NOT NULL,
    kind       TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    tool       TEXT    NOT NULL, -- empty: concerns no tool
    PRIMARY KEY (started_at, trace_id, kind, name, tool)
) WITHOUT ROWID;

CREATE INDEX trace_findings_by_name ON trace_findings (kind, name, started_at, trace_id);
