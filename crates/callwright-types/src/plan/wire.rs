//! The JSON form of a plan, validated on deserialisation.

use serde::{Deserialize, Serialize};

use super::{Node, Plan, PlanError};

/// A plan in serialised form.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlanForm {
    nodes: Vec<Node>,
    finals: Vec<String>,
}

impl From<Plan> for PlanForm {
    fn from(Plan { nodes, finals }: Plan) -> Self {
        Self { nodes, finals }
    }
}

impl TryFrom<PlanForm> for Plan {
    type Error = PlanError;

    fn try_from(PlanForm { nodes, finals }: PlanForm) -> Result<Self, PlanError> {
        Self::new(nodes, finals)
    }
}
