//! Composes two procedures if one supplies an input of the other (AAG, section 3.1).

use std::collections::HashMap;

use super::Settings;
use super::abstraction::{matching_names_score, step_words};
use callwright_common::json::Pointer;
use callwright_types::memory::{Backing, ProcedureInput};
use callwright_types::plan::{Argument, Item, Node, Reference, Source};
use callwright_types::{OutputField, Plan, Procedure, ProcedureDraft};

/// Input of a procedure that another procedure supplies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SuppliedInput {
    /// Name of the input.
    input: String,
    /// Location of its value in the answer of the supplier's last call.
    output: Pointer,
    /// Selected list item.
    item: Item,
}

/// Returns the input of `consumer` that `supplier` supplies, if there is one. The source is a field in `outputs` of the
/// goal's answer that has the input's name or is the key of the thing it names.
pub(super) fn supplied_input(
    supplier: &Procedure,
    consumer: &Procedure,
    outputs: &[OutputField],
) -> Option<SuppliedInput> {
    let [goal] = supplier.plan.finals() else { return None };
    let goal = supplier.plan.node(goal)?;
    // A procedure that calls the goal's tool already has its output.
    if consumer.plan.nodes().iter().any(|node| node.tool == goal.tool) {
        return None;
    }
    let mut best: Option<(f32, SuppliedInput)> = None;
    for missing in consumer.plan.missing() {
        for field in outputs {
            let output = Pointer::from(field.pointer.as_str());
            let Some(score) = matching_names_score(&missing.node.tool, missing.argument, &goal.tool, &output) else {
                continue;
            };
            if best.as_ref().is_none_or(|(existing, _)| score > *existing) {
                let item = if field.is_in_list() { Item::Chosen } else { Item::Whole };
                best = Some((score, SuppliedInput { input: missing.question.to_owned(), output, item }));
            }
        }
    }
    best.map(|(_, supplied)| supplied)
}

/// Composes a procedure that produces the result of `consumer` from the inputs of both, without the supplied one. It is
/// not verified. Returns `None` if it exceeds the limits of the settings, or `consumer` has no such input.
pub(super) fn compose(
    supplier: &Procedure,
    consumer: &Procedure,
    supplied: &SuppliedInput,
    settings: &Settings,
) -> Option<ProcedureDraft> {
    let [goal] = supplier.plan.finals() else { return None };
    let (first, second) = (supplier.plan.nodes(), consumer.plan.nodes());
    if first.len() + second.len() > settings.max_steps
        || !consumer.input.iter().any(|input| input.name == supplied.input)
    {
        return None;
    }
    let (supplier_labels, consumer_labels) = (new_labels(first, 0), new_labels(second, first.len()));
    let source = Source::Output(Reference {
        node: supplier_labels.get(goal).cloned().unwrap_or_default(),
        output: supplied.output.clone(),
        item: supplied.item,
    });
    let (input, renamed) = inputs(supplier, consumer, supplied);
    if input.len() > settings.max_inputs {
        return None;
    }
    let mut nodes: Vec<Node> = first.iter().map(|node| relabelled(node, &supplier_labels)).collect();
    for mut node in second.iter().map(|node| relabelled(node, &consumer_labels)) {
        for argument in &mut node.arguments {
            if let Source::Missing { question } = &mut argument.source {
                match renamed.get(question) {
                    _ if *question == supplied.input => argument.source = source.clone(),
                    Some(name) => question.clone_from(name),
                    None => {}
                }
            }
        }
        nodes.push(node);
    }
    let steps = nodes.iter().map(step_words).collect();
    let finals = consumer.plan.finals().iter().filter_map(|label| consumer_labels.get(label).cloned()).collect();
    let mut toolsets = [supplier.toolsets.as_slice(), consumer.toolsets.as_slice()].concat();
    toolsets.sort_unstable();
    toolsets.dedup();
    let mut client_tools: Vec<_> =
        supplier.client_tools.iter().chain(&consumer.client_tools).flatten().cloned().collect();
    client_tools.sort_unstable();
    client_tools.dedup();
    let client_tools = Some(client_tools);
    let plan = Plan::new(nodes, finals).ok()?;
    Some(ProcedureDraft {
        toolsets,
        client_tools,
        input,
        output: consumer.output.clone(),
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

/// Returns the inputs of both procedures. Inputs of `consumer` whose names collide are renamed.
fn inputs(
    supplier: &Procedure,
    consumer: &Procedure,
    supplied: &SuppliedInput,
) -> (Vec<ProcedureInput>, HashMap<String, String>) {
    let mut inputs = supplier.input.clone();
    let mut renamed = HashMap::new();
    for input in consumer.input.iter().filter(|input| input.name != supplied.input) {
        match inputs.iter().find(|existing| existing.name == input.name) {
            Some(existing) if existing.description == input.description => {}
            None => inputs.push(input.clone()),
            Some(_) => {
                let mut names = (2..).map(|number: usize| format!("{} ({number})", input.name));
                let name =
                    names.find(|name| inputs.iter().chain(&consumer.input).all(|existing| existing.name != *name));
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

    fn supplier() -> Arc<Procedure> {
        procedure("a", "Finds a trip", &[("find_person", "name", "?"), ("list_trips", "person_id", "step1/id")])
    }

    fn consumer() -> Arc<Procedure> {
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
    fn output_of_one_procedure_supplies_an_input_of_another() {
        let (supplier, consumer) = (supplier(), consumer());
        let supplied = supplied_input(&supplier, &consumer, &fields(&["/total", "/trips/0/id"])).unwrap();
        assert_eq!(
            (supplied.input.as_str(), supplied.output.as_str(), supplied.item),
            ("trip_id", "/trips/0/id", Item::Chosen)
        );
        let composed = compose(&supplier, &consumer, &supplied, &Settings::default()).unwrap();
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
        assert_eq!(names, ["name"], "inputs with the same name and description are one");
        assert_eq!(
            (composed.output.as_str(), composed.plan.finals()),
            ("Books a trip", ["step4".to_owned()].as_slice())
        );
    }

    #[test]
    fn different_inputs_with_the_same_name_are_renamed() {
        let (supplier, mut consumer) = (supplier(), Procedure::clone(&consumer()));
        consumer.input.iter_mut().for_each(|input| input.description = "Another one.".to_owned());
        let supplied = SuppliedInput { input: "trip_id".to_owned(), output: Pointer::from("/id"), item: Item::Whole };
        let composed = compose(&supplier, &consumer, &supplied, &Settings::default()).unwrap();
        let names: Vec<&str> = composed.input.iter().map(|input| input.name.as_str()).collect();
        assert_eq!(names, ["name", "name (2)"]);
        let missing: Vec<&str> = composed.plan.missing().map(|missing| missing.question).collect();
        assert_eq!(missing, ["name", "name (2)"]);
    }

    #[test]
    fn missing_inputs_or_too_many_steps_prevent_composition() {
        let (supplier, consumer) = (supplier(), consumer());
        assert_eq!(supplied_input(&supplier, &consumer, &fields(&["/total", "/weather"])), None);
        assert_eq!(supplied_input(&consumer, &consumer, &fields(&["/trip_id"])), None);
        let supplied = supplied_input(&supplier, &consumer, &fields(&["/trips/0/id"])).unwrap();
        let short = Settings { max_steps: 3, ..Settings::default() };
        assert_eq!(compose(&supplier, &consumer, &supplied, &short), None);
        assert_eq!(
            compose(
                &supplier,
                &consumer,
                &SuppliedInput { input: "moon".to_owned(), ..supplied },
                &Settings::default()
            ),
            None
        );
    }
}
