//! Wire protocols of turns.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

/// Wire protocol of a client's request. The same protocol is used upstream: no request is translated into another one.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// OpenAI's chat completions: `POST /v1/chat/completions`.
    #[default]
    Chat,
    /// OpenAI's Responses: `POST /v1/responses`.
    Responses,
    /// Anthropic's Messages: `POST /v1/messages`.
    Messages,
}

crate::labels!(Protocol);

impl Protocol {
    /// Returns the protocol of a route template, such as `/v1/responses`; chat completions for any other.
    pub fn of_endpoint(endpoint: &str) -> Self {
        let others = [Self::Responses, Self::Messages];
        others.into_iter().find(|protocol| endpoint.ends_with(protocol.path())).unwrap_or_default()
    }

    /// Returns the path below `/v1` of its endpoint.
    pub fn path(self) -> &'static str {
        match self {
            Self::Chat => "/chat/completions",
            Self::Responses => "/responses",
            Self::Messages => "/messages",
        }
    }
}
