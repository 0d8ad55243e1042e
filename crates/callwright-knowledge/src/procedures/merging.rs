//! Merges verified drafts with known procedures.

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
/// least the share [`Settings::near_duplicate`] of all arguments has the same sources. The known procedure only changes
/// its evidence, of which the latest is kept.
pub fn join<'a>(
    known: impl IntoIterator<Item = &'a Arc<Procedure>>,
    (draft, evidence): (&ProcedureDraft, Evidence),
    scope: &Scope,
    now: Timestamp,
    settings: &Settings,
) -> LearnOutcome<Procedure> {
    let alike = known.into_iter().filter(|procedure| procedure.scope == *scope).map(|procedure| {
        let is_same = procedure.toolsets == draft.toolsets && procedure.client_tools == draft.client_tools;
        let alike = if is_same { likeness(&procedure.plan, &draft.plan) } else { 0.0 };
        (alike, procedure)
    });
    let nearest = alike.filter(|(alike, _)| *alike > 0.0 && *alike >= settings.near_duplicate);
    match nearest.max_by(|(one, _), (other, _)| one.total_cmp(other)) {
        Some((_, procedure)) if procedure.evidence.iter().any(|known| known.is_same_event(&evidence)) => {
            LearnOutcome::Known
        }
        Some((_, procedure)) => {
            let mut procedure = Procedure::clone(procedure);
            procedure.evidence.push(evidence);
            let more = procedure.evidence.len().saturating_sub(settings.max_evidence.max(1));
            procedure.evidence.drain(..more);
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
pub fn likeness(one: &Plan, other: &Plan) -> f64 {
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
            let told = match &source {
                // Questions are names of inputs and add no information to the parameter.
                Source::Missing { .. } => "?".to_owned(),
                source => source.written().to_string(),
            };
            sources.insert(format!("{number} {} {told}", argument.name));
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

    fn joined(
        known: &[Arc<Procedure>],
        edges: &[(&str, &str, &str)],
        trace: &str,
        scope: &str,
    ) -> LearnOutcome<Procedure> {
        let (draft, evidence) = (draft("Books a room", edges), evidence(EvidenceKind::Mended, trace));
        let (scope, now) = (Scope::of_group(scope), Timestamp::from_second(100).unwrap());
        join(known, (&draft, evidence), &scope, now, &Settings::default())
    }

    fn new(joined: LearnOutcome<Procedure>) -> Arc<Procedure> {
        let LearnOutcome::New(procedure) = joined else { panic!("{joined:?}") };
        Arc::new(procedure)
    }

    #[test]
    fn what_is_learned_again_is_one_procedure_that_rests_on_more() {
        let known = [new(joined(&[], &EDGES, "t1", "a"))];
        let LearnOutcome::Confirmed(more) = joined(&known, &EDGES, "t2", "a") else { panic!() };
        assert_eq!((more.id.as_str(), more.evidence.len()), (known[0].id.as_str(), 2));
        assert_eq!(joined(&[Arc::new(more)], &EDGES, "t2", "a"), LearnOutcome::Known);
    }

    #[test]
    fn an_argument_more_is_a_near_duplicate_and_another_source_of_most_is_none() {
        let known = [new(joined(&[], &EDGES, "t1", "a"))];
        let more = [EDGES.as_slice(), &[("book_room", "guests", "?")]].concat();
        assert!(matches!(joined(&known, &more, "t2", "a"), LearnOutcome::Confirmed(_)));
        let other = [EDGES[0], ("book_room", "person_id", "step1/key"), ("book_room", "day", "step1/day")];
        assert!(matches!(joined(&known, &other, "t2", "a"), LearnOutcome::New(_)));
        let other_tool = [EDGES[0], ("cancel_room", "person_id", "step1/id"), ("cancel_room", "day", "?")];
        assert!(matches!(joined(&known, &other_tool, "t2", "a"), LearnOutcome::New(_)));
    }

    #[test]
    fn what_another_scope_learned_is_its_own() {
        let known = [new(joined(&[], &EDGES, "t1", "a"))];
        assert_eq!(new(joined(&known, &EDGES, "t1", "b")).scope, Scope::of_group("b"));
    }

    #[test]
    fn of_much_evidence_the_latest_is_kept() {
        let mut known = new(joined(&[], &EDGES, "t0", "a"));
        let settings = Settings { max_evidence: 3, ..Settings::default() };
        for number in 1..6 {
            let found = (&draft("x", &EDGES), evidence(EvidenceKind::Mended, &format!("t{number}")));
            let joined = join([&known], found, &known.scope, Timestamp::UNIX_EPOCH, &settings);
            let LearnOutcome::Confirmed(changed) = joined else { panic!() };
            known = Arc::new(changed);
        }
        let traces: Vec<&str> = known.evidence.iter().filter_map(|one| one.trace.as_deref()).collect();
        assert_eq!(traces, ["t3", "t4", "t5"]);
    }
}
