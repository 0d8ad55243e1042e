//! Output format of subcommands.

use clap::ValueEnum;

/// Output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum OutputFormat {
    /// Text for people.
    Text,
    /// JSON for programs.
    Json,
}
