-- No query uses it.
DROP INDEX IF EXISTS approvals_open;
