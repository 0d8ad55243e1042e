//! Progress bar for model downloads.

use std::io::IsTerminal;
use std::sync::{Mutex, PoisonError};

use indicatif::{ProgressBar, ProgressStyle};

use callwright_search::embedding::DownloadWatcher;

const SIZED: &str = "{prefix} {wide_bar} {bytes}/{total_bytes} {eta} left";
const UNSIZED: &str = "{prefix} {spinner} {bytes} {elapsed}";

/// Shows downloads on standard error if it is a terminal; otherwise only the log reports them.
#[derive(Debug, Default)]
pub(super) struct Downloads {
    bar: Mutex<Option<ProgressBar>>,
}

impl Downloads {
    fn replace(&self, bar: Option<ProgressBar>) -> Option<ProgressBar> {
        std::mem::replace(&mut *self.bar.lock().unwrap_or_else(PoisonError::into_inner), bar)
    }
}

impl DownloadWatcher for Downloads {
    fn begins(&self, file: &str, bytes: Option<u64>) {
        if !std::io::stderr().is_terminal() {
            return;
        }
        let bar = bytes.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
        let template = if bytes.is_some() { SIZED } else { UNSIZED };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_prefix(file.to_owned());
        self.replace(Some(bar));
    }

    fn advances(&self, bytes: u64) {
        if let Some(bar) = &*self.bar.lock().unwrap_or_else(PoisonError::into_inner) {
            bar.set_position(bytes);
        }
    }

    fn ends(&self) {
        if let Some(bar) = self.replace(None) {
            bar.finish_and_clear();
        }
    }
}
