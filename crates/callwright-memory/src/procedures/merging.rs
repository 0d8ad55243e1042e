//! Merges verified drafts with existing procedures.

use std::collections::HashSet;
use std::sync::Arc;

use jiff::Timestamp;

use super::Settings;
use crate::memory::LearnOutcome;
use callwright_types::plan::{Plan, Source};
use callwright_types::{Evidence, Procedure, ProcedureDraft, Scope, UsageCounter, ids};

/// Merges a verified draft with the procedures of its scope.
///
/// A draft matches a procedure if toolsets, tools (a client's own tools by fingerprint) and goals are equal, and at
/// least the share [`Settings::near_duplicate`] of all arguments has the same sources. The existing procedure only
/// changes its evidence, of which the latest is kept.
pub fn merge_draft<'a>(
    existing: impl IntoIterator<Item = &'a Arc<Procedure>>,
    draft: &ProcedureDraft,
    evidence: Evidence,
    scope: &Scope,
    now: Timestamp,
    settings: &Settings,
) -> LearnOutcome<Procedure> {
    let candidates = existing.into_iter().filter(|procedure| procedure.scope == *scope).map(|procedure| {
        let is_same = procedure.toolsets == draft.toolsets && procedure.client_tools == draft.client_tools;
        let similarity = if is_same { plan_similarity(&procedure.plan, &draft.plan) } else { 0.0 };
        (similarity, procedure)
    });
    let near = candidates.filter(|(similarity, _)| *similarity > 0.0 && *similarity >= settings.near_duplicate);
    match near.max_by(|(one, _), (other, _)| one.total_cmp(other)) {
        Some((_, procedure)) if procedure.evidence.iter().any(|existing| existing.is_same_event(&evidence)) => {
            LearnOutcome::Unchanged
        }
        Some((_, procedure)) => {
            let mut procedure = Procedure::clone(procedure);
            procedure.evidence.push(evidence);
            let surplus = procedure.evidence.len().saturating_sub(settings.max_evidence.max(1));
            procedure.evidence.drain(..surplus);
            procedure.updated_at = now;
            LearnOutcome::Confirmed(procedure)
        }
        None => LearnOutcome::New(Procedure {
            id: ids::procedure_id(now),
            scope: scope.clone(),
            toolsets: draft.toolsets.clone(),
            client_tools: draft.client_tools.clone(),
            input: draft.input.clone(),
            output: draft.output.clone(),
            steps: draft.steps.clone(),
            plan: draft.plan.clone(),
            evidence: vec![evidence],
            tally: UsageCounter::default(),
            retired: None,
            created_at: now,
            updated_at: now,
        }),
    }
}

/// Returns the similarity of two plans, 0 to 1: the Jaccard index of their argument sources. Plans with different calls
/// or goals have 0.
fn plan_similarity(one: &Plan, other: &Plan) -> f64 {
    let (tools, others) = (one.nodes().iter().map(|node| &node.tool), other.nodes().iter().map(|node| &node.tool));
    if !tools.eq(others) || goals(one) != goals(other) {
        return 0.0;
    }
    let (one, other) = (sources(one), sources(other));
    let all = one.union(&other).count();
    if all == 0 { 1.0 } else { one.intersection(&other).count() as f64 / all as f64 }
}

/// Returns the positions of the goals.
fn goals(plan: &Plan) -> Vec<Option<usize>> {
    plan.finals().iter().map(|label| plan.nodes().iter().position(|node| node.label == *label)).collect()
}

/// Returns the source of each argument, independent of the labels of calls.
fn sources(plan: &Plan) -> HashSet<String> {
    let mut sources = HashSet::new();
    for (node, number) in plan.nodes().iter().zip(1..) {
        for argument in &node.arguments {
            let source = argument.source.clone().relabelled(|label| {
                let position = plan.nodes().iter().position(|node| node.label == label);
                format!("n{}", position.map_or(0, |position| position + 1))
            });
            let text = match &source {
                // Questions are names of inputs and add no information to the parameter.
                Source::Missing { .. } => "?".to_owned(),
                source => source.written().to_string(),
            };
            sources.insert(format!("{number} {} {text}", argument.name));
        }
    }
    sources
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::procedures::testing::{draft, evidence};
    use callwright_types::memory::EvidenceKind;

    const EDGES: [(&str, &str, &str); 3] =
        [("find_person", "name", "?"), ("book_room", "person_id", "step1/id"), ("book_room", "day", "?")];

    fn merged(
        existing: &[Arc<Procedure>],
        edges: &[(&str, &str, &str)],
        trace: &str,
        scope: &str,
    ) -> LearnOutcome<Procedure> {
        let (draft, evidence) = (draft("Books a room", edges), evidence(EvidenceKind::Mended, trace));
        let (scope, now) = (Scope::of_group(scope), Timestamp::from_second(100).unwrap());
        merge_draft(existing, &draft, evidence, &scope, now, &Settings::default())
    }

    fn new(merged: LearnOutcome<Procedure>) -> Arc<Procedure> {
        let LearnOutcome::New(procedure) = merged else { panic!("{merged:?}") };
        Arc::new(procedure)
    }

    #[test]
    fn repeated_drafts_add_evidence_to_one_procedure() {
        let existing = [new(merged(&[], &EDGES, "t1", "a"))];
        let LearnOutcome::Confirmed(updated) = merged(&existing, &EDGES, "t2", "a") else { panic!() };
        assert_eq!((updated.id.as_str(), updated.evidence.len()), (existing[0].id.as_str(), 2));
        assert_eq!(merged(&[Arc::new(updated)], &EDGES, "t2", "a"), LearnOutcome::Unchanged);
    }

    #[test]
    fn one_more_argument_is_a_near_duplicate_another_source_is_not() {
        let existing = [new(merged(&[], &EDGES, "t1", "a"))];
        let extended = [EDGES.as_slice(), &[("book_room", "guests", "?")]].concat();
        assert!(matches!(merged(&existing, &extended, "t2", "a"), LearnOutcome::Confirmed(_)));
        let other = [EDGES[0], ("book_room", "person_id", "step1/key"), ("book_room", "day", "step1/day")];
        assert!(matches!(merged(&existing, &other, "t2", "a"), LearnOutcome::New(_)));
        let other_tool = [EDGES[0], ("cancel_room", "person_id", "step1/id"), ("cancel_room", "day", "?")];
        assert!(matches!(merged(&existing, &other_tool, "t2", "a"), LearnOutcome::New(_)));
    }

    #[test]
    fn procedures_of_other_scopes_are_not_merged() {
        let existing = [new(merged(&[], &EDGES, "t1", "a"))];
        assert_eq!(new(merged(&existing, &EDGES, "t1", "b")).scope, Scope::of_group("b"));
    }

    #[test]
    fn latest_evidence_is_kept() {
        let mut existing = new(merged(&[], &EDGES, "t0", "a"));
        let settings = Settings { max_evidence: 3, ..Settings::default() };
        for number in 1..6 {
            let (draft, evidence) = (draft("x", &EDGES), evidence(EvidenceKind::Mended, &format!("t{number}")));
            let merged = merge_draft([&existing], &draft, evidence, &existing.scope, Timestamp::UNIX_EPOCH, &settings);
            let LearnOutcome::Confirmed(changed) = merged else { panic!() };
            existing = Arc::new(changed);
        }
        let traces: Vec<&str> = existing.evidence.iter().filter_map(|one| one.trace.as_deref()).collect();
        assert_eq!(traces, ["t3", "t4", "t5"]);
    }
}
