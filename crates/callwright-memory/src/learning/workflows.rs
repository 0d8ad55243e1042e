//! Learns procedures from verified workflows. Both the job and the command use only this module.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;

use super::Settings;
use super::progress::{AwaitedDraft, LearningProgress};
use super::verdicts::{has_failed, rests_on, without};
use crate::experience::{self, ObservedTurn, observe, retirement};
use crate::memory::LearnOutcome;
use crate::procedures::{ProcedureStore, merge_draft};
use callwright_store::{FeedbackRow, Revision};
use callwright_types::memory::Backing;
use callwright_types::{Evidence, EvidenceKind, MemoryNote, PlanResult, Procedure, ProcedureDraft, Scope, Trace};

/// Stored procedures and their changes.
#[derive(Debug)]
pub(super) struct Workflows {
    library: Arc<ProcedureStore>,
    now: Timestamp,
    /// New and changed procedures, by id.
    changed: BTreeMap<String, Arc<Procedure>>,
    /// Kinds of evidence of procedures that are new or have more evidence.
    pub(super) learned: Vec<EvidenceKind>,
    /// Number of retired procedures.
    pub(super) retired: usize,
}

impl Workflows {
    /// Creates an empty set of changes.
    pub(super) fn new(library: Arc<ProcedureStore>, now: Timestamp) -> Self {
        let (changed, learned, retired) = Default::default();
        Self { library, now, changed, learned, retired }
    }

    /// Learns the workflow of a turn that the turn itself verified, and stores one that waits for client calls. Returns
    /// `true` if the workflow is verified.
    pub(super) fn turn(
        &mut self,
        progress: &mut LearningProgress,
        trace: &Trace,
        memory: &MemoryNote,
        settings: &Settings,
    ) -> bool {
        let Some(workflow) = isolated(memory, trace) else { return false };
        let is_verified = workflow.backing == Backing::Seen;
        match workflow.backing {
            Backing::Seen => {
                self.learn(&memory.scope, &workflow, trace.evidence(EvidenceKind::Mended, trace.started_at));
            }
            Backing::Awaits(_) => {
                progress.wait(trace, &memory.scope, AwaitedDraft::Workflow(workflow), settings);
            }
            Backing::Verdict => {}
        }
        is_verified
    }

    /// Counts the outcome of a turn for its recalled procedures, once, and retires harmful ones.
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
            let watched = ObservedTurn { chance: found.chance, withheld: found.withheld, failed };
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

    /// Learns the workflow of a turn that was judged right. Returns `true` if it may be learned.
    pub(super) fn confirm(&mut self, memory: &MemoryNote, trace: &Trace, evidence: Evidence) -> bool {
        let workflow = isolated(memory, trace);
        workflow.iter().for_each(|workflow| self.learn(&memory.scope, workflow, evidence.clone()));
        workflow.is_some()
    }

    /// Retires procedures that rest only on a turn that was judged wrong.
    pub(super) fn refute(&mut self, memory: &MemoryNote, row: &FeedbackRow, trace: &Trace) {
        let all = self.library.in_scope(&memory.scope).chain(self.changed.values());
        let resting = all.filter(|procedure| rests_on(&procedure.evidence, &trace.id));
        let ids: BTreeSet<String> = resting.map(|procedure| procedure.id.clone()).collect();
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

    /// Learns a verified draft as a new procedure, or adds its evidence to a known one. A draft without information on
    /// the owners of its tools is skipped.
    pub(super) fn learn(&mut self, scope: &Scope, draft: &ProcedureDraft, evidence: Evidence) {
        if draft.client_tools.is_none() {
            return;
        }
        let kind = evidence.kind;
        let unchanged = self.library.in_scope(scope).filter(|known| !self.changed.contains_key(&known.id));
        let known = unchanged.chain(self.changed.values());
        let joined = merge_draft(known, draft, evidence, scope, self.now, self.library.settings());
        if let LearnOutcome::New(procedure) | LearnOutcome::Confirmed(procedure) = joined {
            self.learned.push(kind);
            self.change(procedure);
        }
    }

    pub(super) fn changed(&self) -> impl Iterator<Item = &Procedure> {
        self.changed.values().map(|procedure| &**procedure)
    }

    /// Returns the number of new procedures.
    pub(super) fn new_ones(&self) -> usize {
        self.changed().filter(|procedure| self.library.get(&procedure.scope, &procedure.id).is_none()).count()
    }

    /// Returns a procedure with the changes of this batch.
    fn procedure(&self, scope: &Scope, id: &str) -> Option<Procedure> {
        let known = self.changed.get(id).or_else(|| self.library.get(scope, id));
        known.filter(|procedure| procedure.scope == *scope).map(|procedure| Procedure::clone(procedure))
    }

    fn change(&mut self, mut procedure: Procedure) {
        procedure.updated_at = self.now;
        self.changed.insert(procedure.id.clone(), Arc::new(procedure));
    }
}

/// Returns the procedure draft of a turn; `None` if it may contain texts of a client's own tools. That applies to
/// drafts of earlier versions, which lack the owners of their tools, unless the proxy executed a call of each tool in
/// this turn.
fn isolated(memory: &MemoryNote, trace: &Trace) -> Option<ProcedureDraft> {
    let draft = memory.workflow.clone()?;
    if draft.client_tools.is_some() {
        return Some(draft);
    }
    let run: BTreeSet<&str> = trace.executions.iter().map(|execution| execution.call.name.as_str()).collect();
    let are_run = draft.plan.nodes().iter().all(|node| run.contains(node.tool.as_str()));
    are_run.then(|| ProcedureDraft { client_tools: Some(Vec::new()), ..draft })
}

/// Whether a call of the procedure's tools was faulty or failed, or the plan of the turn was abandoned. `None` if none
/// of them was called: the turn is no evidence then.
fn missed(trace: &Trace, procedure: &Procedure) -> Option<bool> {
    let tools: Vec<String> = procedure.plan.nodes().iter().map(|node| node.tool.clone()).collect();
    // Calls of a plan are not part of a model's answer.
    let planned = trace.plan.iter().flat_map(|plan| &plan.steps).flat_map(|step| &step.calls);
    let ran = trace.executions.iter().map(|execution| &execution.call);
    let is_called = planned.chain(ran).any(|call| tools.contains(&call.name));
    if trace.plan.as_ref().is_some_and(|plan| plan.result == PlanResult::GivenUp) {
        return Some(true);
    }
    has_failed(trace, &tools).or_else(|| is_called.then_some(false))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experience::draw;
    use crate::procedures::testing::{procedure, stored};
    use crate::procedures::{self, ProcedureStore};
    use callwright_types::memory::Recalled;
    use callwright_types::trace::{Execution, sample};
    use callwright_types::{Call, PlanNote};

    /// Turn that recalled a procedure, whose calls of `book_room` got these statuses.
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
                reason: None,
                remedy: None,
                status: Some(*status),
                body,
                approval,
                explanation,
                credential,
                doubt: None,
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
        let library = ProcedureStore::new([stored(&known)], procedures::Settings::default());
        (Workflows::new(Arc::new(library), Timestamp::UNIX_EPOCH), known.id.clone())
    }

    fn found(id: &str, withheld: bool) -> Recalled {
        Recalled { id: id.to_owned(), again: false, withheld, chance: 0.8 }
    }

    fn count(workflows: &mut Workflows, revision: Revision, trace: &Trace) {
        workflows.count(revision, trace, trace.memory.as_ref().unwrap(), &experience::Settings::default());
    }

    #[test]
    fn turns_count_once_by_the_outcome_of_the_procedures_calls() {
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
    fn only_harmful_procedures_are_retired() {
        for (harms, expected) in [(true, 1), (false, 0)] {
            let (mut workflows, id) = workflows();
            let mut random = fastrand::Rng::with_seed(7);
            for revision in 1..=400 {
                let tally = workflows.changed().next().map(|procedure| procedure.tally).unwrap_or_default();
                let (withheld, chance) = draw(&experience::Settings::default(), &tally, &mut random);
                let status = if harms && !withheld { 422 } else { 201 };
                count(&mut workflows, revision, &turn(Recalled { chance, ..found(&id, withheld) }, &[status]));
            }
            assert_eq!(workflows.retired, expected);
            let procedure = workflows.changed().next().unwrap();
            assert_eq!(procedure.retired.is_some(), harms, "{:?}", procedure.tally);
        }
    }
}
