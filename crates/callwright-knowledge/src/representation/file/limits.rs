//! Bounds of a representation file: what people can review, and what a hostile file can cost.

/// Patterns of a tool: more would be a copy of the samples.
pub const PATTERNS: usize = 12;

/// Cases of a pattern. The learner writes two or three; a person may have some more to say.
pub(crate) const CASES: usize = 8;

/// Characters of a pattern's description: a long sentence.
pub(crate) const DESCRIPTION_CHARS: usize = 500;

/// Characters of a case: a phrase, or a whole sentence where a person wants that.
pub(crate) const CASE_CHARS: usize = 300;

/// Characters of a name: of a tool, a toolset, a proposer.
pub(super) const NAME_CHARS: usize = 512;

/// Largest weight: one beyond it would drown everything else.
pub(super) const WEIGHT: f32 = 100.0;

/// Smallest weight that the learner writes: what counts less counts nothing.
pub(super) const LEAST_WEIGHT: f32 = 0.001;

/// Tools of a file: far more than a toolset has.
pub(super) const TOOLS: usize = 50_000;

/// Bytes of a file: that many tools, each with as much as people write.
pub(super) const FILE_BYTES: usize = 64 * 1024 * 1024;

/// YAML nesting of a file is 5; the rest is room for anchors and merges.
pub(super) const DEPTH: usize = 16;

/// YAML events of a file: those of that many tools, with little more than half their patterns.
pub(super) const EVENTS: usize = 8_000_000;

/// Files of a directory.
pub(super) const FILES: usize = 2_000;
