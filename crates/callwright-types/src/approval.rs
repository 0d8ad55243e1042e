//! Human approval of a call.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

/// Status of a call that requires approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum ApprovalStatus {
    /// No decision yet.
    Pending,
    /// The call may be executed once.
    Approved,
    /// The call must not be executed.
    Denied,
    /// No decision within the time limit, or the approved call was not executed within its time limit.
    Expired,
    /// The turn that waited for the decision ended before one was made.
    Withdrawn,
    /// The call was approved, and its execution has started or finished.
    Used,
}

crate::labels!(ApprovalStatus);

/// The data of an approval that is reported to the model and in the trace of the turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalNote {
    /// Id of the approval in the queue.
    pub id: String,
    pub status: ApprovalStatus,
    /// Deadline of the decision; after a decision, the end of its validity.
    pub expires_at: Timestamp,
    /// Time of the decision.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub decided_at: Option<Timestamp>,
    /// Name of the person who decided, as the person stated it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub decided_by: Option<String>,
    /// The person's comment on the decision.
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
