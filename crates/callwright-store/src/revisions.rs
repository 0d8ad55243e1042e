//! How topics change, as processes tell each other.

/// The number of a change. Each topic counts its own, from 1; whoever has seen a revision has seen all before it.
pub type Revision = i64;

/// The latest revision of each topic.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Revisions {
    /// Of turns that something can be learned from.
    pub traces: Revision,
    /// Of lessons.
    pub lessons: Revision,
    /// Of procedures.
    pub procedures: Revision,
    /// Of verdicts from applications.
    pub feedback: Revision,
    /// Of representations.
    pub representations: Revision,
    /// Of samples.
    pub samples: Revision,
    /// Of virtual keys.
    pub keys: Revision,
}
