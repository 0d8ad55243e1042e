//! A procedure: input, output and ordered steps (AAG, section 3.1).

use jiff::Timestamp;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Backing, ClientTool, Evidence, Fingerprint, Retirement, Scope, Tally};
use crate::Plan;

/// A past solution: what it needs, what it gives, and the calls that lead there.
///
/// It is read back only where it says which of its tools are a client's own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Procedure {
    /// Our id of it: `pro_` and hexadecimal digits.
    pub id: String,
    /// Whose it is.
    pub scope: Scope,
    /// The toolsets of its tools; a client's own tools have none.
    #[serde(default)]
    pub toolsets: Vec<String>,
    /// Those of its tools that are a client's own: of these it has names alone. `None`: it was learned by an earlier version, which did not
    /// tell whose tools they are.
    #[serde(default)]
    pub client_tools: Option<Vec<ClientTool>>,
    /// What it needs.
    pub input: Vec<ProcedureInput>,
    /// What it gives, in words.
    pub output: String,
    /// Its steps in words, in order.
    pub steps: Vec<String>,
    /// Its steps as a plan. An input is an argument that is missing, whose question is [`ProcedureInput::name`]; values are those alone
    /// that the tools' schemas have.
    pub plan: Plan,
    /// The verified outcomes that it rests on, oldest first.
    pub evidence: Vec<Evidence>,
    /// What became of turns with and without it.
    #[serde(default)]
    pub tally: Tally,
    /// Why it is not used any more, where it is not.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub retired: Option<Retirement>,
    /// When it was learned.
    pub created_at: Timestamp,
    /// When it changed last.
    pub updated_at: Timestamp,
}

impl Procedure {
    /// The fingerprint of the tool of this name, where it is a client's own.
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
                "this procedure does not say which tools are a client's own, and may hold texts of these, as earlier versions learned them; \
                 it cannot be used: `callwright learn procedures` learns those of the operator's tools again from traces",
            ));
        }
        Ok(procedure)
    }
}

/// Something that a procedure needs to be given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcedureInput {
    /// What it is called: a parameter's name, with the tool's where two share one.
    pub name: String,
    /// What it is, from the parameter's schema.
    pub description: String,
}

/// What may become a procedure once it is verified. Like a [`LessonDraft`](super::LessonDraft) it is in general terms alone.
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
    /// What verifies it.
    pub backing: Backing,
}
