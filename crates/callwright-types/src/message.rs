//! Messages of a conversation.

use super::Call;

/// Role of a message's author.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    /// A user.
    User,
    /// The model.
    Model,
    /// A tool: the result of a call.
    Tool,
    /// Any other role: system, developer, and unknown roles.
    Other,
}

/// One message of a conversation, independent of the wire format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Role of the author.
    pub speaker: Speaker,
    /// Text; empty if there is none.
    pub text: String,
    /// Calls made in the message.
    pub calls: Vec<Call>,
    /// Id of the call whose result the message is.
    pub answers: Option<String>,
    /// Name of the participant, or of the tool in a legacy function message.
    pub name: Option<String>,
}
