//! Wire protocols of turns.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Wire protocol of a client's request. The same protocol is used upstream: no request is translated into another one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
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

impl Protocol {
    /// Every protocol.
    pub const ALL: [Self; 3] = [Self::Chat, Self::Responses, Self::Messages];

    /// Returns the name in the configuration, traces and metrics.
    pub fn label(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Responses => "responses",
            Self::Messages => "messages",
        }
    }

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

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}
