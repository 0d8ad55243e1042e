//! `cut-description`: descriptions that exceed the limit for a tool's description.

use super::super::rule::{AdviceSubject, Findings, OperationCase, Rule, RuleCheck};
use crate::tool::description::tool_description;

pub(crate) const RULE: Rule = Rule {
    code: "cut-description",
    about: "a description is longer than the limit",
    fix: "begin with what it does and when to use it, or raise the toolset's `limits.description_chars` if the \
          provider accepts more",
    check: RuleCheck::Operation(check),
};

fn check(subject: &AdviceSubject<'_>, case: &OperationCase<'_>, findings: &mut Findings) {
    let operation = &case.source.operation;
    let (limit, whole) = (subject.limits.description_chars, tool_description(operation, &case.label, usize::MAX));
    let chars = whole.chars().count();
    if chars > limit {
        let text = ["description", "summary"].into_iter().find_map(|key| operation.member(key));
        let at = text.map_or_else(|| operation.at.clone(), |text| text.at);
        let message = format!("the description has {chars} characters, of which a model reads the first {limit}");
        findings.add(&case.label, &at, message);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::advice_on_operation;
    use serde_json::json;

    #[test]
    fn only_shortened_descriptions_are_reported() {
        let found =
            advice_on_operation("cut-description", json!({"summary": "Short", "description": "é".repeat(1100)}));
        assert!(
            found[0].message.starts_with("the description has 1107 characters, of which a model reads the first 1024"),
            "{found:?}"
        );
        assert_eq!(found[0].at, "api.json #/paths/~1x~1{id}/post/description");
        assert!(advice_on_operation("cut-description", json!({"description": "é".repeat(1024)})).is_empty());
    }
}
