//! `missing-description`: operations for which a model reads only the name.

use super::super::rule::{AdviceSubject, Findings, OperationCase, Rule, RuleCheck};
use callwright_common::text::name_words;

pub(crate) const RULE: Rule = Rule {
    code: "missing-description",
    about: "an operation has no description",
    fix: "describe in `summary` or `description` what it does, what it returns, and when to use it",
    check: RuleCheck::Operation(check),
};

/// A description that repeats the words of the name counts as missing.
fn check(_: &AdviceSubject<'_>, case: &OperationCase<'_>, findings: &mut Findings) {
    let operation = &case.source.operation;
    let texts: Vec<&str> = ["summary", "description"].into_iter().filter_map(|key| operation.text(key)).collect();
    let name = name_words(case.operation.operation_id.as_deref().unwrap_or_else(|| case.operation.own_name()));
    let message = if texts.is_empty() {
        format!("`{}` has no description; a model reads only `{}`", case.operation.own_name(), case.label)
    } else if texts.iter().all(|text| name_words(text) == name) {
        format!("the description of `{}` only repeats its name", case.operation.own_name())
    } else {
        return;
    };
    findings.add(&case.label, &operation.at, message);
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::advice_on_operation;
    use serde_json::json;

    #[test]
    fn operations_without_their_own_description_are_reported() {
        let bare = advice_on_operation("missing-description", json!({"operationId": "makeOrder", "description": " "}));
        assert!(bare[0].message.eq("`makeOrder` has no description; a model reads only `POST /x/{id}`"), "{bare:?}");
        let repeated = json!({"operationId": "makeOrder", "summary": "Make order", "description": "make_order."});
        let repeated = advice_on_operation("missing-description", repeated);
        assert!(repeated[0].message.eq("the description of `makeOrder` only repeats its name"), "{repeated:?}");
    }

    #[test]
    fn one_sentence_is_enough() {
        let described = json!({"operationId": "makeOrder", "summary": "Make order", "description": "Orders what is in the basket."});
        assert!(advice_on_operation("missing-description", described).is_empty());
    }
}
