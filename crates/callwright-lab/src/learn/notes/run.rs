//! Run over labelled questions.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::{StreamExt, stream};
use jiff::{SignedDuration, Timestamp};

use super::inputs::{NotesInputs, TrainingCase, write_lessons};
use super::report::{NotesReport, Variant, VariantReport};
use crate::OfflineError;
use crate::journal::{JournaledModel, journal_beside};
use crate::output::refuse_input;
use callwright_common::progress::{ProgressObserver, StepLength};
use callwright_memory::experience::prompts::PromptNote;
use callwright_memory::experience::{
    LessonStore, NoteTaker, RecallQuery, Settings, StoredLesson, TrainingResult, is_right, learn as learn_draft,
};
use callwright_memory::{LearnOutcome, MemoryChange};
use callwright_types::memory::{Author, Backing};
use callwright_types::{Evidence, EvidenceKind, Lesson, LessonDraft, Polarity, Scope};
use callwright_upstream::TextSource;

/// Hint about the answers of a run that ends early.
const KEPT: &str = "its answers so far are kept; the same command continues";
const NOT_KEPT: &str = "its answers are lost; with --out FILE they are kept";

#[derive(Debug, Clone, Default)]
pub struct NotesFiles {
    /// Lines `{"question", "answer"}` for training.
    pub train: Option<PathBuf>,
    /// Lines `{"question", "answer"}` for the test.
    pub test: Option<PathBuf>,
    /// Existing lessons.
    pub notes: Option<PathBuf>,
    /// Output file of all lessons.
    pub out: Option<PathBuf>,
    /// Text file with instructions for the task.
    pub instructions: Option<PathBuf>,
    /// Lines `{"question", "truth", ...}` that replace the built-in demonstrations.
    pub demonstrations: Option<PathBuf>,
}

/// Settings of a run.
#[derive(Debug, Clone)]
pub struct NotesRun {
    /// Model to query.
    pub model: Arc<dyn TextSource>,
    /// Its name.
    pub model_name: String,
    /// Scope of the new lessons.
    pub scope: Scope,
    /// Variants of the test stage; the variant without notes always runs too.
    pub variants: Vec<Variant>,
    /// Maximum number of notes per question (ExpNote, appendix B: 3).
    pub k: usize,
    /// Settings for writing and recalling lessons.
    pub settings: Settings,
    /// Number of parallel questions.
    pub jobs: usize,
}

/// Learns from questions, tests the lessons on others, and writes the lessons. An interrupted run is resumed.
///
/// # Errors
/// [`OfflineError`] if the model does not answer, or files cannot be read or written.
pub async fn learn_notes(
    files: &NotesFiles,
    run: &NotesRun,
    observer: &dyn ProgressObserver,
) -> Result<NotesReport, OfflineError> {
    let inputs = [&files.train, &files.test, &files.notes, &files.instructions, &files.demonstrations];
    let inputs: Vec<&Path> = inputs.into_iter().flatten().map(PathBuf::as_path).collect();
    // Checked before the first model request.
    files.out.as_ref().map_or(Ok(()), |out| refuse_input(out, &inputs))?;
    let read = NotesInputs::read(files, observer)?;
    let model = Arc::new(JournaledModel::new(Arc::clone(&run.model), &run.model_name));
    if let Some(journal) = files.out.as_deref().and_then(journal_beside) {
        model.resume(journal)?;
    }
    let note_taker = NoteTaker::new(Arc::<JournaledModel>::clone(&model), run.settings).with_guide(read.guide.clone());
    let school = NotesTrainer { run, observer, note_taker, model };
    let mut report = NotesReport { problems: read.read.problems, lines: read.read.lines, ..NotesReport::default() };
    let mut lesson_store = LessonStore::new(read.lessons.iter().cloned().map(StoredLesson::from), run.settings);
    if !read.train.is_empty() {
        let trained = school.train(&read.train).await?;
        report.trained = trained.len();
        report.trained_right = trained.iter().filter(|trained| trained.is_right).count();
        lesson_store = learned(lesson_store, &read.train, &trained, run, school.model.begun());
    }
    let lessons = lesson_store.in_scope(&run.scope);
    report.count(lessons.iter().map(AsRef::as_ref));
    if let Some(out) = &files.out {
        write_lessons(out, &inputs, lessons.iter().map(AsRef::as_ref))?;
    }
    if !read.test.is_empty() {
        report.tested = read.test.len();
        report.variants = school.test(&read, &lessons).await?;
    }
    report.cost = school.model.cost();
    school.model.finish()?;
    Ok(report)
}

/// Adds the lessons of the training to the lesson_store and merges near-duplicates.
fn learned(
    mut lesson_store: LessonStore,
    cases: &[TrainingCase],
    trained: &[TrainingResult],
    run: &NotesRun,
    begun: Timestamp,
) -> LessonStore {
    let mut number = 0;
    for (case, trained) in cases.iter().zip(trained) {
        for (key, value) in &trained.notes {
            // Times follow the order of the questions, independent of the order of the answers: of equally good notes
            // the latest comes first.
            let at = begun.saturating_add(SignedDuration::from_millis(number)).unwrap_or(begun);
            number += 1;
            let draft = LessonDraft {
                kind: EvidenceKind::Labelled,
                toolset: None,
                tools: Vec::new(),
                polarity: if trained.is_right { Polarity::Positive } else { Polarity::Negative },
                key: key.clone(),
                value: value.clone(),
                client: None,
                backing: Backing::Seen,
            };
            let evidence = Evidence {
                kind: EvidenceKind::Labelled,
                trace: None,
                session: None,
                source: Some(case.source.clone()),
                at,
            };
            let present = lesson_store.similar(&run.scope, &draft);
            let present = present.iter().map(AsRef::as_ref);
            match learn_draft(draft, evidence, &run.scope, Author::Model, present, at, &run.settings) {
                LearnOutcome::New(lesson) | LearnOutcome::Confirmed(lesson) => {
                    lesson_store = lesson_store.with([MemoryChange::Stored(lesson.into())]);
                }
                LearnOutcome::Unchanged => {}
            }
        }
    }
    lesson_store
}

/// Model and progress of a run.
struct NotesTrainer<'a> {
    run: &'a NotesRun,
    observer: &'a dyn ProgressObserver,
    note_taker: NoteTaker,
    model: Arc<JournaledModel>,
}

impl NotesTrainer<'_> {
    /// Processes all questions, some in parallel.
    async fn each<'c, T>(
        &self,
        stage: &str,
        cases: &'c [TrainingCase],
        work: impl AsyncFn(&'c TrainingCase) -> Result<T, String>,
    ) -> Result<Vec<T>, OfflineError> {
        self.observer.begins(&format!("{stage}, questions"), StepLength::Items(cases.len()));
        let mut done = Vec::with_capacity(cases.len());
        let mut results = std::pin::pin!(stream::iter(cases).map(|case| work(case)).buffered(self.run.jobs.max(1)));
        while let Some(result) = results.next().await {
            match result {
                Ok(result) => done.push(result),
                Err(reason) => {
                    let kept = if self.model.is_resumable() { KEPT } else { NOT_KEPT };
                    return Err(OfflineError::Unanswered { reason, kept });
                }
            }
            self.observer.advances(done.len() as u64, done.len() as u64);
        }
        self.observer.ends();
        Ok(done)
    }

    async fn train(&self, cases: &[TrainingCase]) -> Result<Vec<TrainingResult>, OfflineError> {
        self.each("training", cases, async |case| self.note_taker.train(&case.question, &case.answer).await).await
    }

    /// Tests the requested variants, beginning with the one without notes.
    async fn test(&self, read: &NotesInputs, lessons: &[Arc<Lesson>]) -> Result<Vec<VariantReport>, OfflineError> {
        let (without, _) = self.solve(Variant::Disabled, read, lessons).await?;
        let mut reports = vec![VariantReport::of(Variant::Disabled, 0, 0, &without, &without)];
        for variant in self.run.variants.iter().filter(|variant| **variant != Variant::Disabled) {
            let (with, (notes, recalled)) = self.solve(*variant, read, lessons).await?;
            reports.push(VariantReport::of(*variant, notes, recalled, &without, &with));
        }
        Ok(reports)
    }

    /// Returns whether each question is answered right, the number of notes, and the number of questions with recalled
    /// notes.
    async fn solve(
        &self,
        variant: Variant,
        read: &NotesInputs,
        lessons: &[Arc<Lesson>],
    ) -> Result<(Vec<bool>, (usize, usize)), OfflineError> {
        let taken = lessons.iter().filter(|lesson| variant.takes(lesson));
        let taken = taken.map(|lesson| StoredLesson { lesson: Arc::clone(lesson), vector: None });
        let lesson_store = LessonStore::new(taken, self.run.settings);
        let sources: HashMap<&str, &TrainingCase> =
            read.train.iter().map(|case| (case.source.as_str(), case)).collect();
        let solved = self.each(variant.label(), &read.test, async |case| {
            let query = RecallQuery {
                scope: &self.run.scope,
                text: &case.question,
                tools: &[],
                limit: self.run.k,
                vector: None,
            };
            let found = lesson_store.recall(&query);
            let mut examples: Vec<PromptNote<'_>> = match variant {
                Variant::Case => found.iter().filter_map(|lesson| case_example(lesson, &sources)).collect(),
                _ => found.iter().map(|lesson| PromptNote::from(lesson.as_ref())).collect(),
            };
            // Several lessons may come from one case.
            examples.dedup();
            let answer = self.note_taker.solve(&case.question, &examples).await?;
            Ok((is_right(answer.as_deref(), &case.answer), !examples.is_empty()))
        });
        let solved = solved.await?;
        let recalled = solved.iter().filter(|(_, recalled)| *recalled).count();
        Ok((solved.into_iter().map(|(right, _)| right).collect(), (lesson_store.len(), recalled)))
    }
}

/// Returns the question and answer that a lesson comes from.
fn case_example<'a>(lesson: &Lesson, sources: &HashMap<&str, &'a TrainingCase>) -> Option<PromptNote<'a>> {
    let source = lesson.evidence.iter().find_map(|evidence| evidence.source.as_deref())?;
    sources.get(source).map(|case| PromptNote { key: &case.question, value: &case.answer })
}
