//! Progress bar for reading files, messages about single lines, and the common frame of the subcommands that process a
//! file line by line.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressStyle};

use super::errors::{BadLines, VerbResult};
use callwright_common::progress::{Problem, ProgressObserver, StepLength};
use callwright_lab::OfflineError;

/// Templates with and without a known file size.
const SIZED: &str = "{prefix} {wide_bar} {bytes}/{total_bytes} {msg} {eta} left";
const UNSIZED: &str = "{prefix} {spinner} {bytes} {msg} {elapsed}";

/// Template for a step with a number of items.
const COUNTED: &str = "{prefix} {wide_bar} {pos}/{len} {eta} left";

const PLACE: Style = AnsiColor::Yellow.on_default();

/// Prints progress on standard error; the bar is shown only if it is a terminal.
#[derive(Debug)]
pub(super) struct ProgressPrinter {
    bar: Mutex<ProgressBar>,
    shown: bool,
}

impl ProgressPrinter {
    /// Creates a reporter. `to_terminal` is whether the run itself writes to a terminal; then there is no bar.
    pub(super) fn new(to_terminal: bool) -> Self {
        Self { bar: Mutex::new(ProgressBar::hidden()), shown: !to_terminal && std::io::stderr().is_terminal() }
    }

    /// Removes the bar.
    pub(super) fn clear(&self) {
        self.bar().finish_and_clear();
    }

    fn bar(&self) -> ProgressBar {
        self.bar.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl ProgressObserver for ProgressPrinter {
    fn begins(&self, step: &str, length: StepLength) {
        if !self.shown {
            return;
        }
        let (bar, template) = match length {
            StepLength::Bytes(Some(bytes)) => (ProgressBar::new(bytes), SIZED),
            StepLength::Bytes(None) => (ProgressBar::new_spinner(), UNSIZED),
            StepLength::Items(items) => (ProgressBar::new(items as u64), COUNTED),
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        let name = Path::new(step).file_name().unwrap_or_default().to_string_lossy();
        bar.set_prefix(name.chars().take(24).collect::<String>());
        let before = std::mem::replace(&mut *self.bar.lock().unwrap_or_else(PoisonError::into_inner), bar);
        before.finish_and_clear();
    }

    fn advances(&self, position: u64, records: u64) {
        let bar = self.bar();
        bar.set_position(position);
        bar.set_message(format!("{records} records"));
    }

    fn left_out(&self, message: &str) {
        self.bar().suspend(|| anstream::eprintln!("{message}"));
    }

    fn problem(&self, problem: &Problem) {
        let Problem { file, line, message } = problem;
        self.bar().suspend(|| anstream::eprintln!("{PLACE}{file}:{line}:{PLACE:#} {message}"));
    }

    fn ends(&self) {
        self.bar().finish_and_clear();
    }
}

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
        Err(OfflineError::OutputClosed) => return Ok(()),
        result => result?,
    };
    print(&summary, begun.elapsed());
    match lines(&summary) {
        BadLines { problems: 0, .. } => Ok(()),
        bad => Err(bad.into()),
    }
}
