//! Chooses between several procedures that fit a request equally well.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use callwright_types::Procedure;
use callwright_types::plan::Source;

/// Returns the procedure to follow among equally fitting ones, which are in the order of learning and have to pass
/// `is_usable`. All have to produce the same result. The inputs of the chosen one are a subset of the inputs of every
/// other one. Among those, the one with the best record wins, then the oldest. `None` if results differ or no input set
/// is minimal: then a model has to decide from the request.
pub(super) fn preferred<'a>(
    fitting: &[&'a Arc<Procedure>],
    is_usable: impl Fn(&Procedure) -> bool,
) -> Option<&'a Arc<Procedure>> {
    let (first, others) = fitting.split_first()?;
    if others.iter().any(|other| result(other) != result(first)) {
        return None;
    }
    let usable: Vec<&Arc<Procedure>> = fitting.iter().copied().filter(|procedure| is_usable(procedure)).collect();
    let least = usable.iter().map(|procedure| input_names(procedure)).min_by_key(BTreeSet::len)?;
    if usable.iter().any(|procedure| !input_names(procedure).is_superset(&least)) {
        return None;
    }
    // `min_by` returns the first of equal elements.
    let minimal = usable.into_iter().filter(|procedure| input_names(procedure) == least);
    minimal.min_by(|one, other| success_probability(other).total_cmp(&success_probability(one)))
}

/// Returns the result of a procedure: the tools of its goals with their arguments and constant values.
fn result(procedure: &Procedure) -> Vec<(&str, BTreeSet<(&str, String)>)> {
    let goals = procedure.plan.finals().iter().filter_map(|label| procedure.plan.node(label));
    let mut result: Vec<_> = goals
        .map(|goal| {
            let arguments = goal.arguments.iter().map(|argument| match &argument.source {
                Source::Value { value, .. } => (argument.name.as_str(), Value::to_string(value)),
                _ => (argument.name.as_str(), String::new()),
            });
            (goal.tool.as_str(), arguments.collect())
        })
        .collect();
    result.sort_unstable();
    result
}

/// Returns the names of its inputs.
fn input_names(procedure: &Procedure) -> BTreeSet<&str> {
    procedure.input.iter().map(|input| input.name.as_str()).collect()
}

/// Returns the estimated probability of success by Laplace's rule of succession, over the verified turns and the turns
/// that used the procedure.
fn success_probability(procedure: &Procedure) -> f64 {
    let (verified, tally) = (procedure.evidence.len() as f64, procedure.tally);
    (verified + tally.helped as f64 + 1.0) / (verified + tally.uses as f64 + 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::procedures::testing::{evidence, procedure};
    use callwright_types::memory::EvidenceKind;

    /// Returns a procedure that books a room after these calls, with this number of verified outcomes and turns.
    fn procedure_with(first: &[(&str, &str, &str)], verified: usize, (uses, helped): (u64, u64)) -> Arc<Procedure> {
        let goal = [("book_room", "person_id", "step1/id"), ("book_room", "day", "?")];
        let mut procedure = Procedure::clone(&procedure("a", "Books a room", &[first, &goal].concat()));
        procedure.evidence = (0..verified).map(|number| evidence(EvidenceKind::Mended, &number.to_string())).collect();
        (procedure.tally.uses, procedure.tally.helped, procedure.tally.hurt) = (uses, helped, uses - helped);
        Arc::new(procedure)
    }

    fn tool(found: Option<&Arc<Procedure>>) -> Option<&str> {
        found.map(|found| found.plan.nodes()[0].tool.as_str())
    }

    #[test]
    fn success_probability_decides_between_equal_results() {
        let (find, list) = ([("find_person", "name", "?")], [("list_people", "name", "?")]);
        for (one, other, expected) in [
            ((1, (0, 0)), (1, (0, 0)), "find_person"),
            ((1, (0, 0)), (2, (0, 0)), "list_people"),
            ((9, (10, 2)), (1, (0, 0)), "list_people"),
            ((9, (10, 9)), (9, (10, 10)), "list_people"),
            ((9, (10, 10)), (9, (10, 9)), "find_person"),
        ] {
            let (one, other) = (procedure_with(&find, one.0, one.1), procedure_with(&list, other.0, other.1));
            assert_eq!(tool(preferred(&[&one, &other], |_| true)), Some(expected), "{one:?} {other:?}");
        }
        let (find, list) = (procedure_with(&find, 9, (0, 0)), procedure_with(&list, 1, (0, 0)));
        let is_left = |procedure: &Procedure| procedure.plan.nodes()[0].tool != "find_person";
        assert_eq!(
            tool(preferred(&[&find, &list], is_left)),
            Some("list_people"),
            "a tool of the better one has changed"
        );
        assert_eq!(preferred(&[&find, &list], |_| false), None);
        assert_eq!(preferred(&[], |_| true), None);
    }

    #[test]
    fn minimal_inputs_are_preferred_and_incomparable_inputs_are_ambiguous() {
        let by_name = procedure_with(&[("find_person", "name", "?")], 1, (0, 0));
        let by_both = procedure_with(&[("find_person", "name", "?"), ("find_person", "floor", "?")], 9, (9, 9));
        let by_mail = procedure_with(&[("find_mail", "mail", "?")], 9, (9, 9));
        assert_eq!(preferred(&[&by_both, &by_name], |_| true), Some(&by_name));
        assert_eq!(preferred(&[&by_name, &by_mail], |_| true), None);
        assert_eq!(preferred(&[&by_both, &by_name, &by_mail], |_| true), None);
    }

    #[test]
    fn different_results_are_ambiguous() {
        let one = procedure_with(&[("find_person", "name", "?")], 9, (0, 0));
        let cancel =
            procedure("a", "Books a room", &[("find_person", "name", "?"), ("cancel_room", "person_id", "step1/id")]);
        assert_eq!(preferred(&[&one, &cancel], |_| true), None);
        // The same tool with different constants.
        let with = |unit: &str| {
            let mut changed = Procedure::clone(&one);
            let json =
                serde_json::to_string(&changed.plan).unwrap().replace("{\"missing\":{\"question\":\"day\"}}", unit);
            changed.plan = serde_json::from_str(&json).unwrap();
            Arc::new(changed)
        };
        let (day, week) = (r#"{"value":{"value":"day","words":""}}"#, r#"{"value":{"value":"week","words":""}}"#);
        assert_eq!(preferred(&[&with(day), &with(week)], |_| true), None);
        assert!(preferred(&[&with(day), &with(day)], |_| true).is_some());
    }
}
