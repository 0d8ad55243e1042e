//! Result of a batch of traces and feedback, decided without I/O.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;

use super::progress::{AwaitedDraft, LearningProgress};
use super::sampling::ToolExpectation;
use super::verdicts::{has_failed, rests_on, without};
use super::workflows::Workflows;
use super::{CachedMemory, Settings};
use crate::experience::{self, ObservedTurn};
use crate::memory::LearnOutcome;
use callwright_store::{FeedbackRow, FeedbackVerdict, Revision};
use callwright_telemetry::labels::MemoryKind;
use callwright_types::memory::{Author, Backing, Recalled, Retirement};
use callwright_types::{Evidence, EvidenceKind, Lesson, LessonDraft, MemoryNote, Scope, Trace};

/// Batch in progress: the stored memory and its changes.
#[derive(Debug)]
pub(super) struct LearningBatch<'a> {
    memory: &'a CachedMemory,
    settings: &'a Settings,
    now: Timestamp,
    /// New and changed lessons, by id.
    pub(super) lessons: BTreeMap<String, Lesson>,
    /// Changes of procedures.
    pub(super) workflows: Workflows,
    /// Expected tools according to feedback, in order.
    pub(super) expectations: Vec<ToolExpectation>,
    /// Kinds of evidence of the learned lessons.
    learned: Vec<EvidenceKind>,
    /// Number of retired lessons.
    retired: usize,
}

impl<'a> LearningBatch<'a> {
    /// Creates an empty batch.
    pub(super) fn new(memory: &'a CachedMemory, settings: &'a Settings, now: Timestamp) -> Self {
        let (lessons, expectations, learned, retired) = Default::default();
        let workflows = Workflows::new(Arc::clone(&memory.library), now);
        Self { memory, settings, now, lessons, workflows, expectations, learned, retired }
    }

    /// Learns from a turn: counts the recalled memory, learns drafts that the turn itself verified, and stores the
    /// others as waiting.
    pub(super) fn turn(&mut self, progress: &mut LearningProgress, revision: Revision, trace: &Trace) {
        let Some(memory) = &trace.memory else { return };
        // Earlier turns first: this turn may make calls with equal ids.
        for waiting in progress.take_verified(trace, memory) {
            match &waiting.draft {
                AwaitedDraft::Lesson(draft) => self.learn(&waiting.scope, draft, waiting.evidence()),
                AwaitedDraft::Workflow(draft) => self.workflows.learn(&waiting.scope, draft, waiting.evidence()),
            }
        }
        for recalled in memory.lessons.iter().filter(|recalled| !recalled.again) {
            self.count(revision, trace, &memory.scope, recalled);
        }
        // Traces of earlier versions may hold drafts that are not isolated between clients.
        for draft in memory.drafts.iter().filter(|draft| draft.is_isolated()) {
            match draft.backing {
                Backing::Seen => self.learn(&memory.scope, draft, trace.evidence(draft.kind, trace.started_at)),
                Backing::Awaits(_) => {
                    progress.wait(trace, &memory.scope, AwaitedDraft::Lesson(draft.clone()), self.settings);
                }
                Backing::Verdict => {}
            }
        }
        self.expectations.extend(ToolExpectation::of_correction(trace, memory));
        self.workflows.count(revision, trace, memory, self.memory.lesson_store.settings());
        self.workflows.turn(progress, trace, memory, self.settings);
    }

    /// Applies feedback on a turn. It counts if it comes from an operator or from the client of the turn.
    pub(super) fn verdict(&mut self, progress: &mut LearningProgress, row: &FeedbackRow, trace: &Trace) {
        let (Some(kind), Some(memory)) = (row.counts_for(trace), &trace.memory) else { return };
        self.expectations.push(ToolExpectation::of(row, trace, memory, trace.evidence(kind, row.at)));
        match row.verdict {
            FeedbackVerdict::Right => self.confirm(memory, kind, row, trace),
            FeedbackVerdict::Wrong => {
                progress.refute(&trace.id);
                self.refute(memory, row, trace);
            }
        }
    }

    /// Learns the drafts of a turn that was judged right.
    fn confirm(&mut self, memory: &MemoryNote, kind: EvidenceKind, row: &FeedbackRow, trace: &Trace) {
        for draft in &memory.drafts {
            self.learn(&memory.scope, draft, trace.evidence(kind, row.at));
        }
        self.workflows.confirm(memory, trace, trace.evidence(kind, row.at));
    }

    /// Retires memory that rests only on a turn that was judged wrong.
    fn refute(&mut self, memory: &MemoryNote, row: &FeedbackRow, trace: &Trace) {
        let mut lessons = self.memory.lesson_store.in_scope(&memory.scope);
        lessons.retain(|lesson| rests_on(&lesson.evidence, &trace.id));
        let ids: BTreeSet<String> = lessons.iter().map(|lesson| lesson.id.clone()).collect();
        let new = self
            .lessons
            .values()
            .filter(|lesson| rests_on(&lesson.evidence, &trace.id))
            .map(|lesson| lesson.id.clone());
        for id in ids.into_iter().chain(new.collect::<Vec<_>>()) {
            let Some(mut lesson) = self.lesson(&memory.scope, &id) else { continue };
            let retired = without(&mut lesson.evidence, &trace.id, row, self.now);
            self.retire(&mut lesson.retired, retired);
            lesson.updated_at = self.now;
            self.lessons.insert(id, lesson);
        }
        self.workflows.refute(memory, row, trace);
    }

    fn retire(&mut self, retired: &mut Option<Retirement>, retirement: Option<Retirement>) {
        if retired.is_none() && retirement.is_some() {
            *retired = retirement;
            self.retired += 1;
        }
    }

    /// Returns the kinds of learned memory with the kinds of their evidence.
    pub(super) fn learned(&self) -> impl Iterator<Item = (MemoryKind, EvidenceKind)> {
        let lessons = self.learned.iter().map(|evidence| (MemoryKind::Lesson, *evidence));
        lessons.chain(self.workflows.learned.iter().map(|evidence| (MemoryKind::Procedure, *evidence)))
    }

    pub(super) fn retired(&self) -> impl Iterator<Item = MemoryKind> {
        let lessons = std::iter::repeat_n(MemoryKind::Lesson, self.retired);
        lessons.chain(std::iter::repeat_n(MemoryKind::Procedure, self.workflows.retired))
    }

    fn learn(&mut self, scope: &Scope, draft: &LessonDraft, evidence: Evidence) {
        let kind = evidence.kind;
        let settings = self.memory.lesson_store.settings();
        let stored = self.memory.lesson_store.similar(scope, draft);
        let unchanged = stored.iter().filter(|lesson| !self.lessons.contains_key(&lesson.id)).map(|lesson| &**lesson);
        let present = self.lessons.values().chain(unchanged);
        let learned = experience::learn(draft.clone(), evidence, scope, Author::Composed, present, self.now, settings);
        if let LearnOutcome::New(lesson) | LearnOutcome::Confirmed(lesson) = learned {
            self.learned.push(kind);
            self.lessons.insert(lesson.id.clone(), lesson);
        }
    }

    /// Counts the outcome of a turn for a recalled lesson, once.
    fn count(&mut self, revision: Revision, trace: &Trace, scope: &Scope, recalled: &Recalled) {
        let Some(mut lesson) = self.lesson(scope, &recalled.id) else { return };
        let Some(failed) = has_failed(trace, &lesson.tools).filter(|_| lesson.tally.counted < revision) else { return };
        let watched = ObservedTurn { chance: recalled.chance, withheld: recalled.withheld, failed };
        experience::observe(&mut lesson.tally, watched);
        lesson.tally.counted = revision;
        let retired = experience::retirement(&lesson.tally, self.memory.lesson_store.settings(), self.now);
        self.retire(&mut lesson.retired, retired);
        lesson.updated_at = self.now;
        self.lessons.insert(lesson.id.clone(), lesson);
    }

    /// Returns a lesson with the changes of this batch.
    fn lesson(&self, scope: &Scope, id: &str) -> Option<Lesson> {
        let changed = self.lessons.get(id).cloned();
        changed.or_else(|| self.memory.lesson_store.get(scope, id).map(|lesson| Lesson::clone(lesson)))
    }

    /// Returns the ids of lessons that exceed the limit of the changed scopes.
    pub(super) fn surplus(&self) -> Vec<String> {
        let scopes: BTreeSet<&Scope> = self.lessons.values().map(|lesson| &lesson.scope).collect();
        let surplus = scopes.into_iter().flat_map(|scope| {
            let stored = self.memory.lesson_store.in_scope(scope);
            let unchanged =
                stored.iter().filter(|lesson| !self.lessons.contains_key(&lesson.id)).map(|lesson| &**lesson);
            let changed = self.lessons.values().filter(|lesson| lesson.scope == *scope);
            experience::surplus(unchanged.chain(changed), self.memory.lesson_store.settings())
        });
        surplus.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experience::{LessonStore, StoredLesson};
    use crate::procedures::{self, ProcedureStore};
    use callwright_types::memory::{Polarity, Returned};
    use callwright_types::trace::{Attempt, sample};
    use callwright_types::{Call, ProcedureDraft, Purpose, Usage};

    fn draft(backing: Backing) -> LessonDraft {
        LessonDraft {
            kind: EvidenceKind::Mended,
            toolset: Some("rooms".to_owned()),
            tools: vec!["book".to_owned()],
            polarity: Polarity::Negative,
            key: "book, day, parameter missing".to_owned(),
            value: "`book` cannot be called without `day`.".to_owned(),
            client: None,
            backing,
        }
    }

    /// Turn of the client `a` in the session `s` that called `book`.
    fn turn(id: &str, change: impl FnOnce(&mut MemoryNote)) -> Trace {
        let mut memory = MemoryNote::of(Scope::of_key("a"));
        change(&mut memory);
        let call = Call { id: "1".to_owned(), name: "book".to_owned(), arguments: "{}".to_owned() };
        let attempt = Attempt::unjudged(Purpose::First, "u", "success", Usage::default(), 1.0);
        Trace {
            id: id.to_owned(),
            session: Some("s".to_owned()),
            tenant: "a".to_owned(),
            memory: Some(memory),
            attempts: vec![Attempt { calls: vec![call], ..attempt }],
            ..sample()
        }
    }

    fn row(trace: &str, source: &str, verdict: FeedbackVerdict) -> FeedbackRow {
        let (expected, comment) = Default::default();
        FeedbackRow {
            trace: trace.to_owned(),
            source: source.to_owned(),
            verdict,
            expected,
            comment,
            at: Timestamp::UNIX_EPOCH,
        }
    }

    fn memory_of(lessons: impl IntoIterator<Item = Lesson>) -> CachedMemory {
        let lesson_store =
            LessonStore::new(lessons.into_iter().map(StoredLesson::from), experience::Settings::default());
        let library = ProcedureStore::new([], procedures::Settings::default());
        CachedMemory { lesson_store: Arc::new(lesson_store), library: Arc::new(library), lessons: 0, procedures: 0 }
    }

    fn booking(backing: Backing) -> Option<ProcedureDraft> {
        let arguments = [("find_person", "name", "?"), ("book", "person_id", "step1/id")];
        Some(ProcedureDraft { backing, ..procedures::testing::draft("Books a room", &arguments) })
    }

    #[test]
    fn any_learner_learns_a_workflow_once_its_results_have_arrived() {
        let waits = turn("t1", |memory| memory.workflow = booking(Backing::Awaits(vec!["1".to_owned()])));
        let learned_after = |failed| {
            let returned = Returned { call: "1".to_owned(), tool: "book".to_owned(), failed };
            let back = turn("t2", |memory| memory.returned.push(returned));
            let (memory, settings) = (memory_of([]), Settings::default());
            let mut progress = LearningProgress::default();
            LearningBatch::new(&memory, &settings, Timestamp::UNIX_EPOCH).turn(&mut progress, 1, &waits);
            // Another process continues from the stored progress.
            let mut noted: LearningProgress = serde_json::from_str(&serde_json::to_string(&progress).unwrap()).unwrap();
            assert_eq!(noted, progress);
            let mut batch = LearningBatch::new(&memory, &settings, Timestamp::UNIX_EPOCH);
            batch.turn(&mut noted, 2, &back);
            let learned: Vec<_> = batch.learned().collect();
            assert_eq!(learned.len(), batch.workflows.changed().count());
            (batch.workflows.changed().next().cloned(), learned)
        };
        assert_eq!(learned_after(true).0, None);
        let (procedure, learned) = learned_after(false);
        assert_eq!(procedure.unwrap().evidence[0].trace.as_deref(), Some("t1"));
        assert_eq!(learned, [(MemoryKind::Procedure, EvidenceKind::Mended)]);
    }

    #[test]
    fn verdicts_make_and_retire_procedures() {
        let turn = turn("t1", |memory| memory.workflow = booking(Backing::Verdict));
        let (memory, settings) = (memory_of([]), Settings::default());
        let mut batch = LearningBatch::new(&memory, &settings, Timestamp::UNIX_EPOCH);
        let progress = &mut LearningProgress::default();
        batch.turn(progress, 1, &turn);
        assert_eq!(batch.workflows.changed().count(), 0);
        batch.verdict(progress, &row("t1", "key:a", FeedbackVerdict::Right), &turn);
        assert_eq!(batch.workflows.changed().next().unwrap().evidence[0].kind, EvidenceKind::Feedback);
        batch.verdict(progress, &row("t1", FeedbackRow::OPERATOR, FeedbackVerdict::Wrong), &turn);
        assert!(batch.workflows.changed().next().unwrap().retired.is_some());
        assert_eq!(batch.retired().collect::<Vec<_>>(), [MemoryKind::Procedure]);
    }

    /// Returns the lessons that a batch changed.
    fn run(memory: &CachedMemory, decide: impl FnOnce(&mut LearningBatch<'_>, &mut LearningProgress)) -> Vec<Lesson> {
        let settings = Settings::default();
        let mut batch = LearningBatch::new(memory, &settings, Timestamp::UNIX_EPOCH);
        decide(&mut batch, &mut LearningProgress::default());
        batch.lessons.into_values().collect()
    }

    fn learned_once() -> Lesson {
        let observed = turn("t1", |memory| memory.drafts.push(draft(Backing::Seen)));
        let [lesson] =
            <[Lesson; 1]>::try_from(run(&memory_of([]), |batch, progress| batch.turn(progress, 1, &observed))).unwrap();
        lesson
    }

    #[test]
    fn observed_successes_are_learned_once() {
        let lesson = learned_once();
        assert_eq!((lesson.scope.as_str(), lesson.evidence.len()), ("key:a", 1));
        let again = turn("t1", |memory| memory.drafts.push(draft(Backing::Seen)));
        assert!(run(&memory_of([lesson.clone()]), |batch, progress| batch.turn(progress, 1, &again)).is_empty());
        let other = turn("t2", |memory| memory.drafts.push(draft(Backing::Seen)));
        let confirmed = run(&memory_of([lesson.clone()]), |batch, progress| batch.turn(progress, 2, &other));
        assert_eq!((confirmed[0].id.as_str(), confirmed[0].evidence.len()), (lesson.id.as_str(), 2));
    }

    #[test]
    fn unverified_drafts_are_not_learned() {
        let waits = turn("t1", |memory| {
            memory.drafts.push(draft(Backing::Awaits(vec!["1".to_owned()])));
            memory.drafts.push(draft(Backing::Verdict));
        });
        assert!(run(&memory_of([]), |batch, progress| batch.turn(progress, 1, &waits)).is_empty());
        let learned_after = |failed| {
            let returned = Returned { call: "1".to_owned(), tool: "book".to_owned(), failed };
            let back = turn("t2", |memory| memory.returned.push(returned));
            run(&memory_of([]), |batch, progress| {
                batch.turn(progress, 1, &waits);
                batch.turn(progress, 2, &back);
            })
        };
        assert!(learned_after(true).is_empty());
        assert_eq!(learned_after(false)[0].evidence[0].trace.as_deref(), Some("t1"));
    }

    #[test]
    fn a_verdict_counts_from_the_client_or_an_operator() {
        let unverified = turn("t1", |memory| memory.drafts.push(draft(Backing::Verdict)));
        let after = |source: &str| {
            let row = row("t1", source, FeedbackVerdict::Right);
            let learned = run(&memory_of([]), |batch, progress| batch.verdict(progress, &row, &unverified));
            learned.first().map(|lesson| lesson.evidence[0].kind)
        };
        assert_eq!(after("key:b"), None);
        assert_eq!(after("key:a"), Some(EvidenceKind::Feedback));
        assert_eq!(after(FeedbackRow::OPERATOR), Some(EvidenceKind::Operator));
    }

    #[test]
    fn a_refuted_turn_is_no_evidence_and_retires_unproven_memory() {
        let (lesson, turn) = (learned_once(), turn("t1", |_| {}));
        let wrong = row("t1", "key:a", FeedbackVerdict::Wrong);
        let retired = run(&memory_of([lesson.clone()]), |batch, progress| batch.verdict(progress, &wrong, &turn));
        assert!(retired[0].retired.as_ref().unwrap().reason.contains("t1"), "{retired:?}");
        let mut twice = lesson;
        twice.evidence.push(Evidence { trace: Some("t2".to_owned()), ..twice.evidence[0].clone() });
        let left = run(&memory_of([twice]), |batch, progress| batch.verdict(progress, &wrong, &turn));
        assert_eq!((left[0].evidence.len(), &left[0].retired), (1, &None));
    }

    #[test]
    fn a_turn_with_a_recalled_lesson_is_counted_once() {
        let lesson = learned_once();
        let recalling = |again| {
            let recalled = Recalled { id: lesson.id.clone(), again, withheld: false, chance: 0.8 };
            turn("t2", |memory| memory.lessons.push(recalled))
        };
        let counted = run(&memory_of([lesson.clone()]), |batch, progress| {
            batch.turn(progress, 7, &recalling(false));
            batch.turn(progress, 7, &recalling(false));
            batch.turn(progress, 8, &recalling(true));
        });
        assert_eq!((counted[0].tally.uses, counted[0].tally.helped, counted[0].tally.counted), (1, 1, 7));
        // A turn without such a call is no evidence.
        let idle = Trace { attempts: Vec::new(), ..recalling(false) };
        assert!(run(&memory_of([lesson]), |batch, progress| batch.turn(progress, 7, &idle)).is_empty());
    }
}
