//! Progress bar for reading files, messages about single lines, and the common frame of the subcommands that process a
//! file line by line.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressStyle};

use super::errors::{BadLines, VerbResult};
use callwright_knowledge::representation::{LearnWatcher, ProposeError};
use callwright_offline::{NotesWatcher, OfflineError, Problem, Watcher};

/// Templates with and without a known file size.
const SIZED: &str = "{prefix} {wide_bar} {bytes}/{total_bytes} {msg} {eta} left";
const UNSIZED: &str = "{prefix} {spinner} {bytes} {msg} {elapsed}";

/// Template for an iteration of the learner.
const ITERATION: &str = "{prefix} {wide_bar} {pos}/{len} tools {eta} left";

/// Template for a stage of questions.
const STAGE: &str = "{prefix} {wide_bar} {pos}/{len} questions {eta} left";

const PLACE: Style = AnsiColor::Yellow.on_default();

/// Prints progress on standard error; the bar is shown only if it is a terminal.
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

impl Watcher for ProgressPrinter {
    fn begins(&self, file: &str, bytes: Option<u64>) {
        let name = Path::new(file).file_name().unwrap_or_default().to_string_lossy();
        let prefix = name.chars().take(24).collect();
        match bytes {
            Some(bytes) => self.replace_bar(SIZED, prefix, ProgressBar::new(bytes)),
            None => self.replace_bar(UNSIZED, prefix, ProgressBar::new_spinner()),
        }
    }

    fn advances(&self, bytes: u64, records: u64) {
        let bar = self.bar();
        bar.set_position(bytes);
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

impl ProgressPrinter {
    /// Replaces the bar, if bars are shown.
    fn replace_bar(&self, template: &str, prefix: String, bar: ProgressBar) {
        if !self.shown {
            return;
        }
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_prefix(prefix);
        let before = std::mem::replace(&mut *self.bar.lock().unwrap_or_else(PoisonError::into_inner), bar);
        before.finish_and_clear();
    }
}

impl NotesWatcher for ProgressPrinter {
    fn stage(&self, name: &str, cases: usize) {
        self.replace_bar(STAGE, name.to_owned(), ProgressBar::new(cases as u64));
    }

    fn case_done(&self) {
        self.bar().inc(1);
    }
}

impl LearnWatcher for ProgressPrinter {
    fn begins(&self, iteration: usize, tools: usize) {
        self.replace_bar(ITERATION, format!("iteration {iteration}"), ProgressBar::new(tools as u64));
    }

    fn advances(&self) {
        self.bar().inc(1);
    }

    fn problem(&self, problem: &ProposeError) {
        let ProposeError { tool, reason } = problem;
        let (tool, reason) = (tool.replace(char::is_control, " "), reason.replace(char::is_control, " "));
        self.bar().suspend(|| anstream::eprintln!("{PLACE}{tool}:{PLACE:#} {reason}"));
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
