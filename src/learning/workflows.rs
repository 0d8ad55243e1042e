//! Verified workflows → procedures. The job and the verb learn by this alone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;

use super::Settings;
use super::progress::{Awaited, Progress};
use super::verdicts::without;
use crate::domain::memory::Backing;
use crate::domain::{Evidence, EvidenceKind, MemoryNote, Procedure, ProcedureDraft, Scope, Trace};
use crate::procedures::{Joined, Library, join};
use crate::store::FeedbackRow;

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
        let Some(workflow) = &memory.workflow else { return false };
        match workflow.backing {
            Backing::Seen => {
                self.learn(&memory.scope, workflow, Evidence::of_turn(EvidenceKind::Mended, trace, trace.started_at));
            }
            Backing::Awaits(_) => {
                progress.wait(trace, &memory.scope, Awaited::Workflow(workflow.clone()), settings);
            }
            Backing::Verdict => {}
        }
        workflow.backing == Backing::Seen
    }

    /// Somebody says that the turn was right.
    pub(super) fn confirm(&mut self, memory: &MemoryNote, evidence: Evidence) {
        if let Some(workflow) = &memory.workflow {
            self.learn(&memory.scope, workflow, evidence);
        }
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

    /// Makes a procedure of a draft that was verified, or has a known one rest on more.
    pub(super) fn learn(&mut self, scope: &Scope, draft: &ProcedureDraft, evidence: Evidence) {
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
