//! Rules of a policy: shared by `policy`, which parses them from files, and the modules that apply them.

mod execute;
mod explain;
mod faults;
mod matchers;
mod observe;
mod offer;
mod rescue;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

pub use execute::{ApprovalMode, ApprovalRules, ExecuteRule, ExecuteRules, Permission};
pub use explain::{ClientTools, ExplainRules, FailureRule, NumberRange, RuledOutcome};
pub use faults::{Action, FaultActions};
pub use matchers::{LinearRegex, ToolGlobs};
pub use observe::{Ablation, ObserveRules, SuccessCheck};
pub use offer::{ClientOffer, OfferRules, SearchRules};
pub use rescue::{Evidence, Expressions, RescueRules, Unsure};

/// Degree to which the proxy may intervene in a turn.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Forwards everything without evaluation.
    Off,
    /// Evaluates, counts and records what guard mode would do; changes no answer.
    Shadow,
    /// Evaluates, repairs, sends feedback and executes calls.
    #[default]
    Guard,
}

crate::labels!(Mode);

/// Faults of a call that a scan reports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Report {
    /// All faults of the first level that has any.
    #[default]
    First,
    /// All faults of every level that can still be evaluated.
    All,
}

/// Handling of a parameter that the tool does not have (E3).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UnknownParameters {
    /// Kept in the call; no fault.
    Allow,
    /// Kept and noted, unless the schema excludes it, the tool is the proxy's own, or evidence shows that another
    /// parameter is meant: a required one is missing, the name is misspelt, the tool rejected it before, or the call was
    /// read from a text or from broken JSON.
    #[default]
    Auto,
    /// Removed from the call by a repair.
    Drop,
    /// A fault, unless the schema explicitly allows additional properties.
    Refuse,
}

/// Rules of the scan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ScanRules {
    /// Extent of the report: the first faulty level or all levels.
    pub report: Report,
    /// Action for each fault.
    pub faults: FaultActions,
    /// Handling of a parameter that the tool does not have.
    pub unknown_parameters: UnknownParameters,
    /// Minimum string similarity, 0 to 1, at which an unknown name is matched to a known one (E2.3, E3.3).
    ///
    /// Measured on names of real tools and parameters, misspelt and reworded, and on as many names that match none of
    /// those offered. 0.65 suggests the right name for more than 99 % of those that have one. 96 % of the suggestions
    /// of tools and 99 % of those of parameters are right. Of the names that models really got wrong, it suggests more
    /// than twice as many as 0.7, all of them right: a prefix (`params_location`) leaves a name with a similarity of
    /// two thirds. From 0.8 on, misspelt short names are missed. A suggestion is only reported, never applied
    /// (docs/benchmarks/judging.md, "Names"). A tool is suggested only if its name has the same words, each of them
    /// misspelt at most: another verb or digit is another tool.
    pub similarity: f64,
    /// Minimum similarity in meaning, 0 to 1, at which an unknown name is matched to a known one whose spelling is not
    /// similar (AutoFeedback section 3.2.2): such a parameter is suggested (E3.3), such a tool comes first in the list of
    /// offered ones (E2). It is the cosine similarity of the names' embeddings, from the configured embedder
    /// (`[embedding]`).
    ///
    /// The default is the paper's. With the built-in table, on names reworded by synonyms that have no similar spelling,
    /// 98 % of the suggested parameters and 88 % of the tools that come first are right. A suggestion is only reported,
    /// never applied (docs/benchmarks/judging.md, "Names").
    pub semantic_similarity: f64,
    /// Conditions under which another tool is considered more relevant to the request (E2.1).
    pub relevance: RelevanceRules,
    /// Number of rounds of calls, counted back from the evaluated one, that are searched for an earlier call (E5).
    pub repeat_window: u32,
    /// Detection of repeated cycles of calls (E5.1).
    pub circle: CircleRules,
}

impl Default for ScanRules {
    fn default() -> Self {
        Self {
            report: Report::First,
            faults: FaultActions::default(),
            unknown_parameters: UnknownParameters::Auto,
            similarity: 0.65,
            semantic_similarity: 0.5,
            relevance: RelevanceRules::default(),
            repeat_window: 3,
            circle: CircleRules::default(),
        }
    }
}

/// Detection of repeated cycles of calls (E5.1): the same calls with the same results in each cycle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CircleRules {
    /// Number of identical calls, including the evaluated one, whose earlier results were all the same.
    pub calls: u32,
    /// Maximum number of rounds in a cycle.
    pub period: u32,
}

impl Default for CircleRules {
    fn default() -> Self {
        Self { calls: 3, period: 2 }
    }
}

/// Conditions under which another tool is considered more relevant to the request than the one called (E2.1).
///
/// If the tools and the request have embeddings, scores are semantic similarity and `closeness` is the evidence.
/// Otherwise they are lexical scores, and `coverage` is the evidence. Over five sets of requests with twenty tools
/// offered, the defaults report 0.3 % of right calls and 31 % of wrong ones by meaning, and 0.1 % and 6 % by words
/// (docs/benchmarks/judging.md, "Relevance"). Precision has priority: a false report can cost a right call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RelevanceRules {
    /// Maximum score of the called tool, as a share of the best score, 0 to 1.
    pub share: f64,
    /// Lexical: minimum share of the request, 0 to 1, that matches the best tool's text.
    pub coverage: f64,
    /// Semantic: minimum similarity, 0 to 1, of the best tool to the request.
    pub closeness: f64,
}

impl Default for RelevanceRules {
    fn default() -> Self {
        Self { share: 0.2, coverage: 0.3, closeness: 0.5 }
    }
}

/// Rules of repair: permitted changes without a request to the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RepairRules {
    /// Conditions under which text becomes calls (E1).
    pub rescue: RescueRules,
    /// Whether to remove chat template marks next to a native call, and copies of the call, from the text (E1).
    pub residue: bool,
    /// Whether to rename tools and parameters that differ only in case, separators, namespace or chat template debris
    /// (E2.2, E3.2).
    pub names: bool,
    /// Whether to coerce values of a wrong type if nothing is lost (E4.1, E4.2 for enums).
    pub values: bool,
    /// Whether to fill required parameters from the schema's default (E3.4).
    pub defaults: bool,
}

impl Default for RepairRules {
    fn default() -> Self {
        Self { rescue: RescueRules::default(), residue: true, names: true, values: true, defaults: true }
    }
}

/// The client's answer if the limits are reached and the model's answer is still faulty.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnExhausted {
    /// The answer of the model, marked `faulty`.
    #[default]
    Pass,
    /// The answer without its faulty calls.
    Strip,
    /// An error with status 502 and code `feedback_exhausted`.
    Error,
}

/// Content of stored traces.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RecordRules {
    /// Whether to store bodies: requests, answers, arguments, API responses. Off by default.
    pub bodies: bool,
}

/// Handling of a response in the background, whose calls are not judged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BackgroundRule {
    /// Forwards the request. The response is unguarded.
    Unguarded,
    /// Refuses the request if its virtual key is bound to the policy, and forwards it otherwise.
    #[default]
    Auto,
    /// Refuses the request.
    Refuse,
}

/// Token counts in the client's `usage`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UsageReport {
    /// Tokens of the answer that the client received. Clients base context compaction on this count.
    #[default]
    Final,
    /// The sum over all attempts.
    Sum,
}

/// Rules of memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RecallRules {
    /// Maximum number of lessons recalled per turn (ExpNote, section 3.2: RECALL); 0 for none.
    pub lessons: u32,
    /// Whether the model is informed that there is no lesson. The paper does this; it costs tokens in each such turn.
    pub tell_none: bool,
    /// Whether lessons and procedures may be learned from the turn.
    pub learn: bool,
    /// Name of a group: all clients whose policy names it share one memory. Empty: each client key has its own.
    pub group: String,
    /// Whether a model may abstract the notes of the group's lessons from recorded turns (`learning.alias`).
    pub reflect: bool,
}

impl Default for RecallRules {
    fn default() -> Self {
        Self { lessons: 3, tell_none: false, learn: true, group: String::new(), reflect: false }
    }
}

/// Condition under which a turn draws a plan of calls backward from the goal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlanMode {
    /// For each new user request for which tools are offered.
    Always,
    /// As `auto`, and if the planning model reports in one small request that calls depend on one another.
    Ask,
    /// If the required tool needs a value that the conversation lacks and another tool can provide.
    #[default]
    Auto,
    /// Never.
    Off,
}

/// Condition under which a model outlines a solution from learned procedures.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProceduresMode {
    /// For each new user request for which tools are offered and that a procedure matches.
    Always,
    /// If the required tool needs several values that the conversation lacks and no tool evidently provides.
    #[default]
    Auto,
    /// Never; procedures do not serve as plan templates either.
    Off,
}
