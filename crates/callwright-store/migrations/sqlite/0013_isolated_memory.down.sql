-- What was buried does not come back, and nothing else changed.
SELECT 1;
