//! `same-description`: operations that a model cannot tell apart by what it reads.

use std::collections::HashMap;

use super::super::findings::Findings;
use super::super::subject::Subject;
use super::super::words::listed;
use super::super::{Look, Rule};

/// Names that are listed for one group.
const SHOWN: usize = 5;

pub(crate) const RULE: Rule = Rule {
    code: "same-description",
    about: "one text describes several operations",
    fix: "say in each when it is the right one and the others are not",
    look: Look::Document(look),
};

/// Operations without a description of their own are `missing-description`'s.
fn look(subject: &Subject<'_>, findings: &mut Findings) {
    let mut groups: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, (found, operation)) in subject.tools.iter().enumerate() {
        if ["summary", "description"].iter().any(|key| found.operation.text(key).is_some()) {
            groups.entry(operation.tool.description.as_str()).or_default().push(index);
        }
    }
    let mut groups: Vec<Vec<usize>> = groups.into_values().filter(|group| group.len() > 1).collect();
    groups.sort_unstable();
    for group in groups {
        let tools: Vec<_> = group.into_iter().filter_map(|index| subject.tools.get(index)).collect();
        let Some((found, _)) = tools.first() else { continue };
        let names = listed(tools.iter().map(|(_, operation)| operation.own_name()), SHOWN);
        let text = ["description", "summary"].into_iter().find_map(|key| found.operation.member(key));
        let at = text.map_or_else(|| found.operation.at.clone(), |text| text.at);
        findings.add(&found.label(), &at, format!("one text describes {names}"));
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::{advice_on, messages};
    use serde_json::json;

    #[test]
    fn operations_with_one_text_are_told_once_and_those_without_any_are_not() {
        let found = advice_on(
            "same-description",
            json!({"openapi": "3.0.0", "paths": {
                "/a": {"get": {"operationId": "a", "summary": "Get it."}, "post": {"operationId": "b", "description": "Get it. "}},
                "/b": {"get": {"operationId": "c", "summary": "Get another."}, "post": {"operationId": "d"}, "put": {"operationId": "e"}}
            }}),
        );
        assert_eq!(messages(&found), [("GET /a", "one text describes `a`, `b`")]);
        assert_eq!(found[0].at, "api.json #/paths/~1a/get/summary");
    }
}
