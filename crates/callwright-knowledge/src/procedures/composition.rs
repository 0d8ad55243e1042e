//! Composes two procedures if one supplies an input of the other (AAG, section 3.1).

use std::collections::HashMap;

use super::Settings;
use super::abstraction::{named_alike, step_words};
use callwright_common::json::Pointer;
use callwright_types::memory::{Backing, ProcedureInput};
use callwright_types::plan::{Argument, Item, Node, Reference, Source};
use callwright_types::{OutputField, Plan, Procedure, ProcedureDraft};

/// Input of a procedure that another procedure supplies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feed {
    /// Name of the input.
    pub input: String,
    /// Location of its value in the answer of the supplier's last call.
    pub output: Pointer,
    /// Selected list item.
    pub item: Item,
}

/// Returns the input of `taker` that `giver` supplies, if there is one. The source is a field in `outputs` of the
/// goal's answer that has the input's name or is the key of the thing it names.
pub fn feed(giver: &Procedure, taker: &Procedure, outputs: &[OutputField]) -> Option<Feed> {
    let [goal] = giver.plan.finals() else { return None };
    let goal = giver.plan.node(goal)?;
    // A procedure that calls the goal's tool already has its output.
    if taker.plan.nodes().iter().any(|node| node.tool == goal.tool) {
        return None;
    }
    let mut best: Option<(f32, Feed)> = None;
    for missing in taker.plan.missing() {
        for field in outputs {
            let output = Pointer::from(field.pointer.as_str());
            let Some(score) = named_alike((&missing.node.tool, missing.argument), &goal.tool, &output) else {
                continue;
            };
            if best.as_ref().is_none_or(|(known, _)| score > *known) {
                let item = if field.is_in_list() { Item::Chosen } else { Item::Whole };
                best = Some((score, Feed { input: missing.question.to_owned(), output, item }));
            }
        }
    }
    best.map(|(_, feed)| feed)
}

/// Composes a procedure that produces the result of `taker` from the inputs of both, without the supplied one. It is
/// not verified. Returns `None` if it exceeds the limits of the settings, or `taker` has no such input.
pub fn compose(giver: &Procedure, taker: &Procedure, feed: &Feed, settings: &Settings) -> Option<ProcedureDraft> {
    let [goal] = giver.plan.finals() else { return None };
    let (first, second) = (giver.plan.nodes(), taker.plan.nodes());
    if first.len() + second.len() > settings.max_steps || !taker.input.iter().any(|input| input.name == feed.input) {
        return None;
    }
    let (of_giver, of_taker) = (new_labels(first, 0), new_labels(second, first.len()));
    let fed = Source::Output(Reference {
        node: of_giver.get(goal).cloned().unwrap_or_default(),
        output: feed.output.clone(),
        item: feed.item,
    });
    let (input, renamed) = inputs(giver, taker, feed);
    if input.len() > settings.max_inputs {
        return None;
    }
    let mut nodes: Vec<Node> = first.iter().map(|node| relabelled(node, &of_giver)).collect();
    for mut node in second.iter().map(|node| relabelled(node, &of_taker)) {
        for argument in &mut node.arguments {
            if let Source::Missing { question } = &mut argument.source {
                match renamed.get(question) {
                    _ if *question == feed.input => argument.source = fed.clone(),
                    Some(name) => question.clone_from(name),
                    None => {}
                }
            }
        }
        nodes.push(node);
    }
    let steps = nodes.iter().map(step_words).collect();
    let finals = taker.plan.finals().iter().filter_map(|label| of_taker.get(label).cloned()).collect();
    let mut toolsets = [giver.toolsets.as_slice(), taker.toolsets.as_slice()].concat();
    toolsets.sort_unstable();
    toolsets.dedup();
    let mut client_tools: Vec<_> = giver.client_tools.iter().chain(&taker.client_tools).flatten().cloned().collect();
    client_tools.sort_unstable();
    client_tools.dedup();
    let client_tools = Some(client_tools);
    let plan = Plan::new(nodes, finals).ok()?;
    Some(ProcedureDraft {
        toolsets,
        client_tools,
        input,
        output: taker.output.clone(),
        steps,
        plan,
        backing: Backing::Verdict,
    })
}

/// Returns the new label of each node, numbered after `before` others.
fn new_labels(nodes: &[Node], before: usize) -> HashMap<String, String> {
    nodes.iter().zip(before + 1..).map(|(node, number)| (node.label.clone(), format!("step{number}"))).collect()
}

fn relabelled(node: &Node, labels: &HashMap<String, String>) -> Node {
    let arguments = node.arguments.iter().map(|Argument { name, source }| {
        let source = source.clone().relabelled(|label| labels.get(label).cloned().unwrap_or_default());
        Argument { name: name.clone(), source }
    });
    let arguments = arguments.collect();
    Node { label: labels.get(&node.label).cloned().unwrap_or_default(), arguments, ..node.clone() }
}

/// Returns the inputs of both procedures. Inputs of `taker` whose names collide are renamed.
fn inputs(giver: &Procedure, taker: &Procedure, feed: &Feed) -> (Vec<ProcedureInput>, HashMap<String, String>) {
    let mut inputs = giver.input.clone();
    let mut renamed = HashMap::new();
    for input in taker.input.iter().filter(|input| input.name != feed.input) {
        match inputs.iter().find(|known| known.name == input.name) {
            Some(known) if known.description == input.description => {}
            None => inputs.push(input.clone()),
            Some(_) => {
                let mut names = (2..).map(|number: usize| format!("{} ({number})", input.name));
                let name = names.find(|name| inputs.iter().chain(&taker.input).all(|known| known.name != *name));
                let name = name.unwrap_or_default();
                renamed.insert(input.name.clone(), name.clone());
                inputs.push(ProcedureInput { name, description: input.description.clone() });
            }
        }
    }
    (inputs, renamed)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::procedures::testing::procedure;

    fn giver() -> Arc<Procedure> {
        procedure("a", "Finds a trip", &[("find_person", "name", "?"), ("list_trips", "person_id", "step1/id")])
    }

    fn taker() -> Arc<Procedure> {
        let arguments = [
            ("get_price", "trip_id", "?"),
            ("get_price", "name", "?"),
            ("book_trip", "trip_id", "?"),
            ("book_trip", "price", "step1/price"),
        ];
        procedure("a", "Books a trip", &arguments)
    }

    fn fields(pointers: &[&str]) -> Vec<OutputField> {
        let field = |pointer: &&str| OutputField { pointer: (*pointer).to_owned(), ..OutputField::default() };
        pointers.iter().map(field).collect()
    }

    #[test]
    fn what_one_gives_another_takes() {
        let (giver, taker) = (giver(), taker());
        let feed = feed(&giver, &taker, &fields(&["/total", "/trips/0/id"])).unwrap();
        assert_eq!((feed.input.as_str(), feed.output.as_str(), feed.item), ("trip_id", "/trips/0/id", Item::Chosen));
        let composed = compose(&giver, &taker, &feed, &Settings::default()).unwrap();
        assert_eq!(
            composed.steps,
            [
                "find_person: name given",
                "list_trips: person_id from step 1's /id",
                "get_price: trip_id chosen from step 2's /trips/0/id; name given",
                "book_trip: trip_id chosen from step 2's /trips/0/id; price from step 3's /price",
            ]
        );
        let names: Vec<&str> = composed.input.iter().map(|input| input.name.as_str()).collect();
        assert_eq!(names, ["name"], "of the same name and meaning");
        assert_eq!(
            (composed.output.as_str(), composed.plan.finals()),
            ("Books a trip", ["step4".to_owned()].as_slice())
        );
    }

    #[test]
    fn inputs_of_one_name_that_are_not_the_same_stay_two() {
        let (giver, mut taker) = (giver(), Procedure::clone(&taker()));
        taker.input.iter_mut().for_each(|input| input.description = "Another one.".to_owned());
        let feed = Feed { input: "trip_id".to_owned(), output: Pointer::from("/id"), item: Item::Whole };
        let composed = compose(&giver, &taker, &feed, &Settings::default()).unwrap();
        let names: Vec<&str> = composed.input.iter().map(|input| input.name.as_str()).collect();
        assert_eq!(names, ["name", "name (2)"]);
        let missing: Vec<&str> = composed.plan.missing().map(|missing| missing.question).collect();
        assert_eq!(missing, ["name", "name (2)"]);
    }

    #[test]
    fn what_gives_nothing_that_is_needed_or_gets_too_long_is_not_composed() {
        let (giver, taker) = (giver(), taker());
        assert_eq!(feed(&giver, &taker, &fields(&["/total", "/weather"])), None);
        assert_eq!(feed(&taker, &taker, &fields(&["/trip_id"])), None);
        let known = feed(&giver, &taker, &fields(&["/trips/0/id"])).unwrap();
        let short = Settings { max_steps: 3, ..Settings::default() };
        assert_eq!(compose(&giver, &taker, &known, &short), None);
        assert_eq!(compose(&giver, &taker, &Feed { input: "moon".to_owned(), ..known }, &Settings::default()), None);
    }
}
