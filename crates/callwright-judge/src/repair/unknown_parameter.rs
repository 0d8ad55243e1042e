//! E3: drops a parameter that the tool does not have and that does not resemble another one, if policy allows it.

use serde_json::Value;

use super::{RepairJob, RepairProposal};
use crate::scanner::examination::UnknownMember;
use crate::scanner::means_nothing;
use callwright_types::rules::UnknownParameters;
use callwright_types::{Call, FaultCode, RepairKind};

/// Proposes the removal of `member`.
pub(super) fn propose(
    member: &UnknownMember<'_>,
    arguments: &Value,
    call: &Call,
    job: &RepairJob<'_>,
) -> Option<RepairProposal> {
    let drops = job.scan.unknown_parameters == UnknownParameters::Drop
        && job.mends(FaultCode::ParameterUnknown)
        && means_nothing(call, job.tool_set, job.scan, job.context, (job.tool, arguments), member);
    let path = member.path();
    let value = arguments.pointer(path.as_str()).filter(|_| drops)?;
    Some(RepairProposal::remove(RepairKind::ParameterDropped, &path, value))
}

#[cfg(test)]
mod tests {
    use crate::repair::testing::{mend_under, unchanged};
    use crate::scanner::testing::{TOOLS, call};
    use callwright_types::RepairKind;
    use callwright_types::rules::{ScanRules, UnknownParameters};

    #[test]
    fn only_what_means_nothing_is_dropped_and_only_where_policy_says_so() {
        let drop = ScanRules { unknown_parameters: UnknownParameters::Drop, ..ScanRules::default() };
        let text = r#"{"city":"Oslo","verbose":true,"numdayz":2,"order_id":1}"#;
        let mended = mend_under(&drop, TOOLS, &call("get_weather", text));
        assert_eq!(mended.call.arguments, r#"{"city":"Oslo","numdayz":2,"order_id":1}"#);
        assert_eq!(mended.repairs[0].kind, RepairKind::ParameterDropped);
        assert!(unchanged(TOOLS, "get_weather", r#"{"city":"Oslo","verbose":true}"#));
        let free = r#"{"query":"x","verbose":true}"#;
        assert_eq!(mend_under(&drop, TOOLS, &call("search", free)).call.arguments, free);
    }
}
