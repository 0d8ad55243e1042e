//! Cache keys of analysed tool messages.

use std::collections::HashMap;

use callwright_common::digest::of_parts;
use callwright_types::rules::FailureRule;

use crate::pipeline::state::ToolResult;
use crate::pipeline::tools::Offer;

/// Computes the cache keys of one turn's messages: hashes of all inputs of the analysis.
#[derive(Debug)]
pub(super) struct MessageKeys {
    /// Hash of the policy rules and of the toolsets whose documentation is used.
    rules: String,
    /// Hashes of the tools by name.
    tools: HashMap<String, String>,
}

impl MessageKeys {
    /// Creates the key for these rules and toolsets.
    pub(super) fn of(rules: &[FailureRule], toolsets: Option<&[String]>) -> Self {
        let text = if rules.is_empty() { String::new() } else { serde_json::to_string(rules).unwrap_or_default() };
        // Distinguishes `None` from no toolset.
        let toolsets = toolsets.map(|toolsets| format!("={}", toolsets.join("\n"))).unwrap_or_default();
        Self { rules: of_parts([text, toolsets]), tools: HashMap::new() }
    }

    /// Returns the key for the recognition of a message.
    pub(super) fn of_message(&self, result: &ToolResult) -> String {
        of_parts([&self.rules, &result.call.name, &result.text])
    }

    /// Returns the key for the explanation of a failure after these earlier failed calls.
    pub(super) fn of_failure(&mut self, offer: &Offer, result: &ToolResult, earlier: &[String]) -> String {
        let of_message = self.of_message(result);
        let name = &result.call.name;
        let tool = self.tools.entry(name.clone()).or_insert_with(|| tool(offer, name));
        of_parts([&of_message, tool, &result.call.arguments].into_iter().chain(earlier))
    }
}

/// Hashes an offered tool; a tool that is not offered adds nothing.
fn tool(offer: &Offer, name: &str) -> String {
    let Some(compiled) = offer.tool_set.get(name) else { return String::new() };
    of_parts([&compiled.tool.description, &compiled.tool.parameters.to_string()])
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use futures_util::FutureExt;

    use super::*;
    use crate::pipeline::caches::AnalysisCache;
    use callwright_judge::scanner::Validators;
    use callwright_types::{Call, Owner, Tool, ToolKind};

    fn result(text: &str) -> ToolResult {
        let call = Call { id: "1".into(), name: "f".into(), arguments: "{}".into() };
        ToolResult { place: 0, call, text: text.into(), request: 1, is_new: true }
    }

    fn offer(description: &str) -> Offer {
        let tool = Tool {
            name: "f".into(),
            description: description.into(),
            parameters: Arc::new(json!({"type": "object"})),
            kind: ToolKind::Function,
            reads: None,
            owner: Owner::Client,
            namespace: None,
        };
        Offer::of_client(vec![tool], &Validators::default())
    }

    fn key(of: &mut MessageKeys, offer: &Offer, text: &str, earlier: &[&str]) -> String {
        let earlier: Vec<String> = earlier.iter().map(|call| (*call).to_owned()).collect();
        of.of_failure(offer, &result(text), &earlier)
    }

    #[test]
    fn what_is_found_depends_on_all_that_the_key_is_made_of() {
        let rules: Vec<FailureRule> = serde_json::from_value(json!([{"status": [404], "outcome": "fine"}])).unwrap();
        let (one, two) = (offer("one"), offer("two"));
        let toolsets = ["maps".to_owned()];
        let plain = || MessageKeys::of(&[], None);
        let same = key(&mut plain(), &one, "a", &[]);
        assert_eq!(key(&mut plain(), &offer("one"), "a", &[]), same);
        for other in [
            key(&mut plain(), &one, "b", &[]),
            key(&mut plain(), &two, "a", &[]),
            key(&mut plain(), &one, "a", &["f()"]),
            key(&mut MessageKeys::of(&rules, None), &one, "a", &[]),
            key(&mut MessageKeys::of(&[], Some(&[])), &one, "a", &[]),
            key(&mut MessageKeys::of(&[], Some(&toolsets)), &one, "a", &[]),
        ] {
            assert_ne!(other, same);
        }
    }

    #[test]
    fn a_message_is_recognised_once() {
        let seen = AnalysisCache::new(1_000_000);
        let looked = std::cell::Cell::new(0);
        let rule = |text: &str, found: Option<&'static str>| {
            let key = MessageKeys::of(&[], None).of_message(&result(text));
            let find = async {
                looked.set(looked.get() + 1);
                found
            };
            seen.rule_or(key, find).now_or_never().unwrap()
        };
        assert_eq!(
            [rule("a", Some("error")), rule("a", None), rule("b", None), rule("b", Some("error"))],
            [Some("error"), Some("error"), None, None]
        );
        assert_eq!(looked.get(), 2);
    }
}
