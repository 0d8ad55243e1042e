-- Tools by time: counts the calls of a time range. Rows are appended at its end, unlike those of the primary key.
CREATE INDEX trace_tools_by_time ON trace_tools (started_at, tool);
