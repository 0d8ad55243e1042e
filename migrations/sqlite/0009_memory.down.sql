DROP TABLE leases;
DROP TABLE jobs;
DROP TABLE feedback;
DROP TABLE procedures;
DROP TABLE lessons;
DROP TABLE revisions;
ALTER TABLE approvals DROP COLUMN owner;
DROP INDEX traces_by_revision;
ALTER TABLE traces DROP COLUMN revision;
