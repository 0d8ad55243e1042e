DROP TABLE plans;
DROP TABLE vectors;
DROP TABLE approvals;
DROP TABLE kept_parts;
DROP TABLE intents;
DROP TABLE trace_tools;
DROP TABLE traces;
