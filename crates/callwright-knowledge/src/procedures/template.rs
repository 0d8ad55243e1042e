//! Finds the procedure that a request can follow unchanged.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value;

use super::abstraction::ValueSchema;
use super::preference::preferred;
use super::{ProcedureQuery, ProcedureStore};
use callwright_common::text::name_words;
use callwright_search::retrieval::{is_stop_word, stem, tokens};
use callwright_types::Procedure;
use callwright_types::plan::{Node, Source};

/// Minimum number of words of a tool name that describes its result: `book_room` does, `create` does not.
const MIN_NAME_WORDS: usize = 2;

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
        if name.len() < MIN_NAME_WORDS { 0.0 } else { share(&name, request_words) }
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::procedures::Settings;
    use crate::procedures::testing::{procedure, stored};
    use callwright_types::Scope;

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
    fn better_record_decides_between_procedures_with_the_same_result() {
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
}
