//! E4.1: removes `null` from an optional parameter, because it means that the parameter is absent.

use serde_json::Value;

use super::RepairProposal;
use crate::scanner::schema::Violation;
use callwright_common::json::Pointer;
use callwright_types::RepairKind;

/// Proposes the removal of a `null` that does not fit. The caller checks afterwards whether the object is valid without
/// it.
pub(super) fn propose(violation: &Violation, arguments: &Value) -> Option<RepairProposal> {
    let path = &violation.path;
    let is_null = arguments.pointer(path.as_str()) == Some(&Value::Null);
    let is_member = arguments.pointer(parent(path)).is_some_and(Value::is_object);
    (is_null && is_member && !path.is_root())
        .then(|| RepairProposal::remove(RepairKind::NullDropped, path, &Value::Null))
}

/// Returns the JSON Pointer of the object or array that contains `path`.
pub(super) fn parent(path: &Pointer) -> &str {
    path.as_str().rsplit_once('/').map_or("", |(parent, _)| parent)
}

#[cfg(test)]
mod tests {
    use crate::repair::testing::{mended, unchanged};
    use crate::scanner::testing::TOOLS;
    use callwright_types::RepairKind;

    #[test]
    fn null_for_an_optional_parameter_becomes_absent() {
        let (text, kinds) = mended(TOOLS, "get_weather", r#"{"city":"Oslo","unit":null,"num_days":null}"#);
        assert_eq!((text.as_str(), kinds.as_slice()), (r#"{"city":"Oslo"}"#, &[RepairKind::NullDropped; 2][..]));
        let (text, _) = mended(TOOLS, "make_note", r#"{"place":{"city":"Oslo","zip":null}}"#);
        assert_eq!(text, r#"{"place":{"city":"Oslo"}}"#);
    }

    #[test]
    fn null_stays_where_it_is_required_allowed_or_an_item() {
        assert!(unchanged(TOOLS, "get_weather", r#"{"city":null}"#));
        assert!(unchanged(TOOLS, "search", r#"{"query":"x","limit":null}"#));
        assert!(unchanged(TOOLS, "get_weather", r#"{"city":"Oslo","levels":[1,null]}"#));
    }
}
