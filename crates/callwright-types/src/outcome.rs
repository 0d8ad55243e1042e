//! Outcomes of executed calls, and the passages of documentation that explain failed ones.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use super::{ApprovalNote, Refusal, RefusalReason};

/// Outcome of executing a call. A refusal or a transport failure is an outcome too: execution never returns an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The API responded, with any status.
    Answered(ApiAnswer),
    /// Nothing reached the API because the connection failed. A retry is safe.
    Unreachable {
        /// Reason, without secrets.
        reason: String,
    },
    /// The request was sent (or may have been) and no response arrived. It is not known whether the request took
    /// effect.
    Unknown {
        /// Reason, without secrets.
        reason: String,
    },
    /// The request was not sent: a rule of policy or safety forbids it.
    Refused(Refusal),
    /// The request was not sent: a required credential is not available.
    Unauthorised {
        /// Whether no credential is configured, or the configured one cannot be obtained.
        fault: CredentialFault,
        /// Text for the model, without secrets.
        reason: String,
    },
    /// The request was not sent: policy requires approval, and there is none or it has been used.
    Unapproved(ApprovalNote),
}

/// Fault of a toolset's credential that made a call fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum CredentialFault {
    /// No credential is configured.
    Missing,
    /// The credential is configured but cannot be obtained: an unreadable file, a token that is not granted.
    Unavailable,
    /// The API rejected the credential.
    Refused,
}

crate::labels!(CredentialFault);

/// An API's response, limited in size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiAnswer {
    /// HTTP status code.
    pub status: u16,
    /// Header fields relevant to a reader (`content-type`, `retry-after`, `location`, ...), with lower-case names.
    pub headers: Vec<(String, String)>,
    /// Body, up to the executor's limit.
    pub body: Bytes,
    /// Whether the body is incomplete: cut by the size or time limit, or by a broken connection.
    pub truncated: bool,
    /// Further pages of the response.
    pub paging: Paging,
}

/// The pages of a response after the first one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Paging {
    /// Bodies of further pages that were fetched, in order.
    pub later: Vec<Bytes>,
    /// The next page, which was not fetched; `None` if there is none.
    pub next: Option<NextPage>,
}

/// A page announced by an API.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NextPage {
    /// Arguments by name with which the same call requests the page; empty if the tool has no parameter for that.
    pub arguments: Vec<(String, String)>,
}

/// Whether an HTTP status reports a success: 2xx, and 304, the success of a conditional request (RFC 9110 sections 15.3
/// and 15.4.5).
pub const fn is_success_status(status: u16) -> bool {
    matches!(status, 200..=299 | 304)
}

impl ApiAnswer {
    /// Creates a response with a status and a complete body.
    pub fn new(status: u16, body: impl Into<Bytes>) -> Self {
        Self { status, headers: Vec::new(), body: body.into(), truncated: false, paging: Paging::default() }
    }

    /// Returns the value of a header field by its lower-case name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Whether the API requests a later retry (RFC 6585 section 4, RFC 9110 section 10.2.3).
    pub fn requests_retry(&self) -> bool {
        matches!(self.status, 429 | 503) && self.header("retry-after").is_some()
    }

    /// Whether the status reports a success ([`is_success_status`]).
    pub fn is_success(&self) -> bool {
        is_success_status(self.status)
    }

    /// Whether the API redirects instead of answering (RFC 9110 section 15.4).
    pub fn redirects(&self) -> bool {
        (300..400).contains(&self.status) && !self.is_success()
    }

    /// Returns the body as text; invalid UTF-8 is replaced.
    pub fn text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.body)
    }
}

impl Outcome {
    /// Returns the metric label value.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Answered(answer) if answer.is_success() => "success",
            Self::Answered(answer) if answer.redirects() => "redirected",
            Self::Answered(answer) if (400..500).contains(&answer.status) => "client_error",
            Self::Answered(_) => "server_error",
            Self::Unreachable { .. } => "unreachable",
            Self::Unknown { .. } => "unknown",
            Self::Refused(_) | Self::Unauthorised { .. } => "refused",
            Self::Unapproved(_) => "unapproved",
        }
    }

    /// Returns the reason why the request was not sent, if a rule or a person refused it.
    pub fn refusal(&self) -> Option<RefusalReason> {
        match self {
            Self::Refused(refusal) => Some(refusal.reason),
            Self::Unauthorised { fault, .. } => Some(RefusalReason::of_credential(*fault)),
            Self::Unapproved(note) => RefusalReason::of_approval(note.status),
            Self::Answered(_) | Self::Unreachable { .. } | Self::Unknown { .. } => None,
        }
    }

    /// Returns the HTTP status, if an API responded.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Answered(answer) => Some(answer.status),
            _ => None,
        }
    }
}

impl From<Refusal> for Outcome {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// A piece of an API's documentation before it is split: a description, a parameter or a response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Hash)]
pub struct DocText {
    /// The text as it is in the document (Markdown allowed).
    pub text: String,
    /// Location of the text: document and JSON Pointer, or file and heading.
    pub source: String,
}

/// A few adjacent sentences of an API's documentation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Passage {
    /// The sentences as they are in the documentation, with whitespace folded. A table row is on a line below its
    /// header.
    pub text: String,
    /// Location of the sentences: document and JSON Pointer, or file and heading.
    pub source: String,
    /// Confidence that the passage is about the failure, from 0 to 1. Among passages of equal confidence, those of the
    /// operation come first.
    pub score: f32,
}

/// The documentation's explanation of a failed outcome, best passage first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// Passages, best first; empty if nothing relevant was found.
    pub passages: Vec<Passage>,
}

impl Explanation {
    /// Whether the documentation has a relevant passage.
    pub fn is_hit(&self) -> bool {
        !self.passages.is_empty()
    }
}
