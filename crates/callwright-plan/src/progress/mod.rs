//! Execution state of a plan: executed calls, their answers, and the next step.
//!
//! Pure: no requests to models or APIs, and no clock. `values` extracts arguments from answers, `choice` chooses list
//! items by the words of the conversation, and `follow` reconciles the plan with the client's calls. The state has a
//! JSON form for the store, so that any replica can continue a plan.

mod follow;
#[cfg(test)]
mod tests;
mod values;

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::keys::repeats_input;
use callwright_common::json::Pointer;
use callwright_judge::scanner::{Expectation, Expectations};
use callwright_types::plan::{Item, MissingInput, Node, Reference, Source};
use callwright_types::{Plan, ids};

pub use follow::SeenCall;
use values::ValueLookup;
pub use values::choose_by_words;

/// Plan and its execution state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Prefix of the ids of its calls.
    handle: String,
    plan: Plan,
    /// State of the calls that were made, by label.
    calls: BTreeMap<String, PlanCallRecord>,
    /// Chosen list items, by the consuming call and the call that returned the list.
    #[serde(default)]
    chosen: BTreeMap<String, BTreeMap<String, usize>>,
    /// Number of ids that were assigned.
    ids: u32,
    /// Number of the plan's answers so far. Calls of the same answer belong together.
    answers: u32,
    /// Number of times that the plan was repaired after a failure.
    #[serde(default, rename = "mended")]
    repairs: u32,
}

/// Call that was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct PlanCallRecord {
    id: String,
    /// Number of the plan's answer that contains it.
    answer: u32,
    arguments: Value,
    state: PlanCallState,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum PlanCallState {
    /// Sent, without an answer yet.
    Sent,
    Answered(Value),
    /// Failed and not handled yet.
    Failed,
}

/// Next step of a plan.
#[derive(Debug, Clone, PartialEq)]
pub enum ProgressStep<'a> {
    /// A call failed and has to be planned again.
    Failed(&'a Node),
    /// The user has to supply these inputs, in one question.
    RequestInputs(Vec<MissingInput<'a>>),
    Calls(Vec<ReadyPlanCall<'a>>),
    /// A list item has to be chosen first.
    Choose(ItemOptions<'a>),
    /// A call cannot be made as planned, because an answer lacks the referenced value.
    Absent(&'a Node, &'a Reference),
    /// Calls are in flight and everything else depends on their answers.
    Wait,
    /// All calls are answered.
    Done,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ReadyPlanCall<'a> {
    pub node: &'a Node,
    pub arguments: Map<String, Value>,
}

/// Options of a choice.
#[derive(Debug, Clone, PartialEq)]
pub struct ItemOptions<'a> {
    /// Call that takes the value.
    pub node: &'a Node,
    /// Argument that takes the value.
    pub argument: &'a str,
    /// Reference to the list.
    pub from: &'a Reference,
    /// Each list item with the value that would be used.
    pub items: Vec<(Value, Value)>,
}

impl Progress {
    /// Starts a plan.
    pub fn begin(plan: Plan) -> Self {
        Self {
            handle: ids::plan_handle(),
            plan,
            calls: BTreeMap::new(),
            chosen: BTreeMap::new(),
            ids: 0,
            answers: 0,
            repairs: 0,
        }
    }

    /// Returns the prefix of the ids of its calls.
    pub fn handle(&self) -> &str {
        &self.handle
    }

    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the labels of the answered calls.
    pub fn answered_calls(&self) -> HashSet<String> {
        let answered = self.calls.iter().filter(|(_, record)| matches!(record.state, PlanCallState::Answered(_)));
        answered.map(|(label, _)| label.clone()).collect()
    }

    /// Returns how many times the plan was repaired after a failure.
    pub fn repairs(&self) -> u32 {
        self.repairs
    }

    /// Replaces the plan. Calls with the same labels keep their state unless they failed; other state is dropped.
    /// `is_repair` reports whether the new plan repairs a failure.
    pub fn replace(&mut self, plan: Plan, is_repair: bool) {
        self.repairs += u32::from(is_repair);
        self.calls.retain(|label, record| plan.node(label).is_some() && record.state != PlanCallState::Failed);
        self.chosen.retain(|label, _| plan.node(label).is_some());
        self.plan = plan;
    }

    /// Returns the next step. Failures come first, then missing inputs, so that no call is made for a plan that may be
    /// abandoned.
    pub fn next(&self) -> ProgressStep<'_> {
        if let Some(failed) =
            self.plan.nodes().iter().find(|node| self.state(&node.label) == Some(&PlanCallState::Failed))
        {
            return ProgressStep::Failed(failed);
        }
        let missing = self.plan.missing().filter(|input| !self.calls.contains_key(&input.node.label));
        let missing: Vec<MissingInput<'_>> = missing.collect();
        if !missing.is_empty() {
            return ProgressStep::RequestInputs(missing);
        }
        let answered = self.answered_calls();
        let (mut ready, mut blocked) = (Vec::new(), None);
        for node in self.plan.ready(&answered).filter(|node| !self.calls.contains_key(&node.label)) {
            match self.arguments(node) {
                Ok(arguments) => ready.push(ReadyPlanCall { node, arguments }),
                Err(next) => blocked = blocked.or(Some(next)),
            }
        }
        match blocked {
            _ if !ready.is_empty() => ProgressStep::Calls(ready),
            Some(next) => next,
            None if self.calls.values().any(|record| record.state == PlanCallState::Sent) => ProgressStep::Wait,
            None => ProgressStep::Done,
        }
    }

    /// Starts the next answer. Calls that are sent from now on belong to it.
    pub fn begin_answer(&mut self) {
        self.answers += 1;
    }

    /// Returns a new call id.
    pub fn new_id(&mut self) -> String {
        self.ids += 1;
        ids::planned_call_id(&self.handle, self.ids - 1)
    }

    /// Records that a call was sent with this id and these arguments, whose spelling may differ from the plan.
    pub fn sent(&mut self, label: &str, id: &str, arguments: Value) {
        let record = PlanCallRecord { id: id.to_owned(), answer: self.answers, arguments, state: PlanCallState::Sent };
        if self.plan.node(label).is_some() {
            self.calls.insert(label.to_owned(), record);
        }
    }

    /// Sets the actual arguments of a call in flight.
    pub fn set_arguments(&mut self, id: &str, arguments: Value) {
        if let Some(record) = self.calls.values_mut().find(|record| record.id == id) {
            record.arguments = arguments;
        }
    }

    /// Resets a call that was not made after all. Returns whether it belongs to the plan.
    pub fn reset(&mut self, id: &str) -> bool {
        let before = self.calls.len();
        self.calls.retain(|_, record| record.id != id);
        self.calls.len() < before
    }

    /// Returns the ids of the calls in flight.
    pub fn in_flight(&self) -> Vec<String> {
        self.calls
            .values()
            .filter(|record| record.state == PlanCallState::Sent)
            .map(|record| record.id.clone())
            .collect()
    }

    /// Records the answer of a call. Returns whether it belongs to the plan.
    pub fn answered(&mut self, id: &str, output: Value) -> bool {
        self.set(id, PlanCallState::Answered(output))
    }

    /// Records the failure of a call. Returns whether it belongs to the plan.
    pub fn failed(&mut self, id: &str) -> bool {
        self.set(id, PlanCallState::Failed)
    }

    /// Records the item that a call takes from the list of another call.
    pub fn choose(&mut self, consumer: &str, from: &str, item: usize) {
        self.chosen.entry(consumer.to_owned()).or_default().insert(from.to_owned(), item);
    }

    /// Returns the expected sources of values for calls that are not made yet. Failed calls and calls in flight are
    /// omitted.
    pub fn expectations(&self) -> Expectations {
        let open = self.plan.edges().filter(|edge| !self.calls.contains_key(edge.to));
        let expected = open.filter_map(|edge| {
            let (consumer, feeder) = (self.plan.node(edge.to)?, self.plan.node(&edge.from.node)?);
            // A composed value equals none of its outputs.
            if !matches!(consumer.argument(edge.argument)?.source, Source::Output(_)) {
                return None;
            }
            let values = match self.state(&feeder.label) {
                Some(PlanCallState::Failed | PlanCallState::Sent) => return None,
                Some(PlanCallState::Answered(output)) => values::all(output, edge.from),
                None => Vec::new(),
            };
            let path = Pointer::root().child(edge.argument);
            Some(Expectation { tool: consumer.tool.clone(), path, source: feeder.tool.clone(), values })
        });
        Expectations { expected: expected.collect() }
    }

    fn state(&self, label: &str) -> Option<&PlanCallState> {
        self.calls.get(label).map(|record| &record.state)
    }

    fn set(&mut self, id: &str, state: PlanCallState) -> bool {
        let call = self.calls.values_mut().find(|record| record.id == id);
        call.map(|record| record.state = state).is_some()
    }

    /// Returns the arguments of a call whose dependencies are answered, or the obstacle.
    fn arguments<'a>(&'a self, node: &'a Node) -> Result<Map<String, Value>, ProgressStep<'a>> {
        let mut arguments = Map::new();
        for argument in &node.arguments {
            let value = match &argument.source {
                Source::Value { value, .. } => value.clone(),
                Source::Output(reference) => self.value(node, &argument.name, reference)?,
                Source::Composed { value, outputs } => {
                    let values: Result<Vec<Value>, _> =
                        outputs.iter().map(|reference| self.value(node, &argument.name, reference)).collect();
                    values::composed(value, &values?)
                }
                Source::Missing { .. } => continue,
            };
            arguments.insert(argument.name.clone(), value);
        }
        Ok(arguments)
    }

    fn value<'a>(&'a self, node: &'a Node, argument: &'a str, from: &'a Reference) -> Result<Value, ProgressStep<'a>> {
        let Some(PlanCallRecord { state: PlanCallState::Answered(output), arguments: input, .. }) =
            self.calls.get(&from.node)
        else {
            return Err(ProgressStep::Absent(node, from));
        };
        let value = match values::find(output, from) {
            ValueLookup::Nothing => return Err(ProgressStep::Absent(node, from)),
            ValueLookup::Value(value) => value,
            ValueLookup::Items(items) if from.item == Item::Chosen => {
                let chosen = self.chosen.get(&node.label).and_then(|chosen| chosen.get(&from.node));
                match chosen.and_then(|item| items.get(*item)) {
                    Some((_, value)) => value.clone(),
                    None => return Err(ProgressStep::Choose(ItemOptions { node, argument, from, items })),
                }
            }
            ValueLookup::Items(items) => Value::Array(items.into_iter().map(|(_, value)| value).collect()),
        };
        // Such a value is no key, so the answer lacks the key.
        match repeats_input(argument, from.output.as_str(), &value, input) {
            true => Err(ProgressStep::Absent(node, from)),
            false => Ok(value),
        }
    }
}
