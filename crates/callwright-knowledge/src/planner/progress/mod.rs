//! A plan under way: which of its calls were made, what they answered, and what comes next.
//!
//! Pure: nothing here asks a model, calls an API or reads a clock. `values` takes arguments out of answers, `choice` chooses from lists by what
//! was said, `follow` holds the plan against what a client really did. Has a JSON form for the store, so that any replica can go on with it.

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
use values::Found;

/// A plan and how far it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// What the ids of its calls begin with.
    handle: String,
    plan: Plan,
    /// What is known of its calls, by their labels; nothing of those that were not made.
    calls: BTreeMap<String, Made>,
    /// Which item of a list a call takes: by the call that takes it and the one that has the list.
    #[serde(default)]
    chosen: BTreeMap<String, BTreeMap<String, usize>>,
    /// Ids that were given.
    ids: u32,
    /// Answers of the plan so far: the calls of one belong together.
    answers: u32,
    /// How often parts of the plan were drawn anew because something failed.
    #[serde(default)]
    mended: u32,
}

/// A call that was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Made {
    id: String,
    /// The answer of the plan that it was part of.
    answer: u32,
    arguments: Value,
    state: State,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum State {
    /// It is under way.
    Sent,
    /// It was answered with this.
    Answered(Value),
    /// It failed, and nothing was done about that yet.
    Failed,
}

/// What comes next.
#[derive(Debug, Clone, PartialEq)]
pub enum Next<'a> {
    /// A call failed: it has to be drawn anew.
    Failed(&'a Node),
    /// The user has to be asked for these, in one question.
    Ask(Vec<MissingInput<'a>>),
    /// These calls can be made.
    Calls(Vec<Ready<'a>>),
    /// An item has to be chosen from a list before anything else can be done.
    Choose(Options<'a>),
    /// A call cannot be made as it was drawn: an answer has nothing where the plan looks for it.
    Absent(&'a Node, &'a Reference),
    /// Calls are under way, and nothing can be done before they are answered.
    Wait,
    /// All calls were answered.
    Done,
}

/// A call that can be made.
#[derive(Debug, Clone, PartialEq)]
pub struct Ready<'a> {
    /// The call.
    pub node: &'a Node,
    /// Its arguments.
    pub arguments: Map<String, Value>,
}

/// What there is to choose from.
#[derive(Debug, Clone, PartialEq)]
pub struct Options<'a> {
    /// The call that takes the value.
    pub node: &'a Node,
    /// The argument that takes it.
    pub argument: &'a str,
    /// Where the list is.
    pub from: &'a Reference,
    /// The items, each as the list has it, and the value that would be taken of it.
    pub items: Vec<(Value, Value)>,
}

impl Progress {
    /// A plan of which nothing was done yet.
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

    /// What the ids of its calls begin with.
    pub fn handle(&self) -> &str {
        &self.handle
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The labels of the calls that were answered.
    pub fn made(&self) -> HashSet<String> {
        let answered = |made: &&Made| matches!(made.state, State::Answered(_));
        self.calls.iter().filter(|(_, made)| answered(made)).map(|(label, _)| label.clone()).collect()
    }

    /// How often parts of the plan were drawn anew because something failed.
    pub fn mended(&self) -> u32 {
        self.mended
    }

    /// Goes on with another plan: calls of the same labels are the same calls, and what else was known is forgotten. `mends` tells whether
    /// something had failed.
    pub fn replace(&mut self, plan: Plan, mends: bool) {
        self.mended += u32::from(mends);
        self.calls.retain(|label, made| plan.node(label).is_some() && made.state != State::Failed);
        self.chosen.retain(|label, _| plan.node(label).is_some());
        self.plan = plan;
    }

    /// What comes next. What failed comes first, then what nobody knows: nothing is done for a plan that may come to nothing.
    pub fn next(&self) -> Next<'_> {
        if let Some(failed) = self.plan.nodes().iter().find(|node| self.state(&node.label) == Some(&State::Failed)) {
            return Next::Failed(failed);
        }
        let open = |input: &MissingInput<'_>| !self.calls.contains_key(&input.node.label);
        let missing: Vec<MissingInput<'_>> = self.plan.missing().filter(open).collect();
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
            None if self.calls.values().any(|made| made.state == State::Sent) => Next::Wait,
            None => Next::Done,
        }
    }

    /// The next answer begins: the calls that are sent from here on belong together.
    pub fn begin_answer(&mut self) {
        self.answers += 1;
    }

    /// A new id for a call.
    pub fn new_id(&mut self) -> String {
        self.ids += 1;
        ids::planned_call_id(&self.handle, self.ids - 1)
    }

    /// A call is sent under this id and with these arguments, which may be spelled otherwise than they were planned.
    pub fn sent(&mut self, label: &str, id: &str, arguments: Value) {
        let made = Made { id: id.to_owned(), answer: self.answers, arguments, state: State::Sent };
        if self.plan.node(label).is_some() {
            self.calls.insert(label.to_owned(), made);
        }
    }

    /// The arguments of a call that is under way were spelled like this.
    pub fn spelled(&mut self, id: &str, arguments: Value) {
        if let Some(made) = self.calls.values_mut().find(|made| made.id == id) {
            made.arguments = arguments;
        }
    }

    /// The call of this id was not made after all, and comes again; says whether it is one of the plan's.
    pub fn unmade(&mut self, id: &str) -> bool {
        let before = self.calls.len();
        self.calls.retain(|_, made| made.id != id);
        self.calls.len() < before
    }

    /// The ids of the calls that are under way.
    pub fn under_way(&self) -> Vec<String> {
        self.calls.values().filter(|made| made.state == State::Sent).map(|made| made.id.clone()).collect()
    }

    /// The call of this id was answered with this; says whether it is one of the plan's.
    pub fn answered(&mut self, id: &str, output: Value) -> bool {
        self.set(id, State::Answered(output))
    }

    /// The call of this id failed; says whether it is one of the plan's.
    pub fn failed(&mut self, id: &str) -> bool {
        self.set(id, State::Failed)
    }

    /// The item at this position was taken for a call from the list of another.
    pub fn choose(&mut self, taker: &str, from: &str, item: usize) {
        self.chosen.entry(taker.to_owned()).or_default().insert(from.to_owned(), item);
    }

    /// Where the values of the calls that were not made yet come from. What a failed call would have supplied is not expected from it.
    pub fn expectations(&self) -> Expectations {
        let open = self.plan.edges().filter(|edge| !self.calls.contains_key(edge.to));
        let expected = open.filter_map(|edge| {
            let (taker, feeder) = (self.plan.node(edge.to)?, self.plan.node(&edge.from.node)?);
            // Of a value that is made of several, none is the whole.
            if !matches!(taker.argument(edge.argument)?.source, Source::Output(_)) {
                return None;
            }
            let values = match self.state(&feeder.label) {
                Some(State::Failed | State::Sent) => return None,
                Some(State::Answered(output)) => values::all(output, edge.from),
                None => Vec::new(),
            };
            let path = Pointer::root().child(edge.argument);
            Some(Expectation { tool: taker.tool.clone(), path, source: feeder.tool.clone(), values })
        });
        Expectations { expected: expected.collect() }
    }

    fn state(&self, label: &str) -> Option<&State> {
        self.calls.get(label).map(|made| &made.state)
    }

    fn set(&mut self, id: &str, state: State) -> bool {
        let known = self.calls.values_mut().find(|made| made.id == id);
        known.map(|made| made.state = state).is_some()
    }

    /// The arguments of a call all of whose feeders were answered, or what is in the way.
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
        let Some(State::Answered(output)) = self.state(&from.node) else { return Err(Next::Absent(node, from)) };
        match values::find(output, from) {
            Found::Nothing => Err(Next::Absent(node, from)),
            Found::Value(value) => Ok(value),
            Found::Items(items) if from.item == Item::Chosen => {
                let chosen = self.chosen.get(&node.label).and_then(|chosen| chosen.get(&from.node));
                match chosen.and_then(|item| items.get(*item)) {
                    Some((_, value)) => Ok(value.clone()),
                    None => Err(Next::Choose(Options { node, argument, from, items })),
                }
            }
            Found::Items(items) => Ok(Value::Array(items.into_iter().map(|(_, value)| value).collect())),
        }
    }
}
