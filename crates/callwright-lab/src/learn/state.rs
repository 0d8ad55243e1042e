//! State of a resumable run, written after every iteration.

use std::io;
use std::path::{Path, PathBuf};

use jiff::civil::Date;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::OfflineError;
use crate::output::write_whole;
use callwright_common::digest::{add_part, hex};

/// File name in the folder of the representations: hidden and not YAML, so that it is not read as a representation
/// file.
const FILE: &str = ".learning.json";

/// State file of a run.
#[derive(Debug, Clone)]
pub(super) struct StateFile {
    path: PathBuf,
    /// Digest of the inputs of the run: files, settings, models.
    inputs: String,
}

/// Stored state of a run.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StateSnapshot<T> {
    inputs: String,
    /// Start date of the run, which its patterns carry.
    pub(super) date: Date,
    /// State of the learner.
    pub(super) state: T,
}

/// Digest of the inputs of a run.
#[derive(Debug, Default)]
pub(super) struct Inputs(Sha256);

impl Inputs {
    /// Adds an input that may differ between runs.
    pub(super) fn add(&mut self, part: &str) {
        add_part(&mut self.0, part.as_bytes());
    }
}

impl StateFile {
    /// Returns the state file of a run with these inputs that writes to `folder`.
    pub(super) fn new(folder: &Path, inputs: Inputs) -> Self {
        Self { path: folder.join(FILE), inputs: hex(&inputs.0.finalize()) }
    }

    /// Returns the state file of a run with these inputs that writes to `file`: a hidden file next to it.
    pub(super) fn beside(file: &Path, inputs: Inputs) -> Self {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        Self { path: file.with_file_name(format!(".{name}{FILE}")), inputs: hex(&inputs.0.finalize()) }
    }

    /// Returns the state of an interrupted run, or an initial state.
    ///
    /// # Errors
    /// As [`Self::load`]; [`OfflineError::Interrupted`] if there is an interrupted run that is not to be resumed.
    pub(super) fn begin_or_resume<T: Default + DeserializeOwned>(
        &self,
        resume: bool,
    ) -> Result<StateSnapshot<T>, OfflineError> {
        if resume && let Some(kept) = self.load()? {
            return Ok(kept);
        }
        if !resume && self.exists() {
            return Err(OfflineError::Interrupted { file: self.display_path() });
        }
        Ok(self.begin(today()))
    }

    /// Returns the initial state of a run.
    pub(super) fn begin<T: Default>(&self, date: Date) -> StateSnapshot<T> {
        StateSnapshot { inputs: self.inputs.clone(), date, state: T::default() }
    }

    /// Returns the state of an interrupted run; `None` if there is none.
    ///
    /// # Errors
    /// [`OfflineError::Unreadable`] if the file is damaged, or belongs to a run with other inputs.
    pub(super) fn load<T: DeserializeOwned>(&self) -> Result<Option<StateSnapshot<T>>, OfflineError> {
        let text = match std::fs::read(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read.map_err(|error| self.unreadable(error))?,
        };
        let kept: StateSnapshot<T> = serde_json::from_slice(&text).map_err(|error| self.unreadable(error.into()))?;
        if kept.inputs != self.inputs {
            let message = "it belongs to a run with other tools, samples, models or settings";
            return Err(self.unreadable(io::Error::new(io::ErrorKind::InvalidInput, message)));
        }
        Ok(Some(kept))
    }

    /// Whether there is an interrupted run, with any inputs.
    pub(super) fn exists(&self) -> bool {
        self.path.exists()
    }

    /// Returns the path for messages.
    pub(super) fn display_path(&self) -> String {
        self.path.display().to_string()
    }

    /// Writes the state atomically: an interruption leaves either this state or the previous one.
    pub(super) fn save<T: Serialize>(&self, date: Date, state: &T) -> Result<(), OfflineError> {
        let kept = StateSnapshot { inputs: self.inputs.clone(), date, state };
        let text = serde_json::to_vec(&kept).map_err(|error| self.unwritable(error.into()))?;
        write_whole(&self.path, &text)
    }

    /// Removes the file at the end of the run.
    pub(super) fn remove(&self) -> Result<(), OfflineError> {
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(self.unwritable(error)),
            _ => Ok(()),
        }
    }

    fn unreadable(&self, source: io::Error) -> OfflineError {
        let fix = "remove it to start again";
        OfflineError::Unreadable { file: self.display_path(), source, fix }
    }

    fn unwritable(&self, source: io::Error) -> OfflineError {
        OfflineError::Unwritable { file: self.display_path(), source }
    }
}

/// Returns the date in UTC, independent of the local time zone.
fn today() -> Date {
    jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date()
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    fn file(folder: &Path, input: &str) -> StateFile {
        let mut inputs = Inputs::default();
        inputs.add(input);
        StateFile::new(folder, inputs)
    }

    #[test]
    fn a_run_is_resumed() {
        let folder = tempfile::tempdir().unwrap();
        let file = file(folder.path(), "a");
        assert!(file.load::<Vec<u8>>().unwrap().is_none() && !file.exists());
        file.save(date(2026, 11, 22), &vec![1_u8]).unwrap();
        file.save(date(2026, 11, 22), &vec![1_u8, 2]).unwrap();
        let kept: StateSnapshot<Vec<u8>> = file.load().unwrap().unwrap();
        assert_eq!((kept.date, kept.state), (date(2026, 11, 22), vec![1, 2]));
        file.remove().unwrap();
        file.remove().unwrap();
        assert!(!file.exists());
    }

    #[test]
    fn another_run_or_a_damaged_file_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        file(folder.path(), "a").save(date(2026, 11, 22), &1_u8).unwrap();
        let error = file(folder.path(), "b").load::<u8>().unwrap_err().to_string();
        assert!(error.contains("a run with other tools") && error.contains("remove it"), "{error}");
        std::fs::write(folder.path().join(FILE), "{").unwrap();
        assert!(file(folder.path(), "a").load::<u8>().unwrap_err().to_string().contains(FILE));
    }
}
