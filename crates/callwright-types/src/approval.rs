//! A person's word on a call.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Where a call that must be approved stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalStatus {
    /// Nobody has decided yet.
    Pending,
    /// It may be executed, once.
    Approved,
    /// It may not.
    Denied,
    /// Nobody decided in time, or what was approved was not executed in time.
    Expired,
    /// The turn that waited for it ended before anybody decided.
    Withdrawn,
    /// It was approved, and is or was executed.
    Used,
}

impl ApprovalStatus {
    /// Every status.
    pub const ALL: [Self; 6] =
        [Self::Pending, Self::Approved, Self::Denied, Self::Expired, Self::Withdrawn, Self::Used];

    /// Value in the store, in traces and in the administration's answers.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Expired => "expired",
            Self::Withdrawn => "withdrawn",
            Self::Used => "used",
        }
    }

    /// The status of this label.
    pub fn of(label: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.label() == label)
    }
}

/// What is told of an approval: to the model, and in the trace of the turn whose call it is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalNote {
    /// Its id in the queue.
    pub id: String,
    /// Where it stands.
    pub status: ApprovalStatus,
    /// Until when the decision is waited for; once there is one, until when it holds.
    pub expires_at: Timestamp,
    /// When it was decided.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub decided_at: Option<Timestamp>,
    /// Who decided, as they say.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub decided_by: Option<String>,
    /// What they said about it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub comment: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_is_known_by_its_label_which_is_what_is_written() {
        for status in ApprovalStatus::ALL {
            assert_eq!(ApprovalStatus::of(status.label()), Some(status));
            assert_eq!(serde_json::to_value(status).unwrap(), status.label());
        }
        assert_eq!(ApprovalStatus::of("gone"), None);
    }
}
