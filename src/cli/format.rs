//! Output format of subcommands.

use clap::ValueEnum;

/// Output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// Text for people.
    Text,
    /// JSON for programs.
    Json,
}
