//! Refused calls: the reason why the proxy did not send the request of a call, and its remedy.

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use super::ApprovalStatus;
use super::outcome::CredentialFault;

/// Reason why the proxy did not send the request of a call. The names are metric labels and values in traces.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum RefusalReason {
    /// The operation has no usable server URL.
    NoServer,
    /// The API's address is private, local or reserved, and the configuration does not allow it.
    AddressNotAllowed,
    /// The name of the API's host has no address.
    NoAddress,
    /// The API redirects to another server, to an invalid URL, or too often.
    RedirectNotAllowed,
    /// A rule of the policy denies the call, or none allows its method.
    PolicyDenied,
    /// A person has not decided about the call yet.
    ApprovalPending,
    /// A person denied the call.
    ApprovalDenied,
    /// No person decided in time, or the approved call was made too late.
    ApprovalExpired,
    /// The turn ended before a person decided.
    ApprovalWithdrawn,
    /// The approval was used by an earlier execution.
    ApprovalUsed,
    /// The call requires an approval that cannot be requested or used.
    ApprovalUnavailable,
    /// A required credential is not configured.
    CredentialMissing,
    /// A configured credential cannot be obtained.
    CredentialUnavailable,
    /// The arguments cannot be sent safely.
    InvalidArguments,
    /// `tool_choice` of the request excludes the tool.
    NotChosen,
    /// The turn has executed as many calls as the policy allows.
    CallLimit,
    /// The intent to execute a call with side effects could not be stored first.
    IntentNotStored,
    /// The tool is no longer in the catalog.
    ToolRemoved,
    /// The call was not validated against this operation.
    NotValidated,
    /// The client disconnected before the call was sent.
    ClientGone,
}

crate::labels!(RefusalReason);

impl RefusalReason {
    /// Returns the reason of a call whose approval has this status; `None` if it is approved.
    pub const fn of_approval(status: ApprovalStatus) -> Option<Self> {
        match status {
            ApprovalStatus::Pending => Some(Self::ApprovalPending),
            ApprovalStatus::Approved => None,
            ApprovalStatus::Denied => Some(Self::ApprovalDenied),
            ApprovalStatus::Expired => Some(Self::ApprovalExpired),
            ApprovalStatus::Withdrawn => Some(Self::ApprovalWithdrawn),
            ApprovalStatus::Used => Some(Self::ApprovalUsed),
        }
    }

    /// Returns the reason of a call that lacks a credential.
    pub const fn of_credential(fault: CredentialFault) -> Self {
        match fault {
            CredentialFault::Missing => Self::CredentialMissing,
            CredentialFault::Unavailable | CredentialFault::Refused => Self::CredentialUnavailable,
        }
    }

    /// Returns the change that lets such calls through, for operators. Contains no data of a user, a model or an API.
    pub fn remedy(self, call: &RefusedCall<'_>) -> String {
        let RefusedCall { entry, tool, method, host, policy } = call;
        match self {
            Self::NoServer => {
                format!(
                    "the document has no absolute server URL; set `base_url = \"https://HOST\"` in `[toolsets.{entry}]`"
                )
            }
            Self::AddressNotAllowed => {
                format!("add {} to `allowed_addresses` in `[executor]`", allowed_address(*host))
            }
            Self::NoAddress => format!("correct the host in the document, or set `base_url` in `[toolsets.{entry}]`"),
            Self::RedirectNotAllowed => {
                format!("set `base_url` in `[toolsets.{entry}]` to the server that the API redirects to")
            }
            Self::PolicyDenied => format!(
                "add `- {}` to `execute.rules` of the policy `{policy}`, before a rule that denies the call",
                allowing_rule(method, tool)
            ),
            Self::ApprovalPending => "approve or deny the call at `/admin/approvals`".to_owned(),
            Self::ApprovalDenied => {
                "none: a person denied the call; `/admin/approvals` has the decision and its comment".to_owned()
            }
            Self::ApprovalExpired => format!(
                "decide in time at `/admin/approvals`, or raise `execute.approval.timeout_seconds` (`wait`) or \
                 `execute.approval.valid_seconds` (`notice`) of the policy `{policy}`"
            ),
            Self::ApprovalWithdrawn => format!(
                "decide before the client disconnects, or set `execute.approval.mode: notice` in the policy `{policy}`"
            ),
            Self::ApprovalUsed => "none: an approval is valid for one execution; approve the next request".to_owned(),
            Self::ApprovalUnavailable => "check that the store is available, that the client sends a key or \
                 `x-callwright-session`, and the limits `pipeline.max_pending_approvals` and \
                 `pipeline.max_approval_bytes`"
                .to_owned(),
            Self::CredentialMissing => format!(
                "set the credential in `[toolsets.{entry}.credentials]`, or `missing_credentials = \"send\"` in \
                 `[toolsets.{entry}]`"
            ),
            Self::CredentialUnavailable => {
                format!("correct the credential in `[toolsets.{entry}.credentials]`; the log has its fault")
            }
            Self::InvalidArguments => "none: the model has to send other arguments".to_owned(),
            Self::NotChosen => "none: the client chose other tools (`tool_choice`)".to_owned(),
            Self::CallLimit => format!("raise `limits.executed_calls` of the policy `{policy}`"),
            Self::IntentNotStored => "make the store available (`store.url`)".to_owned(),
            Self::ToolRemoved => "none: the document changed during the turn".to_owned(),
            Self::NotValidated => "none: the proxy validates the call again when the model repeats it".to_owned(),
            Self::ClientGone => "none: the client disconnected".to_owned(),
        }
    }
}

/// The facts of a refused call that a remedy names.
#[derive(Debug, Clone, Copy)]
pub struct RefusedCall<'a> {
    /// Key of the toolset in the configuration.
    pub entry: &'a str,
    /// `toolset/tool`, as in policies.
    pub tool: &'a str,
    /// HTTP method.
    pub method: &'a str,
    /// Host of the API, if its operation has one.
    pub host: Option<&'a str>,
    /// Name of the policy.
    pub policy: &'a str,
}

/// Returns the entry of `executor.allowed_addresses` that allows a host, in quotes.
pub fn allowed_address(host: Option<&str>) -> String {
    match host {
        Some(host) => format!("\"{}\"", host.trim_start_matches('[').trim_end_matches(']')),
        None => "the API's address".to_owned(),
    }
}

/// Returns the rule for `execute.rules` that allows the calls of a tool. `tool` may be a glob.
pub fn allowing_rule(method: &str, tool: &str) -> String {
    format!("{{methods: [{method}], tools: [\"{tool}\"], permission: allow}}")
}

/// A refused call: its reason, and a message for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// Reason, for operators and programs.
    pub reason: RefusalReason,
    /// The rule, and what would allow the call. Contains no secret, because the model reads it.
    pub message: String,
}

impl Refusal {
    /// Creates a refusal.
    pub fn new(reason: RefusalReason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_its_own_label_and_a_complete_remedy() {
        let call =
            RefusedCall { entry: "shop", tool: "shop/pay", method: "POST", host: Some("[::1]"), policy: "default" };
        let mut labels: Vec<&str> = RefusalReason::ALL.iter().map(|reason| reason.label()).collect();
        for reason in RefusalReason::ALL {
            assert_eq!(serde_json::to_value(reason).unwrap(), reason.label());
            let remedy = reason.remedy(&call);
            assert!(!remedy.is_empty() && remedy.len() < 300, "{reason}: {remedy}");
        }
        labels.sort_unstable();
        labels.dedup();
        assert_eq!(labels.len(), RefusalReason::ALL.len());
        let remedy = RefusalReason::AddressNotAllowed.remedy(&call);
        assert!(remedy.contains("\"::1\""), "{remedy}");
        let remedy = RefusalReason::PolicyDenied.remedy(&call);
        assert!(remedy.contains(r#"{methods: [POST], tools: ["shop/pay"], permission: allow}"#), "{remedy}");
    }
}
