//! Objects in the path of a request.

use super::ObjectKind;

/// Collections below `/v1`, by their path.
const COLLECTIONS: [(&[&str], ObjectKind); 15] = [
    (&["assistants"], ObjectKind::Assistant),
    (&["batches"], ObjectKind::Batch),
    (&["chat", "completions"], ObjectKind::ChatCompletion),
    (&["containers"], ObjectKind::Container),
    (&["conversations"], ObjectKind::Conversation),
    (&["evals"], ObjectKind::Eval),
    (&["files"], ObjectKind::File),
    (&["fine_tuning", "jobs"], ObjectKind::FineTuningJob),
    (&["messages", "batches"], ObjectKind::Batch),
    (&["responses"], ObjectKind::Response),
    (&["skills"], ObjectKind::Skill),
    (&["threads"], ObjectKind::Thread),
    (&["uploads"], ObjectKind::Upload),
    (&["vector_stores"], ObjectKind::VectorStore),
    (&["videos"], ObjectKind::Video),
];

/// Endpoints below a collection that are no objects of it.
const ENDPOINTS: [(ObjectKind, &str); 3] =
    [(ObjectKind::Response, "compact"), (ObjectKind::Response, "input_tokens"), (ObjectKind::Thread, "runs")];

/// Kinds of the parts of an object, by the collection below it.
const PARTS: [(&str, ObjectKind); 3] =
    [("files", ObjectKind::File), ("input_items", ObjectKind::Item), ("items", ObjectKind::Item)];

/// A path below a collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectPath<'a> {
    /// Kind of the objects of the collection.
    pub kind: ObjectKind,
    /// Id of the object; `None` for the collection itself and for its endpoints.
    pub id: Option<&'a str>,
    /// Kind of the objects of the list or part that the path names.
    pub part: ObjectKind,
    /// Segments behind the id: parts of the object, and their ids.
    pub rest: Vec<&'a str>,
    /// Whether the path is the collection itself.
    pub is_collection: bool,
}

/// Last segments of paths whose answers are content that clients wrote.
const CONTENTS: [&str; 3] = ["content", "input_items", "results"];

impl<'a> ObjectPath<'a> {
    /// Whether the path is that of a response itself.
    pub fn is_response(&self) -> bool {
        self.kind == ObjectKind::Response && self.id.is_some() && self.rest.is_empty()
    }

    /// Whether the answer is content that clients wrote, in which no id is the provider's.
    pub fn is_content(&self) -> bool {
        self.rest.last().is_some_and(|last| CONTENTS.iter().any(|name| last.eq_ignore_ascii_case(name)))
    }

    /// Returns the ids of parts of the object.
    pub fn parts(&self) -> impl Iterator<Item = &'a str> {
        self.rest.iter().skip(1).step_by(2).copied()
    }

    /// Parses a path below `/v1`, in which percent encoding is resolved; `None` for other paths.
    pub fn parse(path: &'a str) -> Option<Self> {
        // Some servers ignore the case of a path and drop parameters.
        let segments: Vec<&str> =
            path.split('/').filter(|segment| !segment.is_empty()).map(without_parameters).collect();
        let (names, kind) = COLLECTIONS.into_iter().find(|(names, _)| is_below(&segments, names))?;
        let mut rest = segments.into_iter().skip(names.len());
        let next = rest.next();
        let id =
            next.filter(|id| !ENDPOINTS.iter().any(|(of, endpoint)| *of == kind && id.eq_ignore_ascii_case(endpoint)));
        let rest: Vec<&str> = rest.collect();
        let part = PARTS.iter().find(|(name, _)| rest.first().is_some_and(|first| first.eq_ignore_ascii_case(name)));
        Some(Self { kind, id, part: part.map_or(kind, |(_, part)| *part), rest, is_collection: next.is_none() })
    }
}

fn is_below(segments: &[&str], names: &[&str]) -> bool {
    segments.len() >= names.len()
        && segments.iter().zip(names).all(|(segment, name)| segment.eq_ignore_ascii_case(name))
}

fn without_parameters(segment: &str) -> &str {
    segment.split(';').next().unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_object_of_a_path_is_the_one_of_its_collection() {
        let of = |path: &'static str| {
            ObjectPath::parse(path).map(|path| (path.kind, path.id, path.part, path.is_collection))
        };
        use ObjectKind::{Batch, Conversation, File, Item, Response, Thread, VectorStore};
        for (path, expected) in [
            ("/files", Some((File, None, File, true))),
            ("/files/file-1/content", Some((File, Some("file-1"), File, false))),
            ("/Files;x/file-1", Some((File, Some("file-1"), File, false))),
            ("/messages/batches/msgbatch_1", Some((Batch, Some("msgbatch_1"), Batch, false))),
            ("/messages/count_tokens", None),
            ("/responses/resp_1/input_items", Some((Response, Some("resp_1"), Item, false))),
            ("/responses/compact", Some((Response, None, Response, false))),
            ("/threads/runs", Some((Thread, None, Thread, false))),
            ("/conversations/conv_1/items/msg_1", Some((Conversation, Some("conv_1"), Item, false))),
            ("/vector_stores/vs_1/files", Some((VectorStore, Some("vs_1"), File, false))),
            ("/filesystem", None),
            ("/embeddings", None),
            ("", None),
        ] {
            assert_eq!(of(path), expected, "{path}");
        }
    }
}
