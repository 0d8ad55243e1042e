//! Messages of a conversation, and the calls in them.

use serde::{Deserialize, Serialize};

/// Role of a message's author.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    User,
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

/// One call as the model made it; no part of it has been validated.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
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

/// Author of a text in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextAuthor {
    User,
    /// The client or the operator: instructions, and members of the request besides the conversation.
    Client,
    /// None of the parties: results of calls, documents, and content of unknown kinds.
    Foreign,
    /// The model, in an earlier answer.
    Model,
}

/// A part of a request, in the order of the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestPart<'a> {
    /// A message of the user begins.
    UserMessage,
    /// A text. It continues the last text of the same author.
    Text(TextAuthor, &'a str),
    /// A text that continues no other: one string of a tool's definition, or the arguments of an earlier call.
    Separate(&'a str),
    /// Foreign content that is not text, such as an image.
    Media,
    /// Content that only the provider can read: state that it keeps, files, encrypted results.
    Hidden,
}
