-- See migrations/sqlite/0013_isolated_memory.up.sql.
UPDATE lessons SET
    deleted = true, retired = true, oldest_at = NULL, toolsets = '[]', tools = '[]', traces = '[]', sessions = '[]', document = NULL,
    revision = (SELECT revision FROM revisions WHERE topic = 'lessons') + old.number
FROM (
    SELECT id, row_number() OVER (ORDER BY id) AS number FROM lessons
    WHERE NOT deleted AND (
        (toolsets = '[]' AND tools <> '[]')
        OR document LIKE '%from the answer of `%'
        OR (jsonb_array_length(tools::jsonb) = 1
            AND (document LIKE '%What worked instead: `%' OR document LIKE '%For this, use `%' OR document LIKE '%` was what helped%'))
    )
) AS old
WHERE lessons.id = old.id;
UPDATE revisions SET revision = greatest(revision, (SELECT coalesce(max(revision), 0) FROM lessons)) WHERE topic = 'lessons';

UPDATE procedures SET
    deleted = true, retired = true, oldest_at = NULL, toolsets = '[]', tools = '[]', traces = '[]', sessions = '[]', document = NULL,
    revision = (SELECT revision FROM revisions WHERE topic = 'procedures') + old.number
FROM (SELECT id, row_number() OVER (ORDER BY id) AS number FROM procedures WHERE NOT deleted) AS old
WHERE procedures.id = old.id;
UPDATE revisions SET revision = greatest(revision, (SELECT coalesce(max(revision), 0) FROM procedures)) WHERE topic = 'procedures';

UPDATE jobs SET cursor = (cursor::jsonb - 'waiting')::text WHERE cursor LIKE '{%';
