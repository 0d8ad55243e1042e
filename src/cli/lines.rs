//! Common frame of the subcommands that process a file line by line.

use std::io::IsTerminal;
use std::path::Path;
use std::time::{Duration, Instant};

use super::errors::{BadLines, VerbResult};
use super::progress::ProgressPrinter;
use callwright_offline::OfflineError;

/// Runs a subcommand that writes to `output`: prints its summary, and fails if lines could not be used, which `lines`
/// counts. A reader of the output that closes the pipe early is not an error.
pub(super) fn answer_lines<S>(
    output: &Path,
    run: impl FnOnce(&ProgressPrinter) -> Result<S, OfflineError>,
    print: impl FnOnce(&S, Duration),
    lines: impl FnOnce(&S) -> BadLines,
) -> VerbResult {
    let writes_to_terminal = output.as_os_str() == "-" && std::io::stdout().is_terminal();
    let begun = Instant::now();
    let summary = match run(&ProgressPrinter::new(writes_to_terminal)) {
        Err(OfflineError::ReaderGone) => return Ok(()),
        result => result?,
    };
    print(&summary, begun.elapsed());
    match lines(&summary) {
        BadLines { problems: 0, .. } => Ok(()),
        bad => Err(bad.into()),
    }
}
