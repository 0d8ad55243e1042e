//! Reactions of clients' tools to parameters that their schemas do not name (`scan.unknown_parameters: auto`).

use serde_json::{Map, Value};

use callwright_common::cache::ByteCache;
use callwright_common::digest::of_parts;
use callwright_common::limits::{SHORT_BODY_BYTES, SMALL_CACHE_BYTES};
use callwright_explain::recognise;
use callwright_judge::scanner::{CompiledTool, Conversation, PastCall, Reactions, ToolSet};
use callwright_types::rules::FailureRule;

/// Maximum number of earlier calls that are searched for a parameter.
const LOOKED_BACK: usize = 64;

/// Maximum number of unknown parameters of one call that are remembered.
const MAX_UNKNOWN: usize = 8;

/// Creates an empty memory of the last reaction to each parameter, by client, tool schema and name: whether it was
/// rejected. Bounded, and lost with the process.
pub(super) fn reactions() -> ByteCache<String, bool> {
    ByteCache::new(SMALL_CACHE_BYTES, |key: &String, _| key.len())
}

/// Returns the key of a parameter: a digest, because a client's names may be private. `None` if the tool has no identity
/// beyond the request.
fn key(tenant: &str, tool: &CompiledTool, parameter: &str) -> Option<String> {
    let fingerprint = &tool.client()?.fingerprint;
    Some(of_parts([tenant, fingerprint.as_str(), parameter]))
}

/// The reactions in a conversation, and the remembered ones of the same client.
#[derive(Debug)]
pub(crate) struct KnownReactions<'a> {
    pub(crate) tenant: &'a str,
    pub(crate) conversation: &'a dyn Conversation,
    /// The policy's rules for the results of tools.
    pub(crate) failures: &'a [FailureRule],
    pub(crate) memory: &'a ByteCache<String, bool>,
}

impl KnownReactions<'_> {
    /// Remembers the reactions to the last round of calls.
    pub(crate) fn learn(&self, tool_set: &ToolSet) {
        if !self.conversation.may_have_calls() {
            return;
        }
        for past in self.conversation.transcript().rounds().last().into_iter().flatten().take(LOOKED_BACK) {
            let Some(tool) = tool_set.get(&past.name) else { continue };
            let Some(arguments) = arguments_of(past) else { continue };
            let unknown = arguments.keys().filter(|name| tool.parameter(name).is_none());
            for name in unknown.take(MAX_UNKNOWN) {
                let reaction = self.reaction(past, &arguments, name);
                if let (Some(is_rejected), Some(key)) = (reaction, key(self.tenant, tool, name)) {
                    self.memory.insert(key, is_rejected);
                }
            }
        }
    }

    /// Whether the result of a call rejects the parameter; `None` if there is no result.
    fn reaction(&self, past: &PastCall, arguments: &Map<String, Value>, parameter: &str) -> Option<bool> {
        let (result, value) = (past.result.as_deref()?, arguments.get(parameter)?);
        let is_failure = recognise(&past.name, result, self.failures).failure().is_some();
        Some(rejects(result, parameter, value, is_failure))
    }
}

impl Reactions for KnownReactions<'_> {
    fn has_rejected(&self, tool: &CompiledTool, parameter: &str) -> bool {
        let rounds = if self.conversation.may_have_calls() { self.conversation.transcript().rounds() } else { &[] };
        let past = rounds.iter().rev().flat_map(|round| round.iter().rev()).take(LOOKED_BACK);
        let mut reactions = past.filter(|past| past.name == tool.name()).filter_map(|past| {
            let arguments = arguments_of(past)?;
            self.reaction(past, &arguments, parameter)
        });
        let remembered = || key(self.tenant, tool, parameter).and_then(|key| self.memory.get(&key));
        reactions.next().or_else(remembered).unwrap_or_default()
    }
}

fn arguments_of(past: &PastCall) -> Option<Map<String, Value>> {
    serde_json::from_str(&past.arguments).ok()
}

/// Whether a result rejects a parameter of its call: a failure that names it, or another text that quotes it, such as a
/// warning. A member with the parameter's name and value is an echo of the call.
fn rejects(result: &str, parameter: &str, value: &Value, is_failure: bool) -> bool {
    if !result.contains(parameter) {
        return false;
    }
    let text = result.get(..result.floor_char_boundary(SHORT_BODY_BYTES)).unwrap_or(result);
    match serde_json::from_str::<Value>(text) {
        Ok(body) if has_member(&body, parameter, value) => false,
        Ok(body) => is_in_text_of(&body, parameter, is_failure),
        Err(_) => is_named(text, parameter, is_failure),
    }
}

fn has_member(body: &Value, name: &str, value: &Value) -> bool {
    match body {
        Value::Object(members) => {
            members.get(name) == Some(value) || members.values().any(|member| has_member(member, name, value))
        }
        Value::Array(items) => items.iter().any(|item| has_member(item, name, value)),
        _ => false,
    }
}

/// Whether a text in `body` names the parameter. In a failure, the name of a member does, too: some servers report faults
/// under the names of the parameters.
fn is_in_text_of(body: &Value, parameter: &str, is_failure: bool) -> bool {
    match body {
        Value::String(text) => is_named(text, parameter, is_failure),
        Value::Array(items) => items.iter().any(|item| is_in_text_of(item, parameter, is_failure)),
        Value::Object(members) => members
            .iter()
            .any(|(name, member)| (is_failure && name == parameter) || is_in_text_of(member, parameter, is_failure)),
        _ => false,
    }
}

/// Quotation marks around a name in a message.
const QUOTES: [char; 5] = ['\'', '"', '`', '‘', '’'];

/// Whether a text has the name as a whole word or, if it is no failure, in quotation marks.
fn is_named(text: &str, name: &str, is_failure: bool) -> bool {
    text.match_indices(name).any(|(start, _)| {
        let before = text.get(..start).and_then(|text| text.chars().next_back());
        let behind = text.get(start + name.len()..).and_then(|text| text.chars().next());
        if is_failure {
            ![before, behind].into_iter().flatten().any(|letter| letter.is_alphanumeric() || letter == '_')
        } else {
            [before, behind].into_iter().all(|letter| letter.is_some_and(|letter| QUOTES.contains(&letter)))
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use callwright_judge::scanner::Transcript;
    use callwright_judge::scanner::testing::{past, tool_set};

    const TOOLS: &str = r#"[{"name":"bash","parameters":{"type":"object","properties":{
        "command":{"type":"string"},"timeout":{"type":"integer"}}}}]"#;
    const CALL: &str = r#"{"command":"ls","timeout_ms":5000}"#;

    fn is_rejected_by(result: &str) -> bool {
        let mut transcript = Transcript::default();
        transcript.called(vec![past("bash", CALL, result)]);
        let memory = reactions();
        let known = KnownReactions { tenant: "a", conversation: &transcript, failures: &[], memory: &memory };
        known.has_rejected(tool_set(TOOLS).get("bash").unwrap(), "timeout_ms")
    }

    #[test]
    fn failures_that_name_or_texts_that_quote_a_parameter_reject_it() {
        for result in [
            "Error: Unrecognized key(s) in object: 'timeout_ms'",
            r#"{"error":{"message":"unexpected keyword argument timeout_ms"}}"#,
            r#"{"errors":{"timeout_ms":["Extra inputs are not permitted"]},"status":400}"#,
            "warning: the unknown option `timeout_ms` is ignored\na.txt",
        ] {
            assert!(is_rejected_by(result), "{result}");
        }
        for result in [
            "a.txt",
            "a.txt timeout_ms b.txt",
            "",
            "Error: no such file",
            "Error: my_timeout_ms is too large",
            r#"{"command":"ls","timeout_ms":5000,"output":"a.txt"}"#,
            r#"{"error":"busy","request":{"command":"ls","timeout_ms":5000}}"#,
            r#"{"timeout_ms":60000}"#,
        ] {
            assert!(!is_rejected_by(result), "{result}");
        }
    }

    #[test]
    fn the_last_reaction_is_kept_per_client_and_schema() {
        let memory = reactions();
        let learn = |tenant: &str, result: &str| {
            let mut transcript = Transcript::default();
            transcript.called(vec![past("bash", CALL, result)]);
            KnownReactions { tenant, conversation: &transcript, failures: &[], memory: &memory }
                .learn(&tool_set(TOOLS));
        };
        let has_rejected = |tenant: &str, tools: &str, parameter: &str| {
            let (empty, tools) = (Transcript::default(), tool_set(tools));
            let known = KnownReactions { tenant, conversation: &empty, failures: &[], memory: &memory };
            known.has_rejected(tools.get("bash").unwrap(), parameter)
        };
        learn("a", "Error: unknown parameter 'timeout_ms'");
        assert!(has_rejected("a", TOOLS, "timeout_ms"));
        assert!(!has_rejected("b", TOOLS, "timeout_ms") && !has_rejected("a", TOOLS, "reason"));
        assert!(!has_rejected("a", &TOOLS.replace("integer", "number"), "timeout_ms"), "another schema");
        learn("a", "a.txt");
        assert!(!has_rejected("a", TOOLS, "timeout_ms"), "the tool takes it now");
    }

    #[test]
    fn an_echo_is_found_at_any_depth() {
        assert!(has_member(&json!([{"a": {"x": 1}}]), "x", &json!(1)));
        assert!(!has_member(&json!({"x": 2}), "x", &json!(1)));
    }
}
