//! One message of a conversation.

use super::Call;

/// Who a message is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    /// A user.
    User,
    /// The model.
    Model,
    /// A tool: the result of a call.
    Tool,
    /// Who set the conversation up: system and developer messages, and roles that we do not know.
    Other,
}

/// One message of a conversation, whatever the wire format was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Who it is from.
    pub speaker: Speaker,
    /// Its text; empty where there is none.
    pub text: String,
    /// The calls that it makes.
    pub calls: Vec<Call>,
    /// The id of the call that it answers.
    pub answers: Option<String>,
    /// The name of the participant or, in a tool's message of the legacy kind, of the tool.
    pub name: Option<String>,
}
