//! What a trace tells of a plan.

use serde::{Deserialize, Serialize};

use super::{Call, Cost, Plan, Repair};

/// What became of a plan in one turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanNote {
    /// What came of it in this turn.
    pub result: PlanResult,
    /// Why the turn was planned: for `auto`, what nobody gave and which tool finds it out.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub reason: String,
    /// The id of the procedure that it was filled in from, where it was.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub procedure: Option<String>,
    /// The plan as it was at the end of the turn; none where none could be drawn.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub plan: Option<Plan>,
    /// The labels of its calls that were answered so far.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub made: Vec<String>,
    /// What it said in the model's place in this turn, in order.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub steps: Vec<PlanStep>,
    /// How values were chosen from lists in this turn.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub choices: Vec<PlanChoice>,
    /// Where the client did something else than the plan in this turn.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub deviations: Vec<PlanDeviation>,
    /// What was wrong with answers about the plan, and why it was given up; only where policy records bodies.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub notes: Vec<String>,
    /// What drawing it has cost in this turn.
    #[serde(default)]
    pub cost: Cost,
}

/// An answer that a plan gave in the model's place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanStep {
    /// The calls that it made; arguments only where policy records bodies.
    pub calls: Vec<Call>,
    /// What was changed in them so that they fit their schemas.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub repairs: Vec<Repair>,
}

/// What came of a plan in one turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanResult {
    /// All its calls were answered.
    Complete,
    /// Calls of it are with the client.
    Handed,
    /// The user was asked for what nobody knows.
    Asked,
    /// The model went on without it: a call of it failed for good, or what it needs was nowhere.
    GivenUp,
    /// The client or the user went another way.
    Dropped,
    /// None was drawn: no tool serves the request, or the answers about it could not be used.
    Undrawn,
    /// A limit of policy ended it.
    Limit,
}

impl PlanResult {
    /// Every result.
    pub const ALL: [Self; 7] =
        [Self::Complete, Self::Handed, Self::Asked, Self::GivenUp, Self::Dropped, Self::Undrawn, Self::Limit];

    /// Metric label and value in traces.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Handed => "handed",
            Self::Asked => "asked",
            Self::GivenUp => "given_up",
            Self::Dropped => "dropped",
            Self::Undrawn => "undrawn",
            Self::Limit => "limit",
        }
    }
}

/// How a value was chosen from a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanChoice {
    /// The label of the call that takes the value.
    pub call: String,
    /// The label of the call whose answer has the list.
    pub from: String,
    /// Items that there were.
    pub items: usize,
    /// The position of the one that was taken, from 0.
    pub taken: usize,
    /// Who chose it.
    pub by: ChosenBy,
}

/// Who chose an item of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChosenBy {
    /// Nobody: there is only one value.
    Only,
    /// The conversation: it names one item and none of the others.
    Said,
    /// The model that draws plans.
    Model,
}

/// What a client does other than the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanDeviation {
    /// What it is.
    pub kind: DeviationKind,
    /// The label of the call concerned; empty where it is the whole plan.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub call: String,
}

/// The ways in which a client can leave a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviationKind {
    /// A call was not made: it and what depends on it are left out.
    Skipped,
    /// A call was made again: its latest result counts.
    Repeated,
    /// A call was made with other arguments: what it answered counts.
    Changed,
    /// The user no longer wants what the plan is for.
    GoalDropped,
    /// The user wants something besides.
    GoalAdded,
    /// The client answered by itself: the plan has ended.
    AnsweredItself,
}

impl DeviationKind {
    /// Value in traces.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Skipped => "skipped",
            Self::Repeated => "repeated",
            Self::Changed => "changed",
            Self::GoalDropped => "goal_dropped",
            Self::GoalAdded => "goal_added",
            Self::AnsweredItself => "answered_itself",
        }
    }
}
