-- The filters of the list of traces, each in the order of the list: without them a rare value is looked for in every row.
CREATE INDEX traces_by_model ON traces (model, started_at, id);
CREATE INDEX traces_by_policy ON traces (policy, started_at, id);
CREATE INDEX traces_by_mode ON traces (mode, started_at, id);
CREATE INDEX traces_by_status ON traces (status, started_at, id);
CREATE INDEX traces_by_tenant ON traces (tenant, started_at, id);
