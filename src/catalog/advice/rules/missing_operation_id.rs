//! `missing-operation-id`: tools that have to be named after method and path.

use super::super::findings::Findings;
use super::super::subject::{Case, Subject};

/// Such a name tells a model how the API is built, and not what the tool does.
pub(crate) fn look(_: &Subject<'_>, case: &Case<'_>, findings: &mut Findings) {
    if case.operation.operation_id.is_none() {
        let name = case.operation.own_name();
        let message = format!(
            "the tool is called `{name}`; give an `operationId` that says what it does: a verb and what it acts on"
        );
        findings.add(&case.label, &case.found.operation.at, message);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::{advice_on_operation, messages};
    use serde_json::json;

    #[test]
    fn an_operation_without_id_is_told_the_name_that_it_gets() {
        let found = advice_on_operation("missing-operation-id", json!({"operationId": " "}));
        let expected =
            "the tool is called `post_x_id`; give an `operationId` that says what it does: a verb and what it acts on";
        assert_eq!(messages(&found), [("POST /x/{id}", expected)]);
        assert!(advice_on_operation("missing-operation-id", json!({"operationId": "make"})).is_empty());
    }
}
