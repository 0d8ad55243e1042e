//! Limits of a representation file, so that people can review it and a hostile file is cheap to reject.

/// Maximum number of patterns per tool; more would amount to a copy of the samples.
pub const PATTERNS: usize = 12;

/// Maximum number of cases per pattern. The learner writes two or three; a person may add more.
pub const CASES: usize = 8;

/// Maximum number of characters of a pattern's description.
pub const DESCRIPTION_CHARS: usize = 500;

/// Maximum number of characters of a case: a phrase, or a sentence written by a person.
pub const CASE_CHARS: usize = 300;

/// Maximum number of characters of the name of a tool, toolset or proposer.
pub const NAME_CHARS: usize = 512;

/// Maximum weight of a pattern; a larger one would dominate all others.
pub const WEIGHT: f32 = 100.0;

/// Minimum weight that the learner writes; smaller weights have no effect.
pub const LEAST_WEIGHT: f32 = 0.001;

/// Maximum number of tools per file, far above the size of a toolset.
pub const TOOLS: usize = 50_000;

/// Maximum file size, in bytes, for that many tools with hand-written patterns.
pub const FILE_BYTES: usize = 64 * 1024 * 1024;

/// Maximum number of files per directory.
pub const FILES: usize = 2_000;
