//! Verified workflows → procedures. The job and the verb learn by this alone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;

use super::Settings;
use super::batch::went_wrong;
use super::progress::{Awaited, Progress};
use super::verdicts::without;
use callwright_knowledge::experience::{self, Watched, observe, retirement};
use callwright_knowledge::procedures::{Joined, Library, join};
use callwright_store::{FeedbackRow, Revision};
use callwright_types::memory::Backing;
use callwright_types::{Evidence, EvidenceKind, MemoryNote, PlanResult, Procedure, ProcedureDraft, Scope, Trace};

/// What is known of procedures, and what of it changes.
#[derive(Debug)]
pub(super) struct Workflows {
    library: Arc<Library>,
    now: Timestamp,
    /// Procedures that are new or other than before, by id.
    changed: BTreeMap<String, Arc<Procedure>>,
    /// What verified those that were learned, or that rest on more now.
    pub(super) learned: Vec<EvidenceKind>,
    /// How many were given up.
    pub(super) retired: usize,
}

impl Workflows {
    /// Nothing learned yet.
    pub(super) fn new(library: Arc<Library>, now: Timestamp) -> Self {
        let (changed, learned, retired) = Default::default();
        Self { library, now, changed, learned, retired }
    }

    /// Takes over what a turn saw work, and lets wait what its client has to come back from. `true`: something verified its workflow.
    pub(super) fn turn(
        &mut self,
        progress: &mut Progress,
        trace: &Trace,
        memory: &MemoryNote,
        settings: &Settings,
    ) -> bool {
        let Some(workflow) = isolated(memory, trace) else { return false };
        let is_seen = workflow.backing == Backing::Seen;
        match workflow.backing {
            Backing::Seen => {
                self.learn(&memory.scope, &workflow, Evidence::of_turn(EvidenceKind::Mended, trace, trace.started_at));
            }
            Backing::Awaits(_) => {
                progress.wait(trace, &memory.scope, Awaited::Workflow(workflow), settings);
            }
            Backing::Verdict => {}
        }
        is_seen
    }

    /// Counts what became of a turn that procedures were found for, once, and gives up those that do harm.
    pub(super) fn count(
        &mut self,
        revision: Revision,
        trace: &Trace,
        memory: &MemoryNote,
        settings: &experience::Settings,
    ) {
        for found in memory.procedures.iter().filter(|found| !found.again) {
            let Some(mut procedure) = self.procedure(&memory.scope, &found.id) else { continue };
            let failed = missed(trace, &procedure).filter(|_| procedure.tally.counted < revision);
            let Some(failed) = failed else { continue };
            let watched = Watched { chance: found.chance, withheld: found.withheld, failed };
            observe(&mut procedure.tally, watched);
            procedure.tally.counted = revision;
            let retirement = retirement(&procedure.tally, settings, self.now);
            if procedure.retired.is_none() && retirement.is_some() {
                procedure.retired = retirement;
                self.retired += 1;
            }
            self.change(procedure);
        }
    }

    /// Somebody says that the turn was right. `true`: its workflow may be learned.
    pub(super) fn confirm(&mut self, memory: &MemoryNote, trace: &Trace, evidence: Evidence) -> bool {
        let workflow = isolated(memory, trace);
        workflow.iter().for_each(|workflow| self.learn(&memory.scope, workflow, evidence.clone()));
        workflow.is_some()
    }

    /// The turn was wrong: what rests on it alone is not used any more.
    pub(super) fn refute(&mut self, memory: &MemoryNote, row: &FeedbackRow, trace: &Trace) {
        let rests_on = |procedure: &&Arc<Procedure>| {
            procedure.evidence.iter().any(|event| event.trace.as_deref() == Some(&trace.id))
        };
        let all = self.library.of_scope(&memory.scope).chain(self.changed.values());
        let ids: BTreeSet<String> = all.filter(rests_on).map(|procedure| procedure.id.clone()).collect();
        for id in ids {
            let Some(mut procedure) = self.procedure(&memory.scope, &id) else { continue };
            let retirement = without(&mut procedure.evidence, &trace.id, row, self.now);
            if procedure.retired.is_none() && retirement.is_some() {
                procedure.retired = retirement;
                self.retired += 1;
            }
            self.change(procedure);
        }
    }

    /// Makes a procedure of a draft that was verified, or has a known one rest on more. A draft that does not tell whose tools it has is not
    /// learned.
    pub(super) fn learn(&mut self, scope: &Scope, draft: &ProcedureDraft, evidence: Evidence) {
        if draft.client_tools.is_none() {
            return;
        }
        let kind = evidence.kind;
        let unchanged = self.library.of_scope(scope).filter(|known| !self.changed.contains_key(&known.id));
        let known = unchanged.chain(self.changed.values());
        let joined = join(known, (draft, evidence), scope, self.now, self.library.settings());
        if let Joined::New(procedure) | Joined::Changed(procedure) = joined {
            self.learned.push(kind);
            self.change(procedure);
        }
    }

    /// The procedures that are new or other than before.
    pub(super) fn changed(&self) -> impl Iterator<Item = &Procedure> {
        self.changed.values().map(|procedure| &**procedure)
    }

    /// How many of them are new.
    pub(super) fn new_ones(&self) -> usize {
        self.changed().filter(|procedure| self.library.get(&procedure.scope, &procedure.id).is_none()).count()
    }

    /// A procedure as it stands now.
    fn procedure(&self, scope: &Scope, id: &str) -> Option<Procedure> {
        let known = self.changed.get(id).or_else(|| self.library.get(scope, id));
        known.filter(|procedure| procedure.scope == *scope).map(|procedure| Procedure::clone(procedure))
    }

    fn change(&mut self, mut procedure: Procedure) {
        procedure.updated_at = self.now;
        self.changed.insert(procedure.id.clone(), Arc::new(procedure));
    }
}

/// The draft of a procedure that a turn has; `None` where it may hold texts of a client's own tools: that is so of those of earlier versions, which did not tell
/// whose tools they are, unless the proxy ran a call of each tool in this very turn.
fn isolated(memory: &MemoryNote, trace: &Trace) -> Option<ProcedureDraft> {
    let draft = memory.workflow.clone()?;
    if draft.client_tools.is_some() {
        return Some(draft);
    }
    let is_run = |tool: &str| trace.executions.iter().any(|execution| execution.call.name == tool);
    let are_run = draft.plan.nodes().iter().all(|node| is_run(&node.tool));
    are_run.then(|| ProcedureDraft { client_tools: Some(Vec::new()), ..draft })
}

/// Did a call of a procedure's tools have a fault or fail, or was the turn's plan given up? `None` where none of them was called: the turn
/// says nothing then.
fn missed(trace: &Trace, procedure: &Procedure) -> Option<bool> {
    let tools: Vec<String> = procedure.plan.nodes().iter().map(|node| node.tool.clone()).collect();
    let is_of = |name: &String| tools.contains(name);
    // Calls of a plan are in no answer of a model.
    let planned = trace.plan.iter().flat_map(|plan| &plan.steps).flat_map(|step| &step.calls);
    let ran = trace.executions.iter().map(|execution| &execution.call);
    let is_called = planned.chain(ran).any(|call| is_of(&call.name));
    if trace.plan.as_ref().is_some_and(|plan| plan.result == PlanResult::GivenUp) {
        return Some(true);
    }
    went_wrong(trace, &tools).or_else(|| is_called.then_some(false))
}

#[cfg(test)]
mod tests {
    use super::*;
    use callwright_knowledge::experience::draw;
    use callwright_knowledge::procedures::testing::{procedure, shelved};
    use callwright_knowledge::procedures::{self, Library};
    use callwright_types::memory::Recalled;
    use callwright_types::trace::{Execution, sample};
    use callwright_types::{Call, PlanNote};

    /// A turn that a procedure was found for, whose calls of `book_room` the API answered so.
    fn turn(recalled: Recalled, statuses: &[u16]) -> Trace {
        let run = |status: &u16| {
            let call = Call { id: "1".to_owned(), name: "book_room".to_owned(), arguments: "{}".to_owned() };
            let (toolset, operation, outcome) = Default::default();
            let (body, approval, explanation, credential) = Default::default();
            let (started_ms, duration_ms) = (0.0, 1.0);
            Execution {
                call,
                toolset,
                operation,
                outcome,
                status: Some(*status),
                body,
                approval,
                explanation,
                credential,
                started_ms,
                duration_ms,
            }
        };
        let executions = statuses.iter().map(run).collect();
        let memory = MemoryNote { procedures: vec![recalled], ..MemoryNote::of(Scope::of_group("a")) };
        Trace { memory: Some(memory), executions, ..sample() }
    }

    fn workflows() -> (Workflows, String) {
        let known =
            procedure("a", "Books a room", &[("find_person", "name", "?"), ("book_room", "person_id", "step1/id")]);
        let library = Library::of([shelved(&known)], procedures::Settings::default());
        (Workflows::new(Arc::new(library), Timestamp::UNIX_EPOCH), known.id.clone())
    }

    fn found(id: &str, withheld: bool) -> Recalled {
        Recalled { id: id.to_owned(), again: false, withheld, chance: 0.8 }
    }

    fn count(workflows: &mut Workflows, revision: Revision, trace: &Trace) {
        workflows.count(revision, trace, trace.memory.as_ref().unwrap(), &experience::Settings::default());
    }

    #[test]
    fn turns_are_counted_once_by_what_became_of_the_procedure_s_calls() {
        let (mut workflows, id) = workflows();
        count(&mut workflows, 1, &turn(found(&id, false), &[200]));
        count(&mut workflows, 1, &turn(found(&id, false), &[200]));
        count(&mut workflows, 2, &turn(found(&id, false), &[200, 409]));
        count(&mut workflows, 3, &turn(found(&id, true), &[500]));
        count(&mut workflows, 4, &turn(Recalled { again: true, ..found(&id, false) }, &[200]));
        let idle = turn(found(&id, false), &[]);
        count(&mut workflows, 5, &idle);
        let plan: PlanNote = serde_json::from_value(serde_json::json!({"result": "given_up"})).unwrap();
        count(&mut workflows, 6, &Trace { plan: Some(plan), ..idle });
        let tally = workflows.changed().next().unwrap().tally;
        assert_eq!((tally.uses, tally.helped, tally.hurt), (3, 1, 2));
        assert_eq!((tally.withheld, tally.withheld_hurt, tally.counted), (1, 1, 6));
    }

    #[test]
    fn a_procedure_that_does_harm_is_given_up_and_one_that_does_none_is_not() {
        for (harms, expected) in [(true, 1), (false, 0)] {
            let (mut workflows, id) = workflows();
            let mut random = fastrand::Rng::with_seed(7);
            for revision in 1..=400 {
                let (withheld, chance) = draw(&experience::Settings::default(), &mut random);
                let status = if harms && !withheld { 422 } else { 201 };
                count(&mut workflows, revision, &turn(Recalled { chance, ..found(&id, withheld) }, &[status]));
            }
            assert_eq!(workflows.retired, expected);
            let procedure = workflows.changed().next().unwrap();
            assert_eq!(procedure.retired.is_some(), harms, "{:?}", procedure.tally);
        }
    }
}
