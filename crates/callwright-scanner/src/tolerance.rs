//! Whether a parameter that a silent schema does not name is a fault (`scan.unknown_parameters: auto`).
//!
//! JSON Schema allows members that a schema does not name, and most tools drop or ignore them. Such a parameter is a
//! fault only beside evidence: the schema excludes it, a required parameter is missing, or its value fits an unset
//! parameter of a similar name and either the name is that one with a typing error, or the tool rejected it before.

use super::faults::fitting_parameter;
use super::names::is_typing_error;
use super::{CompiledTool, FaultCase, SchemaRule, UnknownMember, Violation};
use callwright_types::rules::UnknownParameters;
use callwright_types::{Diagnosis, FaultCode};

/// Marks the unknown members that are no fault; `violations` are the other findings in the same arguments.
pub(super) fn mark(
    case: &FaultCase<'_>,
    tool: &CompiledTool,
    members: &[UnknownMember<'_>],
    judged: &[Option<Diagnosis>],
    violations: &[Violation],
) {
    // The proxy's own tools send their arguments to APIs whose documents are known.
    if case.rules.unknown_parameters != UnknownParameters::Auto || tool.tool.owner.is_proxy() {
        return;
    }
    // The unknown parameter may be the missing one under another name.
    if violations.iter().any(|violation| matches!(violation.rule, SchemaRule::Missing(_))) {
        return;
    }
    for (member, diagnosis) in members.iter().zip(judged) {
        // Another writing of a known name is a fault in any schema.
        let Some(diagnosis) = diagnosis.as_ref().filter(|known| known.code != FaultCode::ParameterLiteral) else {
            continue;
        };
        if !member.is_excluded() && !has_evidence(case, tool, member, diagnosis) {
            case.tolerate(member.path());
        }
    }
}

/// Whether there is evidence that another parameter is meant.
fn has_evidence(case: &FaultCase<'_>, tool: &CompiledTool, member: &UnknownMember<'_>, diagnosis: &Diagnosis) -> bool {
    let Some(meant) = fitting_parameter(case, tool, member, diagnosis) else { return false };
    is_typing_error(&member.name, &meant)
        || case.context.reactions.is_some_and(|reactions| reactions.has_rejected(tool, &member.name))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::testing::{TOOLS, call, tool, tool_set};
    use crate::{Context, Reactions, Scan, ToolSet, Validators, scan_in};
    use callwright_types::rules::ScanRules;
    use callwright_types::{OperationRef, Owner, Tool};

    /// A tool that rejected each parameter.
    #[derive(Debug)]
    struct Strict;

    impl Reactions for Strict {
        fn has_rejected(&self, _: &CompiledTool, _: &str) -> bool {
            true
        }
    }

    const SHELL: &str = r#"[{"name":"bash","parameters":{"type":"object","required":["command"],"properties":{
        "command":{"type":"string"},"timeout":{"type":"integer"},"workdir":{"type":"string"}}}}]"#;

    fn scanned(tools: &ToolSet, name: &str, arguments: &str, context: &Context<'_>) -> Scan {
        scan_in(&call(name, arguments), 0, tools, &ScanRules::default(), context)
    }

    /// Returns the codes of the faults, and of the advice.
    fn found(tools: &str, name: &str, arguments: &str, context: &Context<'_>) -> [Vec<FaultCode>; 2] {
        let scan = scanned(&tool_set(tools), name, arguments, context);
        let codes = |found: Vec<Diagnosis>| found.into_iter().map(|diagnosis| diagnosis.code).collect();
        [codes(scan.result.err().unwrap_or_default()), codes(scan.advice)]
    }

    #[test]
    fn an_unknown_parameter_of_a_silent_schema_is_only_noted() {
        use FaultCode::{ParameterOfOtherTool, ParameterSemantic, ParameterUnknown};
        let context = Context::default();
        for (arguments, code) in [
            (r#"{"command":"ls","description":"Lists files"}"#, ParameterUnknown),
            (r#"{"command":"ls","reason":"to see them"}"#, ParameterUnknown),
            (r#"{"command":"ls","timeout_ms":5000}"#, ParameterSemantic),
        ] {
            assert_eq!(found(SHELL, "bash", arguments, &context), [vec![], vec![code]], "{arguments}");
        }
        let arguments = r#"{"city":"Oslo","order_id":7}"#;
        assert_eq!(found(TOOLS, "get_weather", arguments, &context), [vec![], vec![ParameterOfOtherTool]]);
    }

    #[test]
    fn beside_evidence_it_is_a_fault() {
        use FaultCode::{ParameterLiteral, ParameterMissing, ParameterSemantic, ParameterUnknown};
        let context = Context::default();
        for (arguments, codes) in [
            // A required parameter is missing.
            (
                r#"{"description":"Lists files","reason":"to see"}"#,
                vec![ParameterUnknown, ParameterUnknown, ParameterMissing],
            ),
            (r#"{"description":"Lists files"}"#, vec![ParameterSemantic]),
            // Typing errors.
            (r#"{"command":"ls","timeuot":5}"#, vec![ParameterSemantic]),
            (r#"{"command":"ls","work_dirr":"/"}"#, vec![ParameterSemantic]),
            // Another writing of a parameter that is set.
            (r#"{"command":"ls","Command":"pwd"}"#, vec![ParameterLiteral]),
        ] {
            let [mut faults, _] = found(SHELL, "bash", arguments, &context);
            faults.sort_by_key(|code| codes.iter().position(|known| known == code));
            assert_eq!(faults, codes, "{arguments}");
        }
        // The value does not fit the parameter.
        let [faults, _] = found(SHELL, "bash", r#"{"command":"ls","timeuot":{"seconds":5}}"#, &context);
        assert!(faults.is_empty());
    }

    #[test]
    fn a_rejected_parameter_is_a_fault_if_another_one_fits() {
        let context = Context { reactions: Some(&Strict), ..Context::default() };
        let fate = |arguments| found(SHELL, "bash", arguments, &context)[0].clone();
        assert_eq!(fate(r#"{"command":"ls","timeout_ms":5000}"#), [FaultCode::ParameterSemantic]);
        assert!(fate(r#"{"command":"ls","timeout_ms":"a while"}"#).is_empty());
        assert!(fate(r#"{"command":"ls","timeout":5,"timeout_ms":5000}"#).is_empty());
        assert!(fate(r#"{"command":"ls","reason":"to see them"}"#).is_empty());
    }

    #[test]
    fn closed_schemas_and_the_proxys_own_tools_exclude_it() {
        let arguments = r#"{"a":1,"zzz":2}"#;
        for schema in [
            json!({"type": "object", "properties": {"a": {}}, "additionalProperties": false}),
            json!({"type": "object", "properties": {"a": {}}, "unevaluatedProperties": false}),
            json!({"anyOf": [{"type": "object", "properties": {"a": {}}, "additionalProperties": false}]}),
            json!({"properties": {"a": {}}, "allOf": [{"properties": {"a": {}}, "additionalProperties": false}]}),
        ] {
            let tools = ToolSet::compile(vec![tool("f", &schema)], &Validators::default());
            let scan = scanned(&tools, "f", arguments, &Context::default());
            assert_eq!(scan.result.unwrap_err()[0].code, FaultCode::ParameterUnknown, "{schema}");
        }
        let silent = json!({"type": "object", "properties": {"a": {}}});
        let fate = |owner: Owner| {
            let own = Arc::new(Tool { owner, ..(*tool("f", &silent)).clone() });
            let tools = ToolSet::compile(vec![own], &Validators::default());
            scanned(&tools, "f", arguments, &Context::default()).result.is_ok()
        };
        let operation = OperationRef { toolset: "t".to_owned(), tool: "f".to_owned() };
        assert!(fate(Owner::Client) && !fate(Owner::Proxy(operation)));
    }
}
