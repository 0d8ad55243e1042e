//! `missing-server`: operations without a server URL.

use super::super::rule::{AdviceSubject, Findings, Rule, RuleCheck};
use crate::document::Version;

pub(crate) const RULE: Rule = Rule {
    code: "missing-server",
    about: "operations have no server URL",
    fix: "give an absolute http or https URL under `servers` (in Swagger 2.0: a `host`, and `schemes` of http \
          or https), or set the toolset's `base_url`",
    check: RuleCheck::Document(check),
};

/// Gives one piece of advice per document, because `servers` is nearly always at the top level.
fn check(subject: &AdviceSubject<'_>, findings: &mut Findings) {
    let without = subject.tools.iter().filter(|(_, operation)| operation.servers.is_empty()).count();
    if without == 0 {
        return;
    }
    let (all, document) = (subject.tools.len(), subject.document);
    let who =
        if without == all { "no operation has a".to_owned() } else { format!("{without} of {all} operations have no") };
    let key = match document.version {
        Version::V2_0 => "host",
        _ => "servers",
    };
    let at = document.member(key).map_or_else(|| document.root().at, |member| member.at);
    findings.add("", &at, format!("{who} server that can be called"));
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::{advice_on, messages};
    use serde_json::json;

    #[test]
    fn a_document_without_usable_servers_is_reported_once() {
        let paths = json!({"/a": {"get": {}, "post": {}}, "/b": {"get": {"servers": [{"url": "https://b.example"}]}}});
        let found =
            advice_on("missing-server", json!({"openapi": "3.0.0", "servers": [{"url": "/v1"}], "paths": paths}));
        assert_eq!(messages(&found), [("", "2 of 3 operations have no server that can be called")]);
        assert_eq!(found[0].at, "api.json #/servers");
        let swagger = advice_on("missing-server", json!({"swagger": "2.0", "paths": {"/a": {"get": {}}}}));
        assert_eq!(messages(&swagger), [("", "no operation has a server that can be called")]);
    }

    #[test]
    fn servers_that_can_be_called_are_enough() {
        let document =
            json!({"openapi": "3.0.0", "servers": [{"url": "https://a.example"}], "paths": {"/a": {"get": {}}}});
        assert!(advice_on("missing-server", document).is_empty());
        assert!(
            advice_on("missing-server", json!({"openapi": "3.0.0", "paths": {}})).is_empty(),
            "nothing is to be called"
        );
    }
}
