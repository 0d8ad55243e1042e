DROP TABLE key_tellings;
DROP TABLE key_requests;
DROP TABLE key_usage;
DROP TABLE virtual_keys;
DELETE FROM revisions WHERE topic IN ('virtual_keys', 'key_usage');
