DROP TABLE samples;
DROP TABLE representations;
DELETE FROM revisions WHERE topic IN ('representations', 'samples');
