//! How the verbs that answer lines of a file run and end.

use std::io::IsTerminal;
use std::path::Path;
use std::time::{Duration, Instant};

use super::errors::{BadLines, VerbResult};
use super::progress::Progress;
use callwright_offline::OfflineError;

/// Runs a verb that writes to `output`: prints what came of it, and fails where lines could not be used, of which `lines` tells how many of how many.
/// Whoever reads the output and goes away has seen enough.
pub(super) fn answer_lines<S>(
    output: &Path,
    run: impl FnOnce(&Progress) -> Result<S, OfflineError>,
    print: impl FnOnce(&S, Duration),
    lines: impl FnOnce(&S) -> BadLines,
) -> VerbResult {
    let writes_to_terminal = output.as_os_str() == "-" && std::io::stdout().is_terminal();
    let begun = Instant::now();
    let summary = match run(&Progress::new(writes_to_terminal)) {
        Err(OfflineError::ReaderGone) => return Ok(()),
        result => result?,
    };
    print(&summary, begun.elapsed());
    match lines(&summary) {
        BadLines { problems: 0, .. } => Ok(()),
        bad => Err(bad.into()),
    }
}
