DROP INDEX trace_tools_by_time;
