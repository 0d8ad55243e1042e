//! Revisions of topics, by which processes detect changes.

/// Number of a change. Each topic has its own sequence from 1; a process that has seen a revision has seen all earlier
/// ones.
pub type Revision = i64;

/// Latest revision of each topic.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Revisions {
    /// Traces to learn from.
    pub traces: Revision,
    pub lessons: Revision,
    pub procedures: Revision,
    /// Feedback of applications.
    pub feedback: Revision,
    pub representations: Revision,
    /// Tool samples.
    pub samples: Revision,
    /// Virtual keys.
    pub keys: Revision,
}
