//! The model's request to use a tool.

use serde::{Deserialize, Serialize};

/// One call as the model made it: nothing about it has been checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// The upstream's id of the call, or one that we minted ([`crate::ids::call_id`]) where it sent none.
    pub id: String,
    /// The tool's name as the model wrote it.
    pub name: String,
    /// The arguments as the model wrote them: the *text* of a JSON object, if the model was right.
    pub arguments: String,
}

impl Call {
    /// The call as people write one: `name(arguments)`.
    pub fn written(&self) -> String {
        format!("{}({})", self.name, self.arguments)
    }
}
