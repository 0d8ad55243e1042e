//! E3 and E3.2: renames a parameter to the one unset parameter of the same literal name, or drops a parameter that the
//! tool does not have.

use std::collections::HashSet;

use serde_json::Value;

use super::proposal::{RepairJob, RepairProposal};
use callwright_common::json::{Edit, Pointer};
use callwright_scanner::names::{template_token, without_debris};
use callwright_scanner::{FaultCase, UnknownMember, means_nothing};
use callwright_types::rules::UnknownParameters;
use callwright_types::{Call, FaultCode, Repair, RepairKind};

/// Proposes the rename that `member` needs, unless another member was already renamed to that name (`taken`).
pub(super) fn rename(
    member: &UnknownMember<'_>,
    arguments: &Value,
    taken: &mut HashSet<Pointer>,
) -> Option<RepairProposal> {
    let meant = member.meant()?;
    // Template residue in both the name and the value means that several arguments were merged into one.
    if without_debris(&member.name).is_some() && arguments.pointer(member.path().as_str()).is_none_or(has_debris) {
        return None;
    }
    let path = member.object.child(meant);
    if !taken.insert(path.clone()) {
        return None;
    }
    let repair = Repair { path, ..Repair::of_call(RepairKind::ParameterRenamed, 0, member.name.as_str(), meant) };
    Some(RepairProposal { repair, edit: Edit::Rename(member.path(), meant.to_owned()) })
}

fn has_debris(value: &Value) -> bool {
    let text = value.as_str().unwrap_or_default();
    text.match_indices('<').any(|(at, _)| text.get(at..).and_then(template_token).is_some())
}

/// Proposes the removal of `member` (E3) if it does not resemble any parameter and policy allows it.
pub(super) fn removal(
    member: &UnknownMember<'_>,
    arguments: &Value,
    call: &Call,
    job: &RepairJob<'_>,
) -> Option<RepairProposal> {
    if job.scan.unknown_parameters != UnknownParameters::Drop || !job.repairs(FaultCode::ParameterUnknown) {
        return None;
    }
    let case = FaultCase::new(call, 0, job.tool_set, job.scan, job.context).with_arguments(arguments);
    if !means_nothing(&case, job.tool, member) {
        return None;
    }
    let path = member.path();
    let value = arguments.pointer(path.as_str())?;
    Some(RepairProposal::remove(RepairKind::ParameterDropped, &path, value))
}

#[cfg(test)]
mod tests {
    use crate::repair::testing::{repair_under, repaired, unchanged};
    use callwright_scanner::testing::{TOOLS, call};
    use callwright_types::RepairKind;
    use callwright_types::rules::{ScanRules, UnknownParameters};

    #[test]
    fn parameters_are_renamed_in_place_at_every_level() {
        let (text, kinds) = repaired(TOOLS, "get_weather", r#"{"numDays": 2, "City": "Oslo"}"#);
        assert_eq!(text, r#"{"num_days":2,"city":"Oslo"}"#);
        assert_eq!(kinds, [RepairKind::ParameterRenamed; 2]);
        let (text, _) = repaired(TOOLS, "make_note", r#"{"Place":{"City":"Oslo","ZIP":"0150","extra":1.50}}"#);
        assert_eq!(text, r#"{"place":{"city":"Oslo","zip":"0150","extra":1.50}}"#);
    }

    #[test]
    fn debris_of_a_template_is_taken_off_where_nothing_is_lost() {
        for key in ["city</arg_key>", "city<|channel|>commentary", "<arg_key>city"] {
            let (text, kinds) = repaired(TOOLS, "get_weather", &format!(r#"{{"{key}":"Oslo"}}"#));
            assert_eq!((text.as_str(), kinds.as_slice()), (r#"{"city":"Oslo"}"#, &[RepairKind::ParameterRenamed][..]));
        }
        for text in [
            r#"{"city</arg_key>":"unit</arg_key><arg_value>celsius"}"#,
            r#"{"city</arg_key>":"Oslo","city":"Bergen"}"#,
            r#"{"ci<arg_key":"Oslo"}"#,
        ] {
            assert!(unchanged(TOOLS, "get_weather", text), "{text}");
        }
    }

    #[test]
    fn of_two_names_for_one_parameter_neither_is_lost() {
        assert!(unchanged(TOOLS, "get_weather", r#"{"city":"Oslo","City":"Bergen"}"#));
        let (text, kinds) = repaired(TOOLS, "get_weather", r#"{"City":"Oslo","CITY":"Bergen"}"#);
        assert_eq!((text.as_str(), kinds.len()), (r#"{"city":"Oslo","CITY":"Bergen"}"#, 1));
    }

    #[test]
    fn only_meaningless_members_are_dropped_where_policy_allows() {
        let drop = ScanRules { unknown_parameters: UnknownParameters::Drop, ..ScanRules::default() };
        let text = r#"{"city":"Oslo","verbose":true,"numdayz":2,"order_id":1}"#;
        let repaired = repair_under(&drop, TOOLS, &call("get_weather", text));
        assert_eq!(repaired.call.arguments, r#"{"city":"Oslo","numdayz":2,"order_id":1}"#);
        assert_eq!(repaired.repairs[0].kind, RepairKind::ParameterDropped);
        assert!(unchanged(TOOLS, "get_weather", r#"{"city":"Oslo","verbose":true}"#));
        let misplaced = r#"{"place":{"city":"Oslo","zip":"0151"},"zip":"0150"}"#;
        assert_eq!(repair_under(&drop, TOOLS, &call("make_note", misplaced)).call.arguments, misplaced);
        let free = r#"{"query":"x","verbose":true}"#;
        assert_eq!(repair_under(&drop, TOOLS, &call("search", free)).call.arguments, free);
    }
}
