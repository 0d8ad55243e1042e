//! `missing-operation-id`: tools that are named after method and path.

use super::super::rule::{AdviceSubject, Findings, OperationCase, Rule, RuleCheck};

pub(crate) const RULE: Rule = Rule {
    code: "missing-operation-id",
    about: "a tool is named after method and path",
    fix: "add an `operationId` that describes the action: a verb and its object",
    check: RuleCheck::Operation(check),
};

/// A name derived from the path describes the structure of the API and not the purpose of the tool.
fn check(_: &AdviceSubject<'_>, case: &OperationCase<'_>, findings: &mut Findings) {
    if case.operation.operation_id.is_none() {
        let message = format!("the tool is called `{}`", case.operation.own_name());
        findings.add(&case.label, &case.source.operation.at, message);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::{advice_on_operation, messages};
    use serde_json::json;

    #[test]
    fn the_derived_name_of_an_operation_without_id_is_reported() {
        let found = advice_on_operation("missing-operation-id", json!({"operationId": " "}));
        assert_eq!(messages(&found), [("POST /x/{id}", "the tool is called `post_x_id`")]);
        assert!(advice_on_operation("missing-operation-id", json!({"operationId": "make"})).is_empty());
    }
}
