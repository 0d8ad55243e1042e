-- Lessons and procedures about tools that clients define hold names and fingerprints alone from here on. What was learned before may hold texts of clients'
-- requests, and is buried as removed memory is, so that processes that still run take notice.
--
-- Of lessons: those about a client's own tools, which have no toolset, and those about an operator's tool that name another tool beside it, which may be a
-- client's. Lessons about no tool come from labelled questions and stay.
UPDATE lessons SET
    deleted = 1, retired = 1, oldest_at = NULL, toolsets = '[]', tools = '[]', traces = '[]', sessions = '[]', document = NULL,
    revision = (SELECT revision FROM revisions WHERE topic = 'lessons') + old.number
FROM (
    SELECT id, row_number() OVER (ORDER BY id) AS number FROM lessons
    WHERE NOT deleted AND (
        (toolsets = '[]' AND tools <> '[]')
        OR document LIKE '%from the answer of `%'
        OR (json_array_length(tools) = 1
            AND (document LIKE '%What worked instead: `%' OR document LIKE '%For this, use `%' OR document LIKE '%` was what helped%'))
    )
) AS old
WHERE lessons.id = old.id;
UPDATE revisions SET revision = max(revision, (SELECT coalesce(max(revision), 0) FROM lessons)) WHERE topic = 'lessons';

-- Procedures did not tell which of their tools are a client's own, so all are buried. `callwright learn procedures` learns those of an operator's tools again.
UPDATE procedures SET
    deleted = 1, retired = 1, oldest_at = NULL, toolsets = '[]', tools = '[]', traces = '[]', sessions = '[]', document = NULL,
    revision = (SELECT revision FROM revisions WHERE topic = 'procedures') + old.number
FROM (SELECT id, row_number() OVER (ORDER BY id) AS number FROM procedures WHERE NOT deleted) AS old
WHERE procedures.id = old.id;
UPDATE revisions SET revision = max(revision, (SELECT coalesce(max(revision), 0) FROM procedures)) WHERE topic = 'procedures';

-- Drafts that wait for their calls.
UPDATE jobs SET cursor = json_remove(cursor, '$.waiting') WHERE json_valid(cursor) AND json_type(cursor) = 'object';
