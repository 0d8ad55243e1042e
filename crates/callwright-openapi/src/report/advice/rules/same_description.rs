//! `same-description`: operations that share one description, which a model cannot distinguish.

use std::collections::HashMap;

use super::super::rule::{AdviceSubject, Findings, Rule, RuleCheck};
use super::super::words::listed;

/// Maximum number of names that a message lists for one group.
const SHOWN: usize = 5;

pub(crate) const RULE: Rule = Rule {
    code: "same-description",
    about: "several operations share one description",
    fix: "describe in each when to use it instead of the others",
    check: RuleCheck::Document(check),
};

/// Skips operations without a description, which `missing-description` reports.
fn check(subject: &AdviceSubject<'_>, findings: &mut Findings) {
    let mut groups: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, (source, operation)) in subject.tools.iter().enumerate() {
        if ["summary", "description"].iter().any(|key| source.operation.text(key).is_some()) {
            groups.entry(operation.tool.description.as_str()).or_default().push(index);
        }
    }
    let mut groups: Vec<Vec<usize>> = groups.into_values().filter(|group| group.len() > 1).collect();
    groups.sort_unstable();
    for group in groups {
        let tools: Vec<_> = group.into_iter().filter_map(|index| subject.tools.get(index)).collect();
        let Some((source, _)) = tools.first() else { continue };
        let names = listed(tools.iter().map(|(_, operation)| operation.own_name()), SHOWN);
        let text = ["description", "summary"].into_iter().find_map(|key| source.operation.member(key));
        let at = text.map_or_else(|| source.operation.at.clone(), |text| text.at);
        findings.add(&source.label(), &at, format!("{names} share one description"));
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::{advice_on, messages};
    use serde_json::json;

    #[test]
    fn operations_with_the_same_text_are_reported_once_and_those_without_text_are_not() {
        let found = advice_on(
            "same-description",
            json!({"openapi": "3.0.0", "paths": {
                "/a": {"get": {"operationId": "a", "summary": "Get it."}, "post": {"operationId": "b", "description": "Get it. "}},
                "/b": {"get": {"operationId": "c", "summary": "Get another."}, "post": {"operationId": "d"}, "put": {"operationId": "e"}}
            }}),
        );
        assert_eq!(messages(&found), [("GET /a", "`a`, `b` share one description")]);
        assert_eq!(found[0].at, "api.json #/paths/~1a/get/summary");
    }
}
