//! Finds the procedure that a request can follow unchanged.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use serde_json::Value;

use super::abstraction::ValueSchema;
use super::{ProcedureQuery, ProcedureStore};
use callwright_common::text::name_words;
use callwright_search::retrieval::{is_stop_word, stem, tokens};
use callwright_types::Procedure;
use callwright_types::plan::{Node, Source};

/// JSON Schema of the arguments of an available tool; `None` if the tool of this name is not available.
pub type AvailableParameters<'a> = dyn Fn(&str) -> Option<Arc<Value>> + 'a;

/// Returns the procedure that can be followed unchanged. Its result clearly matches the request better than any
/// other's, and all its tools are available with compatible parameters. Among several with the same result, the one
/// with the fewest inputs is chosen, then the one with the best record. Returns `None` if there is none or the choice
/// is ambiguous. Its plan is a template, whose missing inputs are named in [`Source::Missing`].
pub fn template(
    store: &ProcedureStore,
    query: &ProcedureQuery<'_>,
    parameters: &AvailableParameters<'_>,
) -> Option<Arc<Procedure>> {
    let settings = store.settings();
    let request_words: HashSet<String> = tokens(query.text).into_iter().collect();
    let scored = store.available(query.scope, query.is_available).map(|stored| {
        let meaning = query.vector.zip(stored.vector.as_ref()).map(|(request, own)| f64::from(request.cosine(own)));
        (closeness(&stored.procedure, &request_words, meaning), &stored.procedure)
    });
    let mut scored: Vec<(f64, &Arc<Procedure>)> = scored.collect();
    let best = scored.iter().map(|(closeness, _)| *closeness).fold(0.0, f64::max);
    if best < settings.template_closeness {
        return None;
    }
    scored.retain(|(closeness, _)| *closeness >= best || best - closeness < settings.template_lead);
    let fitting: Vec<&Arc<Procedure>> = scored.into_iter().map(|(_, procedure)| procedure).collect();
    preferred(&fitting, |procedure| procedure.plan.nodes().iter().all(|node| is_unchanged(node, parameters)))
        .map(Arc::clone)
}

/// Returns the similarity of a request and a procedure's result, 0 to 1. It is the greater of two values: the share of
/// words of the goal's name in the request, and the same share for the described result, averaged with the semantic
/// similarity. With several goals, the lowest share counts.
fn closeness(procedure: &Procedure, request_words: &HashSet<String>, meaning: Option<f64>) -> f64 {
    let goals = procedure.plan.finals().iter().filter_map(|label| procedure.plan.node(label));
    let names = goals.map(|goal| {
        let name = content_words(name_words(&goal.tool).iter().map(|word| stem(word)));
        // `book_room` describes its result, `create` does not.
        if name.len() < 2 { 0.0 } else { share(&name, request_words) }
    });
    let by_names = names.fold(1.0, f64::min);
    let by_words = share(&content_words(tokens(&procedure.output)), request_words);
    let by_output = meaning.map_or(by_words, |meaning| f64::midpoint(by_words, meaning.max(0.0)));
    by_names.max(by_output)
}

/// Returns the words without stop words.
fn content_words(words: impl IntoIterator<Item = String>) -> HashSet<String> {
    words.into_iter().filter(|word| !is_stop_word(word)).collect()
}

fn share(words: &HashSet<String>, request_words: &HashSet<String>) -> f64 {
    if words.is_empty() { 0.0 } else { words.intersection(request_words).count() as f64 / words.len() as f64 }
}

/// Whether the tool still accepts the procedure's arguments and requires no others.
fn is_unchanged(node: &Node, parameters: &AvailableParameters<'_>) -> bool {
    let Some(parameters) = parameters(&node.tool) else { return false };
    let parameters = ValueSchema::new(&parameters);
    let accepts_arguments = node.arguments.iter().all(|argument| {
        parameters.member(&argument.name).is_some_and(|parameter| match &argument.source {
            Source::Value { value, .. } => parameter.has_fixed_value(value) || parameter.has_enum_value(value),
            _ => true,
        })
    });
    accepts_arguments && parameters.required_without_default().all(|name| node.argument(name).is_some())
}

/// Returns the procedure to follow among equally fitting ones, which are in the order of learning and have to pass
/// `is_usable`. All have to produce the same result. The inputs of the chosen one are a subset of the inputs of every
/// other one. Among those, the one with the best record wins, then the oldest. `None` if results differ or no input set
/// is minimal: then a model has to decide from the request.
fn preferred<'a>(fitting: &[&'a Arc<Procedure>], is_usable: impl Fn(&Procedure) -> bool) -> Option<&'a Arc<Procedure>> {
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
    use serde_json::json;

    use super::*;
    use crate::procedures::Settings;
    use crate::procedures::testing::{evidence, procedure, stored};
    use callwright_types::Scope;
    use callwright_types::memory::EvidenceKind;

    const BOOKING: [(&str, &str, &str); 3] =
        [("find_person", "name", "?"), ("book_room", "person_id", "step1/id"), ("book_room", "day", "?")];

    const LISTING: [(&str, &str, &str); 3] =
        [("list_people", "name", "?"), ("book_room", "person_id", "step1/0/id"), ("book_room", "day", "?")];

    fn parameters(tool: &str) -> Option<Arc<Value>> {
        let parameters = match tool {
            "find_person" | "list_people" => json!({"properties": {"name": {}}, "required": ["name"]}),
            "book_room" => json!({"properties": {"person_id": {}, "day": {}, "unit": {"default": "h"}},
                "required": ["person_id", "unit"]}),
            "cancel_room" | "book_flight" => json!({"properties": {"person_id": {}}}),
            _ => return None,
        };
        Some(Arc::new(parameters))
    }

    fn store(others: &[&str]) -> ProcedureStore {
        let mut all = vec![procedure("a", "Books a meeting room", &BOOKING)];
        for tool in others {
            let output = if *tool == "cancel_room" { "Cancels a booking" } else { "Books a meeting room for others" };
            all.push(procedure("a", output, &[("find_person", "name", "?"), (tool, "person_id", "step1/id")]));
        }
        ProcedureStore::new(all.iter().map(stored), Settings::default())
    }

    fn found(
        store: &ProcedureStore,
        text: &str,
        tools: &(dyn Fn(&str) -> Option<Arc<Value>> + Sync),
    ) -> Option<String> {
        let query = ProcedureQuery {
            scope: &Scope::of_group("a"),
            text,
            vector: None,
            is_available: &|tool, _| tools(tool).is_some(),
        };
        template(store, &query, tools).map(|procedure| procedure.output.clone())
    }

    #[test]
    fn request_follows_the_procedure_with_the_requested_result() {
        let request = "Book me a room with Jack on Friday, please.";
        assert_eq!(found(&store(&[]), request, &parameters).as_deref(), Some("Books a meeting room"));
        assert_eq!(found(&store(&["cancel_room"]), request, &parameters).as_deref(), Some("Books a meeting room"));
        assert_eq!(found(&store(&[]), "What is the weather like?", &parameters), None);
        assert_eq!(found(&store(&[]), "Find Jack.", &parameters), None);
    }

    #[test]
    fn ambiguous_procedures_are_not_followed() {
        let request = "Books a meeting room for others";
        assert_eq!(found(&store(&["book_flight"]), request, &parameters), None);
    }

    #[test]
    fn the_better_record_decides_between_equal_results() {
        let mut other = Procedure::clone(&procedure("a", "Books a meeting room", &LISTING));
        // Ids are in chronological order.
        other.id = format!("pro_{}", "f".repeat(32));
        let request = "Book me a room with Jack on Friday, please.";
        let followed = |other: &Procedure| {
            let all = [procedure("a", "Books a meeting room", &BOOKING), Arc::new(other.clone())];
            let store = ProcedureStore::new(all.iter().map(stored), Settings::default());
            let query = ProcedureQuery {
                scope: &Scope::of_group("a"),
                text: request,
                vector: None,
                is_available: &|_, _| true,
            };
            template(&store, &query, &parameters).map(|found| found.plan.nodes()[0].tool.clone())
        };
        assert_eq!(followed(&other).as_deref(), Some("find_person"), "the one that was learned first");
        other.tally.helped = 3;
        other.tally.uses = 3;
        assert_eq!(followed(&other).as_deref(), Some("list_people"));
        other.plan =
            serde_json::from_str(&serde_json::to_string(&other.plan).unwrap().replace("\"day\"", "\"date\"")).unwrap();
        assert_eq!(followed(&other), None, "another argument of the goal is another result");
    }

    #[test]
    fn procedures_with_missing_or_changed_tools_are_not_followed() {
        let request = "Book a room for Jack";
        let with = |tool: &'static str, schema: Value| {
            move |name: &str| {
                if name == tool { Some(Arc::new(schema.clone())) } else { parameters(name) }
            }
        };
        let without_tool = |name: &str| if name == "find_person" { None } else { parameters(name) };
        assert_eq!(found(&store(&[]), request, &without_tool), None);
        let renamed = with("book_room", json!({"properties": {"person": {}, "day": {}}}));
        assert_eq!(found(&store(&[]), request, &renamed), None);
        let more =
            with("book_room", json!({"properties": {"person_id": {}, "day": {}, "floor": {}}, "required": ["floor"]}));
        assert_eq!(found(&store(&[]), request, &more), None);
        let same = with("book_room", json!({"properties": {"person_id": {}, "day": {}, "floor": {}}}));
        assert!(found(&store(&[]), request, &same).is_some());
    }

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
    fn minimal_inputs_win_and_incomparable_inputs_are_ambiguous() {
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
