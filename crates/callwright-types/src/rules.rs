//! What a policy may rule: shared by `policy`, which reads the rules from files, and the rooms that obey them.

mod execute;
mod explain;
mod faults;
mod matchers;
mod offer;
mod plan;
mod procedures;
mod recall;
mod rescue;

use serde::{Deserialize, Serialize};

pub use execute::{ApprovalMode, ApprovalRules, ExecuteRule, ExecuteRules, Permission};
pub use explain::{ClientTools, ExplainRules, FailureRule, NumberRange, RuledOutcome};
pub use faults::{Action, FaultActions};
pub use matchers::{LinearRegex, ToolGlobs};
pub use offer::{ClientOffer, OfferRules, SearchRules};
pub use plan::PlanMode;
pub use procedures::ProceduresMode;
pub use recall::RecallRules;
pub use rescue::{Evidence, Expressions, RescueRules, Unsure};

/// How far the proxy may go with a turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Pass through, judge nothing.
    Off,
    /// Judge, count and record what would be done; change no answer.
    Shadow,
    /// Judge, repair, send back, execute.
    #[default]
    Guard,
}

impl Mode {
    /// Value in traces, and in policy files.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Shadow => "shadow",
            Self::Guard => "guard",
        }
    }
}

/// Which faults of a call a scan reports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Report {
    /// Every fault of the first level that has one (DESIGN section 5).
    #[default]
    First,
    /// Every fault of every level that can still be judged.
    All,
}

/// What is done about a parameter that the tool does not have (E3).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnknownParameters {
    /// Left in the call; no fault.
    Allow,
    /// Removed from the call: a repair.
    Drop,
    /// A fault, unless the schema explicitly allows additional properties.
    #[default]
    Refuse,
}

/// Rules of the scan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScanRules {
    /// Faults of the first faulty level, or of all.
    pub report: Report,
    /// What is done about each fault.
    pub faults: FaultActions,
    /// What is done about a parameter that the tool does not have.
    pub unknown_parameters: UnknownParameters,
    /// Least string similarity, 0 to 1, at which an unknown name is taken to mean a known one (E2.3, E3.3).
    ///
    /// On names of real tools and parameters, misspelt and reworded, and as many that mean none of those offered, 0.65
    /// suggests the right one for more than 99 % of those that mean one, and nearly nothing else (tools 96 %, parameters
    /// 99 % of suggestions right); of the names that models really got wrong it suggests more than twice as many as 0.7,
    /// all of them right: words put before a name (`params_location`) leave it a similarity of two thirds. From 0.8 on
    /// misspelt short names are missed. A suggestion is only told, never made (BENCHMARKS.md, "Names").
    pub similarity: f64,
    /// Least similarity in meaning, 0 to 1, at which an unknown name is taken to mean a known one whose spelling is not similar (E2.3, E3.3;
    /// AutoFeedback section 3.2.2). It is the cosine of the vectors of the names' words, from the configured embedder (`[embedding]`).
    ///
    /// The default is measured with the built-in table on names reworded by synonyms, whose spelling suggests nothing: below it, more than one
    /// suggestion of a tool in ten is wrong. A suggestion is only reported, never made (BENCHMARKS.md, "Names").
    pub semantic_similarity: f64,
    /// When another tool is taken to serve the request better (E2.1).
    pub relevance: RelevanceRules,
    /// Rounds of calls, counted back from the one judged, in which an earlier call is looked for (E5).
    pub repeat_window: u32,
    /// What is taken for going round in circles (E5.1).
    pub circle: CircleRules,
}

impl Default for ScanRules {
    fn default() -> Self {
        Self {
            report: Report::First,
            faults: FaultActions::default(),
            unknown_parameters: UnknownParameters::Refuse,
            similarity: 0.65,
            semantic_similarity: 0.65,
            relevance: RelevanceRules::default(),
            repeat_window: 3,
            circle: CircleRules::default(),
        }
    }
}

/// What is taken for going round in circles (E5.1): the same calls with the same results, lap by lap.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CircleRules {
    /// How often the same call has to be made, the one judged included, where all before gave the same.
    pub calls: u32,
    /// Rounds of calls that a lap may have.
    pub period: u32,
}

impl Default for CircleRules {
    fn default() -> Self {
        Self { calls: 3, period: 2 }
    }
}

/// When another tool is taken to serve the request better than the one called (E2.1).
///
/// Where the tools and the request have vectors, scores are closeness in meaning and `closeness` is the evidence; else they are matches of words,
/// and `coverage` is. Over five sets of requests with twenty tools offered, the defaults raise an alarm for 0.3 % of right calls and 29 % of
/// wrong ones by meaning, and for 0.1 % and 6 % by words (BENCHMARKS.md, "Relevance"). Precision comes first: an alarm can cost a right call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RelevanceRules {
    /// Largest score of the called tool, as a share of the best one's, 0 to 1.
    pub share: f64,
    /// By words: least share of the request, 0 to 1, that the best tool's text recognises.
    pub coverage: f64,
    /// By meaning: least closeness, 0 to 1, of the best tool to the request.
    pub closeness: f64,
}

impl Default for RelevanceRules {
    fn default() -> Self {
        Self { share: 0.2, coverage: 0.3, closeness: 0.5 }
    }
}

/// Rules of repair: which changes may be made without asking the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RepairRules {
    /// When text becomes calls (E1).
    pub rescue: RescueRules,
    /// Rename tools and parameters that differ in case, separators, namespace or debris of a chat template only (E2.2, E3.2).
    pub names: bool,
    /// Coerce values whose type is wrong where the change loses nothing (E4.1, E4.2 for enums).
    pub values: bool,
    /// Fill required parameters from the schema's default (E3.4).
    pub defaults: bool,
}

impl Default for RepairRules {
    fn default() -> Self {
        Self { rescue: RescueRules::default(), names: true, values: true, defaults: true }
    }
}

/// What the client gets when the limits are reached and the answer is still faulty.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnExhausted {
    /// The answer as the model gave it, marked `faulty`.
    #[default]
    Pass,
    /// The answer without its faulty calls.
    Strip,
    /// An error with status 502 and code `feedback_exhausted`.
    Error,
}

/// What traces store.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RecordRules {
    /// Store bodies: requests, answers, arguments, API answers. Off by default.
    pub bodies: bool,
}

/// Which token counts the client's `usage` shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UsageReport {
    /// What the answer that the client got cost: clients steer context compaction by it.
    #[default]
    Final,
    /// The sum over all attempts.
    Sum,
}
