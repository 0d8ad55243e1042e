DROP INDEX traces_by_model;
DROP INDEX traces_by_policy;
DROP INDEX traces_by_mode;
DROP INDEX traces_by_status;
DROP INDEX traces_by_tenant;
