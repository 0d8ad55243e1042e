//! Execution state of a plan: executed calls, their answers, and the next step.
//!
//! Pure: no requests to models or APIs, and no clock. `values` extracts arguments from answers, `choice` chooses list
//! items by the words of the conversation, and `follow` reconciles the plan with the client's calls. The state has a
//! JSON form for the store, so that any replica can continue a plan.

mod choice;
mod follow;
#[cfg(test)]
mod tests;
mod values;

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use callwright_common::json::Pointer;
use callwright_judge::scanner::{Expectation, Expectations};
use callwright_types::plan::{Item, MissingInput, Node, Reference, Source};
use callwright_types::{Plan, ids};

pub use choice::by_words;
pub use follow::SeenCall;
use values::ValueLookup;

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
    #[serde(default)]
    mended: u32,
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
    /// Answered with this value.
    Answered(Value),
    /// Failed and not handled yet.
    Failed,
}

/// Next step of a plan.
#[derive(Debug, Clone, PartialEq)]
pub enum Next<'a> {
    /// A call failed and has to be planned again.
    Failed(&'a Node),
    /// The user has to supply these inputs, in one question.
    Ask(Vec<MissingInput<'a>>),
    /// These calls are ready.
    Calls(Vec<Ready<'a>>),
    /// A list item has to be chosen first.
    Choose(Options<'a>),
    /// A call cannot be made as planned, because an answer lacks the referenced value.
    Absent(&'a Node, &'a Reference),
    /// Calls are in flight and everything else depends on their answers.
    Wait,
    /// All calls are answered.
    Done,
}

/// Call that is ready.
#[derive(Debug, Clone, PartialEq)]
pub struct Ready<'a> {
    /// Call.
    pub node: &'a Node,
    /// Its arguments.
    pub arguments: Map<String, Value>,
}

/// Options of a choice.
#[derive(Debug, Clone, PartialEq)]
pub struct Options<'a> {
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
            mended: 0,
        }
    }

    /// Returns the prefix of the ids of its calls.
    pub fn handle(&self) -> &str {
        &self.handle
    }

    /// Returns the plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the labels of the answered calls.
    pub fn made(&self) -> HashSet<String> {
        let answered = self.calls.iter().filter(|(_, made)| matches!(made.state, PlanCallState::Answered(_)));
        answered.map(|(label, _)| label.clone()).collect()
    }

    /// Returns how many times the plan was repaired after a failure.
    pub fn mended(&self) -> u32 {
        self.mended
    }

    /// Replaces the plan. Calls with the same labels keep their state unless they failed; other state is dropped.
    /// `mends` reports whether the new plan repairs a failure.
    pub fn replace(&mut self, plan: Plan, mends: bool) {
        self.mended += u32::from(mends);
        self.calls.retain(|label, made| plan.node(label).is_some() && made.state != PlanCallState::Failed);
        self.chosen.retain(|label, _| plan.node(label).is_some());
        self.plan = plan;
    }

    /// Returns the next step. Failures come first, then missing inputs, so that no call is made for a plan that may be
    /// abandoned.
    pub fn next(&self) -> Next<'_> {
        if let Some(failed) =
            self.plan.nodes().iter().find(|node| self.state(&node.label) == Some(&PlanCallState::Failed))
        {
            return Next::Failed(failed);
        }
        let missing = self.plan.missing().filter(|input| !self.calls.contains_key(&input.node.label));
        let missing: Vec<MissingInput<'_>> = missing.collect();
        if !missing.is_empty() {
            return Next::Ask(missing);
        }
        let made = self.made();
        let (mut ready, mut held) = (Vec::new(), None);
        for node in self.plan.ready(&made).filter(|node| !self.calls.contains_key(&node.label)) {
            match self.arguments(node) {
                Ok(arguments) => ready.push(Ready { node, arguments }),
                Err(next) => held = held.or(Some(next)),
            }
        }
        match held {
            _ if !ready.is_empty() => Next::Calls(ready),
            Some(next) => next,
            None if self.calls.values().any(|made| made.state == PlanCallState::Sent) => Next::Wait,
            None => Next::Done,
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
        let made = PlanCallRecord { id: id.to_owned(), answer: self.answers, arguments, state: PlanCallState::Sent };
        if self.plan.node(label).is_some() {
            self.calls.insert(label.to_owned(), made);
        }
    }

    /// Sets the actual arguments of a call in flight.
    pub fn spelled(&mut self, id: &str, arguments: Value) {
        if let Some(made) = self.calls.values_mut().find(|made| made.id == id) {
            made.arguments = arguments;
        }
    }

    /// Resets a call that was not made after all. Returns whether it belongs to the plan.
    pub fn unmade(&mut self, id: &str) -> bool {
        let before = self.calls.len();
        self.calls.retain(|_, made| made.id != id);
        self.calls.len() < before
    }

    /// Returns the ids of the calls in flight.
    pub fn under_way(&self) -> Vec<String> {
        self.calls.values().filter(|made| made.state == PlanCallState::Sent).map(|made| made.id.clone()).collect()
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
    pub fn choose(&mut self, taker: &str, from: &str, item: usize) {
        self.chosen.entry(taker.to_owned()).or_default().insert(from.to_owned(), item);
    }

    /// Returns the expected sources of values for calls that are not made yet. Failed calls and calls in flight are
    /// omitted.
    pub fn expectations(&self) -> Expectations {
        let open = self.plan.edges().filter(|edge| !self.calls.contains_key(edge.to));
        let expected = open.filter_map(|edge| {
            let (taker, feeder) = (self.plan.node(edge.to)?, self.plan.node(&edge.from.node)?);
            // A composed value equals none of its outputs.
            if !matches!(taker.argument(edge.argument)?.source, Source::Output(_)) {
                return None;
            }
            let values = match self.state(&feeder.label) {
                Some(PlanCallState::Failed | PlanCallState::Sent) => return None,
                Some(PlanCallState::Answered(output)) => values::all(output, edge.from),
                None => Vec::new(),
            };
            let path = Pointer::root().child(edge.argument);
            Some(Expectation { tool: taker.tool.clone(), path, source: feeder.tool.clone(), values })
        });
        Expectations { expected: expected.collect() }
    }

    fn state(&self, label: &str) -> Option<&PlanCallState> {
        self.calls.get(label).map(|made| &made.state)
    }

    fn set(&mut self, id: &str, state: PlanCallState) -> bool {
        let known = self.calls.values_mut().find(|made| made.id == id);
        known.map(|made| made.state = state).is_some()
    }

    /// Returns the arguments of a call whose dependencies are answered, or the obstacle.
    fn arguments<'a>(&'a self, node: &'a Node) -> Result<Map<String, Value>, Next<'a>> {
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

    fn value<'a>(&'a self, node: &'a Node, argument: &'a str, from: &'a Reference) -> Result<Value, Next<'a>> {
        let Some(PlanCallState::Answered(output)) = self.state(&from.node) else {
            return Err(Next::Absent(node, from));
        };
        match values::find(output, from) {
            ValueLookup::Nothing => Err(Next::Absent(node, from)),
            ValueLookup::Value(value) => Ok(value),
            ValueLookup::Items(items) if from.item == Item::Chosen => {
                let chosen = self.chosen.get(&node.label).and_then(|chosen| chosen.get(&from.node));
                match chosen.and_then(|item| items.get(*item)) {
                    Some((_, value)) => Ok(value.clone()),
                    None => Err(Next::Choose(Options { node, argument, from, items })),
                }
            }
            ValueLookup::Items(items) => Ok(Value::Array(items.into_iter().map(|(_, value)| value).collect())),
        }
    }
}
