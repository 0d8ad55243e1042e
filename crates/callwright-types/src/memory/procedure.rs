//! Procedures: input, output and ordered steps (AAG, section 3.1).

use jiff::Timestamp;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Backing, ClientTool, Evidence, Fingerprint, Retirement, Scope, UsageCounter};
use crate::Plan;

/// A past solution: its inputs, its output, and the calls that lead there.
///
/// It is deserialised only if it states which of its tools are a client's own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Procedure {
    /// Id of the procedure: `pro_` and hexadecimal digits.
    pub id: String,
    /// Scope of the memory that the procedure belongs to.
    pub scope: Scope,
    /// Toolsets of its tools; a client's own tools have none.
    #[serde(default)]
    pub toolsets: Vec<String>,
    /// The tools that are a client's own; only their names are stored. `None` if an earlier version learned the
    /// procedure and did not record the owner of its tools.
    #[serde(default)]
    pub client_tools: Option<Vec<ClientTool>>,
    /// Required inputs.
    pub input: Vec<ProcedureInput>,
    /// Description of the output.
    pub output: String,
    /// Descriptions of the steps, in order.
    pub steps: Vec<String>,
    /// The steps as a plan. An input is a missing argument whose question is [`ProcedureInput::name`]. The only values
    /// are those from the tools' schemas.
    pub plan: Plan,
    /// The verified outcomes that support the procedure, oldest first.
    pub evidence: Vec<Evidence>,
    /// Results of turns with and without the procedure.
    #[serde(default)]
    pub tally: UsageCounter,
    /// Reason why the procedure is no longer used, if it is retired.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub retired: Option<Retirement>,
    /// Time when it was learned.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

impl Procedure {
    /// Returns the fingerprint of the tool with this name, if it is a client's own.
    pub fn fingerprint(&self, tool: &str) -> Option<&Fingerprint> {
        let mut own = self.client_tools.iter().flatten();
        own.find(|own| own.name.as_str() == tool).map(|own| &own.fingerprint)
    }
}

impl Serialize for Procedure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for Procedure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let procedure = Self::deserialize(deserializer)?;
        if procedure.client_tools.is_none() {
            return Err(D::Error::custom(
                "this procedure of an earlier version may contain texts of a client's own tools; it is not used. \
                 Run `callwright learn procedures` to learn the procedures of the operator's tools again from traces",
            ));
        }
        Ok(procedure)
    }
}

/// An input of a procedure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcedureInput {
    /// Parameter name, prefixed with the tool's name if two inputs share it.
    pub name: String,
    /// Description from the parameter's schema.
    pub description: String,
}

/// A draft that may become a procedure once it is verified. Like a [`LessonDraft`](super::LessonDraft), it is in
/// general terms only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProcedureDraft {
    /// See [`Procedure::toolsets`].
    #[serde(default)]
    pub toolsets: Vec<String>,
    /// See [`Procedure::client_tools`].
    #[serde(default)]
    pub client_tools: Option<Vec<ClientTool>>,
    /// See [`Procedure::input`].
    pub input: Vec<ProcedureInput>,
    /// See [`Procedure::output`].
    pub output: String,
    /// See [`Procedure::steps`].
    pub steps: Vec<String>,
    /// See [`Procedure::plan`].
    pub plan: Plan,
    /// The verification that the draft requires.
    pub backing: Backing,
}
