//! A tool call, as requested by the model.

use serde::{Deserialize, Serialize};

/// One call as the model made it; no part of it has been validated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// The upstream's id of the call, or a generated one ([`crate::ids::call_id`]) if the upstream sent none.
    pub id: String,
    /// The tool's name as the model wrote it.
    pub name: String,
    /// The arguments as the model wrote them: the *text* of a JSON object, if the model followed the protocol.
    pub arguments: String,
}

impl Call {
    /// Returns the call in the form `name(arguments)`.
    pub fn written(&self) -> String {
        format!("{}({})", self.name, self.arguments)
    }
}
