//! Plan data of a trace.

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use super::{Call, Cost, Plan, RepairNote};

/// Progress of a plan in one turn.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PlanNote {
    /// Result of the plan in this turn.
    pub result: PlanResult,
    /// Reason for planning the turn. For `auto`: the missing value, and the tool that provides it in the plan.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub reason: String,
    /// Id of the procedure used as a template, if any.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub procedure: Option<String>,
    /// The plan at the end of the turn; `None` if none could be drawn.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub plan: Option<Plan>,
    /// Labels of the calls with a result so far.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub made: Vec<String>,
    /// Answers that the plan gave in the model's place in this turn, in order.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub steps: Vec<PlanStep>,
    /// Values chosen from lists in this turn.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub choices: Vec<PlanChoice>,
    /// Deviations of the client from the plan in this turn.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub deviations: Vec<PlanDeviation>,
    /// Faults of the planning model's answers, and the reason why the plan was given up; only if policy records bodies.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub notes: Vec<String>,
    /// Cost of planning in this turn.
    #[serde(default)]
    pub cost: Cost,
}

/// An answer that a plan gave in the model's place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanStep {
    /// The calls made; with arguments only if policy records bodies.
    pub calls: Vec<Call>,
    /// Repairs that made the calls conform to their schemas.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub repairs: Vec<RepairNote>,
}

/// Result of a plan in one turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum PlanResult {
    /// All calls have a result.
    Complete,
    /// Calls were returned to the client for execution.
    #[default]
    Handed,
    /// A missing value was requested from the user.
    Asked,
    /// The model continued without the plan: a call failed permanently, or a required value could not be found.
    GivenUp,
    /// The client or the user deviated from the plan.
    Dropped,
    /// No plan was drawn: no tool serves the request, or the planning model's answers were unusable.
    Undrawn,
    /// A limit of policy ended the plan.
    Limit,
    /// No plan was requested, because the planning model's last answers were unusable.
    BackedOff,
}

/// The choice of a value from a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanChoice {
    /// Label of the call that takes the value.
    pub call: String,
    /// Label of the call whose response has the list.
    pub from: String,
    /// Number of items in the list.
    pub items: usize,
    /// Index of the chosen item, from 0.
    pub taken: usize,
    /// Decider of the choice.
    pub by: ChosenBy,
}

/// Decider of a choice from a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChosenBy {
    /// No decision was required: there is only one value.
    Only,
    /// The conversation: it names exactly one of the items.
    Said,
    Model,
}

/// A deviation of the client from the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanDeviation {
    pub kind: DeviationKind,
    /// Label of the affected call; empty for the whole plan.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub call: String,
}

/// Kinds of deviation from a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum DeviationKind {
    /// A call was not made; it and its dependents are removed.
    Skipped,
    /// A call was repeated; its latest result is used.
    Repeated,
    /// A call was made with different arguments; its result is used.
    Changed,
    /// The user dropped a goal of the plan.
    GoalDropped,
    /// The user added a goal.
    GoalAdded,
    /// The client answered without the model; the plan has ended.
    AnsweredItself,
}

crate::labels!(PlanResult, DeviationKind);
