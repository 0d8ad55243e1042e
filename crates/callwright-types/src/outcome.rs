//! What executing a call gave.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::ApprovalNote;

/// What executing a call gave. A refusal or a transport failure is an outcome too: execution never errors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The API answered, with whatever status.
    Answered(ApiAnswer),
    /// Nothing reached the API: it could not be connected to. Safe to try again.
    Unreachable {
        /// Why, without secrets.
        reason: String,
    },
    /// The request was sent (or may have been) and no answer came: whether it took effect is not known.
    Unknown {
        /// Why, without secrets.
        reason: String,
    },
    /// We did not send it: a rule of policy or safety forbids it.
    Refused {
        /// Which rule, and what would allow it.
        reason: String,
    },
    /// We did not send it: a credential that it needs cannot be had.
    Unauthorised {
        /// What the model is told, without secrets.
        reason: String,
    },
    /// We did not send it: policy wants a person to approve it, and nobody has, or what was approved is used up.
    Unapproved(ApprovalNote),
}

/// What is wrong with the credential of a toolset, where a call failed because of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CredentialFault {
    /// None is given.
    Missing,
    /// It is given, and cannot be had: a file that cannot be read, a token that is not granted.
    Unavailable,
    /// The API refused it.
    Refused,
}

impl CredentialFault {
    /// Every fault.
    pub const ALL: [Self; 3] = [Self::Missing, Self::Unavailable, Self::Refused];

    /// Metric label and value in traces.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Unavailable => "unavailable",
            Self::Refused => "refused",
        }
    }
}

/// An API's answer, bounded in size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiAnswer {
    /// HTTP status code.
    pub status: u16,
    /// The header fields that matter to a reader (`content-type`, `retry-after`, `location`, ...), lower-case names.
    pub headers: Vec<(String, String)>,
    /// The body, at most as long as the executor's limit.
    pub body: Bytes,
    /// Is the body incomplete: cut by the limit of size or time, or by a connection that broke?
    pub truncated: bool,
    /// What the API has beyond this page.
    pub paging: Paging,
}

/// What belongs to an answer beyond its first page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Paging {
    /// The bodies of further pages that were fetched, in order.
    pub later: Vec<Bytes>,
    /// The page after those, which was not fetched; `None` where there is none.
    pub next: Option<NextPage>,
}

/// A page that an API has announced.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NextPage {
    /// The arguments with which the same call asks for it, by name; empty where the tool has none for it.
    pub arguments: Vec<(String, String)>,
}

impl ApiAnswer {
    /// An answer of nothing but a status and a whole body.
    pub fn new(status: u16, body: impl Into<Bytes>) -> Self {
        Self { status, headers: Vec::new(), body: body.into(), truncated: false, paging: Paging::default() }
    }

    /// A header field's value, by its lower-case name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Does the API ask to be called later (RFC 6585 section 4, RFC 9110 section 10.2.3)?
    pub fn asks_for_later(&self) -> bool {
        matches!(self.status, 429 | 503) && self.header("retry-after").is_some()
    }

    /// The body as text; invalid UTF-8 is replaced.
    pub fn text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.body)
    }
}

impl Outcome {
    /// Metric label value.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Answered(answer) if answer.status < 400 => "success",
            Self::Answered(answer) if answer.status < 500 => "client_error",
            Self::Answered(_) => "server_error",
            Self::Unreachable { .. } => "unreachable",
            Self::Unknown { .. } => "unknown",
            Self::Refused { .. } | Self::Unauthorised { .. } => "refused",
            Self::Unapproved(_) => "unapproved",
        }
    }

    /// The HTTP status, where an API answered.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Answered(answer) => Some(answer.status),
            _ => None,
        }
    }
}
