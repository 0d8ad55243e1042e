//! Journal of a run with a model: every answer is appended when it arrives, so that an interrupted run resumes with
//! the same result and repeats no answered request.

use std::collections::HashMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::sync::OnceCell;

use super::OfflineError;
use super::input::STANDARD_STREAM;
use callwright_common::digest::{add_part, hex};
use callwright_common::json::raw;
use callwright_types::{Cost, Usage};
use callwright_upstream::{Answered, Exchange, Manner, TextSource};
use callwright_wire::Role;

/// First line of a journal.
#[derive(Debug, Serialize, Deserialize)]
struct JournalHeader {
    /// Start of the first run, which what is learned carries.
    begun: Timestamp,
}

/// Further line of a journal: an answer, and the digest of its request.
#[derive(Debug, Serialize, Deserialize)]
struct JournalLine {
    key: String,
    answered: Answered,
    requests: u64,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    usage: Option<Usage>,
}

/// File of the answers of a run. It is locked while the run lasts.
#[derive(Debug)]
struct JournalFile {
    path: PathBuf,
    file: File,
}

/// Model whose answers are kept. Equal requests are sent once.
#[derive(Debug)]
pub struct JournaledModel {
    inner: Arc<dyn TextSource>,
    name: String,
    state: Mutex<JournalState>,
}

#[derive(Debug)]
struct JournalState {
    begun: Timestamp,
    /// Without a file, answers are kept in memory only.
    file: Option<JournalFile>,
    /// Answers of the interrupted run that were not used yet.
    earlier: HashMap<String, Exchange>,
    /// Answers that this run used.
    answers: HashMap<String, Arc<OnceCell<Exchange>>>,
    /// Their cost.
    cost: Cost,
    /// Whether a request got no answer.
    has_failed: bool,
}

impl JournaledModel {
    /// Creates a model of this name without a journal file.
    pub fn new(inner: Arc<dyn TextSource>, name: &str) -> Self {
        let (begun, cost) = (Timestamp::now(), Cost::default());
        let (earlier, answers) = (HashMap::new(), HashMap::new());
        let state = Mutex::new(JournalState { begun, file: None, earlier, answers, cost, has_failed: false });
        Self { inner, name: name.to_owned(), state }
    }

    /// Takes the answers of the journal at `path`, and appends to it from now on. Creates it if there is none.
    ///
    /// # Errors
    /// [`OfflineError`]: the journal cannot be read or written, is damaged, or belongs to a run in progress.
    pub fn resume(&self, path: PathBuf) -> Result<(), OfflineError> {
        let mut state = self.state();
        let (file, begun, lines) = JournalFile::open(path, state.begun)?;
        (state.file, state.begun) = (Some(file), begun);
        for JournalLine { key, answered, requests, usage } in lines {
            let exchange = Exchange { answered: Ok(answered), requests, usage };
            state.earlier.entry(key).or_insert(exchange);
        }
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, JournalState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the start of the first run.
    pub fn begun(&self) -> Timestamp {
        self.state().begun
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the cost so far, as counted by the provider. Answers of an interrupted run count when they are used.
    pub fn cost(&self) -> Cost {
        self.state().cost
    }

    /// Whether an interrupted run can be resumed.
    pub fn is_resumable(&self) -> bool {
        self.state().file.is_some()
    }

    /// Removes the journal at the end of the run. After a failed request it stays, so that the same run again sends that
    /// request alone.
    ///
    /// # Errors
    /// [`OfflineError::Unwritable`].
    pub fn finish(&self) -> Result<(), OfflineError> {
        let mut state = self.state();
        match state.file.take().filter(|_| !state.has_failed) {
            Some(journal) => std::fs::remove_file(&journal.path).map_err(|source| journal.unwritable(source)),
            None => Ok(()),
        }
    }

    /// Returns the answer of the interrupted run, or requests one and appends it to the journal.
    async fn request(&self, key: &str, messages: &[(Role, String)], manner: Manner<'_>) -> Result<Exchange, Exchange> {
        let earlier = self.state().earlier.remove(key);
        if let Some(exchange) = earlier {
            self.state().count(&exchange);
            return Ok(exchange);
        }
        let exchange = self.inner.ask(messages, manner).await;
        let mut state = self.state();
        state.count(&exchange);
        let Ok(answered) = exchange.answered.clone() else {
            state.has_failed = true;
            return Err(exchange);
        };
        let (key, requests, usage) = (key.to_owned(), exchange.requests, exchange.usage);
        let line = JournalLine { key, answered, requests, usage };
        match state.file.as_mut().map_or(Ok(()), |journal| journal.append(&line)) {
            Ok(()) => Ok(exchange),
            Err(error) => Err(Exchange { answered: Err(error.to_string()), ..exchange }),
        }
    }
}

impl JournalState {
    fn count(&mut self, exchange: &Exchange) {
        let Usage { prompt_tokens, completion_tokens, .. } = exchange.usage.unwrap_or_default();
        self.cost.add(Cost { requests: exchange.requests, prompt_tokens, completion_tokens });
    }
}

impl TextSource for JournaledModel {
    fn ask<'a>(&'a self, messages: &'a [(Role, String)], manner: Manner<'a>) -> BoxFuture<'a, Exchange> {
        Box::pin(async move {
            let key = digest(&self.name, messages, manner);
            let cell = Arc::clone(self.state().answers.entry(key.clone()).or_default());
            // Equal requests in progress wait for the first one, so that all get the answer that a resumed run reads.
            match cell.get_or_try_init(|| self.request(&key, messages, manner)).await {
                Ok(exchange) => exchange.clone(),
                Err(failed) => failed,
            }
        })
    }
}

impl JournalFile {
    /// Opens and locks a journal. A torn last line is dropped.
    fn open(path: PathBuf, now: Timestamp) -> Result<(Self, Timestamp, Vec<JournalLine>), OfflineError> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        // Answers may repeat private texts of the samples.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let opened = options.open(&path);
        let file = opened.map_err(|source| OfflineError::Unwritable { file: path.display().to_string(), source })?;
        let mut journal = Self { path, file };
        match journal.file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(OfflineError::Running { file: journal.shown() }),
            Err(TryLockError::Error(error)) => return Err(journal.unwritable(error)),
        }
        let mut bytes = Vec::new();
        journal.file.read_to_end(&mut bytes).map_err(|error| journal.unreadable(error))?;
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        bytes.truncate(whole);
        journal.file.set_len(whole as u64).map_err(|error| journal.unwritable(error))?;
        journal.file.seek(SeekFrom::End(0)).map_err(|error| journal.unwritable(error))?;
        let mut lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let Some(first) = lines.next() else {
            journal.append(&JournalHeader { begun: now })?;
            return Ok((journal, now, Vec::new()));
        };
        let damaged = |number: usize, error: serde_json::Error| {
            journal.unreadable(io::Error::new(io::ErrorKind::InvalidData, format!("line {number}: {error}")))
        };
        let header: JournalHeader = serde_json::from_slice(first).map_err(|error| damaged(1, error))?;
        let lines = (2..).zip(lines);
        let lines = lines.map(|(number, line)| serde_json::from_slice(line).map_err(|error| damaged(number, error)));
        let lines = lines.collect::<Result<_, _>>()?;
        Ok((journal, header.begun, lines))
    }

    /// Appends a line with one write, so that an interruption leaves at most its beginning.
    fn append(&mut self, line: &impl Serialize) -> Result<(), OfflineError> {
        let text = format!("{}\n", raw(line).get());
        self.file.write_all(text.as_bytes()).map_err(|error| self.unwritable(error))
    }

    fn shown(&self) -> String {
        self.path.display().to_string()
    }

    fn unreadable(&self, source: io::Error) -> OfflineError {
        OfflineError::Unreadable { file: self.shown(), source, fix: "remove it to start again" }
    }

    fn unwritable(&self, source: io::Error) -> OfflineError {
        OfflineError::Unwritable { file: self.shown(), source }
    }
}

/// Returns the path of the journal in an output folder. Like that of a file, it is hidden: it is none of the results.
pub(crate) fn journal_in(folder: &Path) -> PathBuf {
    folder.join(".journal.jsonl")
}

/// Returns the path of the journal next to an output file; `None` for standard output.
pub(crate) fn journal_beside(output: &Path) -> Option<PathBuf> {
    let name = output.file_name().filter(|_| output.as_os_str() != STANDARD_STREAM)?.to_string_lossy();
    Some(output.with_file_name(format!(".{name}.journal.jsonl")))
}

fn digest(model: &str, messages: &[(Role, String)], manner: Manner<'_>) -> String {
    let mut hash = Sha256::new();
    add_part(&mut hash, model.as_bytes());
    add_part(&mut hash, &manner.temperature.to_le_bytes());
    add_part(&mut hash, manner.form.map_or(String::new(), |form| raw(form).get().to_owned()).as_bytes());
    for (role, text) in messages {
        add_part(&mut hash, format!("{role:?}").as_bytes());
        add_part(&mut hash, text.as_bytes());
    }
    hex(&hash.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers with the number of the request, and fails if the question is `fail`.
    #[derive(Debug, Default)]
    struct Counting(Mutex<u64>);

    impl TextSource for Counting {
        fn ask<'a>(&'a self, messages: &'a [(Role, String)], _: Manner<'a>) -> BoxFuture<'a, Exchange> {
            Box::pin(async move {
                *self.0.lock().unwrap() += 1;
                let number = *self.0.lock().unwrap();
                tokio::task::yield_now().await;
                let answered = match messages[0].1.as_str() {
                    "fail" => Err("busy".to_owned()),
                    "refuse" => Ok(Answered::Refused("no".to_owned())),
                    _ => Ok(Answered::Text(number.to_string())),
                };
                let usage = Usage { prompt_tokens: 10, completion_tokens: 1, ..Usage::default() };
                Exchange { answered, requests: 1, usage: Some(usage) }
            })
        }
    }

    fn model(path: &Path) -> JournaledModel {
        let model = JournaledModel::new(Arc::new(Counting::default()), "m");
        model.resume(path.to_owned()).unwrap();
        model
    }

    async fn ask(model: &JournaledModel, question: &str) -> Result<Answered, String> {
        let manner = Manner::default();
        model.ask(&[(Role::User, question.to_owned())], manner).await.answered
    }

    fn text(number: u64) -> Result<Answered, String> {
        Ok(Answered::Text(number.to_string()))
    }

    #[tokio::test]
    async fn answers_survive_and_are_not_requested_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = journal_in(folder.path());
        let first = model(&path);
        assert_eq!(
            (ask(&first, "a").await, ask(&first, "b").await, ask(&first, "a").await),
            (text(1), text(2), text(1))
        );
        assert!(ask(&first, "fail").await.is_err() && ask(&first, "refuse").await.is_ok());
        assert_eq!((first.cost().requests, first.cost().prompt_tokens), (4, 40));
        let begun = first.begun();
        drop(first);
        let second = model(&path);
        assert_eq!(
            (ask(&second, "b").await, ask(&second, "b").await, ask(&second, "c").await),
            (text(2), text(2), text(1))
        );
        assert_eq!(ask(&second, "refuse").await, Ok(Answered::Refused("no".to_owned())));
        assert_eq!((second.begun(), second.cost().requests), (begun, 3), "answers count when they are used");
        second.finish().unwrap();
        assert!(!path.exists());
        first_failed_run_keeps(&path).await;
    }

    async fn first_failed_run_keeps(path: &Path) {
        let model = model(path);
        assert!(ask(&model, "fail").await.is_err());
        model.finish().unwrap();
        assert!(path.exists());
    }

    #[tokio::test]
    async fn equal_requests_in_progress_are_one() {
        let model = JournaledModel::new(Arc::new(Counting::default()), "m");
        let (one, other) = futures_util::join!(ask(&model, "a"), ask(&model, "a"));
        assert_eq!((one, other, model.cost().requests), (text(1), text(1), 1));
    }

    #[tokio::test]
    async fn other_models_and_parameters_are_other_requests() {
        let messages = [(Role::User, "a".to_owned())];
        let form = serde_json::json!({"type": "object"});
        let plain = Manner::default();
        let keys = [
            digest("m", &messages, plain),
            digest("n", &messages, plain),
            digest("m", &messages, Manner { temperature: 0.1, ..plain }),
            digest("m", &messages, Manner { form: Some(&form), ..plain }),
            digest("m", &[(Role::System, "a".to_owned())], plain),
        ];
        assert_eq!(keys.iter().collect::<std::collections::HashSet<_>>().len(), keys.len());
        assert_eq!(digest("m", &messages, Manner { requests: Some(1), ..plain }), keys[0]);
    }

    #[tokio::test]
    async fn a_torn_line_is_dropped_at_every_length() {
        let folder = tempfile::tempdir().unwrap();
        let path = journal_in(folder.path());
        let whole = model(&path);
        for question in ["a", "b"] {
            ask(&whole, question).await.unwrap();
        }
        drop(whole);
        let bytes = std::fs::read(&path).unwrap();
        for length in 0..bytes.len() {
            std::fs::write(&path, &bytes[..length]).unwrap();
            let torn = model(&path);
            let lines = bytes[..length].iter().filter(|byte| **byte == b'\n').count();
            assert_eq!(torn.state().earlier.len(), lines.saturating_sub(1), "{length}");
            ask(&torn, "c").await.unwrap();
            drop(torn);
            assert_eq!(model(&path).state().earlier.len(), lines.saturating_sub(1) + 1);
        }
    }

    #[test]
    fn damaged_and_locked_journals_are_reported() {
        let folder = tempfile::tempdir().unwrap();
        let path = journal_in(folder.path());
        let running = model(&path);
        let resumed = |path: &Path| {
            let model = JournaledModel::new(Arc::new(Counting::default()), "m");
            model.resume(path.to_owned()).unwrap_err().to_string()
        };
        assert!(resumed(&path).contains("in progress"), "{}", resumed(&path));
        drop(running);
        std::fs::write(&path, "{\"begun\":\"2026-11-29T00:00:00Z\"}\nrubbish\n").unwrap();
        assert!(resumed(&path).contains("line 2") && resumed(&path).contains("remove it"), "{}", resumed(&path));
        assert!(resumed(&folder.path().join("none/x")).contains("cannot write"));
    }

    #[test]
    fn a_journal_is_hidden_beside_its_output() {
        let beside = |output: &str| journal_beside(Path::new(output));
        assert_eq!(beside("a/notes.jsonl"), Some(PathBuf::from("a/.notes.jsonl.journal.jsonl")));
        assert_eq!(beside("-"), None);
    }
}
