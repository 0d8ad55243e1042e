//! Finds the procedure that a request can follow unchanged.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value;

use super::abstraction::Parameters;
use super::preference::preferred;
use super::{ProcedureStore, Query};
use callwright_search::retrieval::{is_stop_word, stem, tokens, words};
use callwright_types::Procedure;
use callwright_types::plan::{Node, Source};

/// Minimum number of words of a tool name that describes its result: `book_room` does, `create` does not.
const TELLING_NAME_WORDS: usize = 2;

/// Tool that a turn may call.
#[derive(Debug, Clone)]
pub struct ToolInPlay {
    /// JSON Schema of its arguments.
    pub parameters: Arc<Value>,
}

/// Returns the procedure that can be followed unchanged. Its result clearly matches the request better than any
/// other's, and all its tools are available with compatible parameters. Among several with the same result, the one
/// with the fewest inputs is chosen, then the one with the best record. Returns `None` if there is none or the choice
/// is ambiguous. Its plan is a template, whose missing inputs are named in [`Source::Missing`].
pub fn template(
    store: &ProcedureStore,
    query: &Query<'_>,
    tools: &dyn Fn(&str) -> Option<ToolInPlay>,
) -> Option<Arc<Procedure>> {
    let settings = store.settings();
    let asked: HashSet<String> = tokens(query.text).into_iter().collect();
    let close = store.in_play(query.scope, query.in_play).map(|stored| {
        let meaning = query.vector.zip(stored.vector.as_ref()).map(|(asked, own)| f64::from(asked.cosine(own)));
        (closeness(&stored.procedure, &asked, meaning), &stored.procedure)
    });
    let mut close: Vec<(f64, &Arc<Procedure>)> = close.collect();
    let best = close.iter().map(|(close, _)| *close).fold(0.0, f64::max);
    if best < settings.template_closeness {
        return None;
    }
    close.retain(|(close, _)| *close >= best || best - close < settings.template_lead);
    let fitting: Vec<&Arc<Procedure>> = close.into_iter().map(|(_, procedure)| procedure).collect();
    preferred(&fitting, |procedure| procedure.plan.nodes().iter().all(|node| is_unchanged(node, tools))).map(Arc::clone)
}

/// Returns the similarity of a request and a procedure's result, 0 to 1. It is the greater of two values: the share of
/// words of the goal's name in the request, and the same share for the described result, averaged with the semantic
/// similarity. With several goals, the lowest share counts.
fn closeness(procedure: &Procedure, asked: &HashSet<String>, meaning: Option<f64>) -> f64 {
    let goals = procedure.plan.finals().iter().filter_map(|label| procedure.plan.node(label));
    let names = goals.map(|goal| {
        let name = told(words(&goal.tool).iter().map(|word| stem(word)));
        if name.len() < TELLING_NAME_WORDS { 0.0 } else { share(&name, asked) }
    });
    let by_names = names.fold(1.0, f64::min);
    let by_words = share(&told(tokens(&procedure.output)), asked);
    let by_output = meaning.map_or(by_words, |meaning| f64::midpoint(by_words, meaning.max(0.0)));
    by_names.max(by_output)
}

/// Returns the words without stop words.
fn told(words: impl IntoIterator<Item = String>) -> HashSet<String> {
    words.into_iter().filter(|word| !is_stop_word(word)).collect()
}

fn share(wanted: &HashSet<String>, asked: &HashSet<String>) -> f64 {
    if wanted.is_empty() { 0.0 } else { wanted.intersection(asked).count() as f64 / wanted.len() as f64 }
}

/// Whether the tool still accepts the procedure's arguments and requires no others.
fn is_unchanged(node: &Node, tools: &dyn Fn(&str) -> Option<ToolInPlay>) -> bool {
    let Some(tool) = tools(&node.tool) else { return false };
    let parameters = Parameters::of(&tool.parameters);
    let takes = node.arguments.iter().all(|argument| {
        parameters.get(&argument.name).is_some_and(|parameter| match &argument.source {
            Source::Value { value, .. } => parameter.schema().fixes(value) || parameter.schema().lists(value),
            _ => true,
        })
    });
    takes && parameters.demanded().all(|name| node.argument(name).is_some())
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

    const LOOKED_UP: [(&str, &str, &str); 3] =
        [("list_people", "name", "?"), ("book_room", "person_id", "step1/0/id"), ("book_room", "day", "?")];

    fn parameters(tool: &str) -> Option<ToolInPlay> {
        let parameters = match tool {
            "find_person" | "list_people" => json!({"properties": {"name": {}}, "required": ["name"]}),
            "book_room" => json!({"properties": {"person_id": {}, "day": {}, "unit": {"default": "h"}},
                "required": ["person_id", "unit"]}),
            "cancel_room" | "book_flight" => json!({"properties": {"person_id": {}}}),
            _ => return None,
        };
        Some(ToolInPlay { parameters: Arc::new(parameters) })
    }

    fn store(others: &[&str]) -> ProcedureStore {
        let mut all = vec![procedure("a", "Books a meeting room", &BOOKING)];
        for tool in others {
            let output = if *tool == "cancel_room" { "Cancels a booking" } else { "Books a meeting room for others" };
            all.push(procedure("a", output, &[("find_person", "name", "?"), (tool, "person_id", "step1/id")]));
        }
        ProcedureStore::of(all.iter().map(stored), Settings::default())
    }

    fn found(
        store: &ProcedureStore,
        text: &str,
        tools: &(dyn Fn(&str) -> Option<ToolInPlay> + Sync),
    ) -> Option<String> {
        let query =
            Query { scope: &Scope::of_group("a"), text, vector: None, in_play: &|tool, _| tools(tool).is_some() };
        template(store, &query, tools).map(|procedure| procedure.output.clone())
    }

    #[test]
    fn a_request_follows_the_one_procedure_that_gives_what_it_asks_for() {
        let asked = "Book me a room with Jack on Friday, please.";
        assert_eq!(found(&store(&[]), asked, &parameters).as_deref(), Some("Books a meeting room"));
        assert_eq!(found(&store(&["cancel_room"]), asked, &parameters).as_deref(), Some("Books a meeting room"));
        assert_eq!(found(&store(&[]), "What is the weather like?", &parameters), None);
        assert_eq!(found(&store(&[]), "Find Jack.", &parameters), None);
    }

    #[test]
    fn where_two_are_as_close_none_is_followed() {
        let asked = "Books a meeting room for others";
        assert_eq!(found(&store(&["book_flight"]), asked, &parameters), None);
    }

    #[test]
    fn of_two_ways_to_the_same_the_one_that_went_best_is_followed() {
        let mut other = Procedure::clone(&procedure("a", "Books a meeting room", &LOOKED_UP));
        // Ids are in chronological order.
        other.id = format!("pro_{}", "f".repeat(32));
        let asked = "Book me a room with Jack on Friday, please.";
        let followed = |other: &Procedure| {
            let all = [procedure("a", "Books a meeting room", &BOOKING), Arc::new(other.clone())];
            let store = ProcedureStore::of(all.iter().map(stored), Settings::default());
            let query = Query { scope: &Scope::of_group("a"), text: asked, vector: None, in_play: &|_, _| true };
            template(&store, &query, &parameters).map(|found| found.plan.nodes()[0].tool.clone())
        };
        assert_eq!(followed(&other).as_deref(), Some("find_person"), "the one that was learned first");
        other.tally.helped = 3;
        other.tally.uses = 3;
        assert_eq!(followed(&other).as_deref(), Some("list_people"));
        other.plan =
            serde_json::from_str(&serde_json::to_string(&other.plan).unwrap().replace("\"day\"", "\"date\"")).unwrap();
        assert_eq!(followed(&other), None, "another argument of the goal: not the same");
    }

    #[test]
    fn a_tool_that_is_gone_or_takes_something_else_now_makes_it_none() {
        let asked = "Book a room for Jack";
        let with = |tool: &'static str, schema: Value| {
            move |name: &str| {
                if name == tool { Some(ToolInPlay { parameters: Arc::new(schema.clone()) }) } else { parameters(name) }
            }
        };
        let gone = |name: &str| if name == "find_person" { None } else { parameters(name) };
        assert_eq!(found(&store(&[]), asked, &gone), None);
        let renamed = with("book_room", json!({"properties": {"person": {}, "day": {}}}));
        assert_eq!(found(&store(&[]), asked, &renamed), None);
        let more =
            with("book_room", json!({"properties": {"person_id": {}, "day": {}, "floor": {}}, "required": ["floor"]}));
        assert_eq!(found(&store(&[]), asked, &more), None);
        let same = with("book_room", json!({"properties": {"person_id": {}, "day": {}, "floor": {}}}));
        assert!(found(&store(&[]), asked, &same).is_some());
    }
}
