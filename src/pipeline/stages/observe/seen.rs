//! What was found in tool messages before. A client sends its whole conversation with every request, so all but its end was looked at.

use std::collections::HashMap;
use std::sync::Arc;

use moka::sync::Cache;
use sha2::{Digest, Sha256};

use crate::domain::Explanation;
use crate::domain::digest::add_part;
use crate::domain::rules::FailureRule;
use crate::pipeline::stages::offer::Offer;

use super::results::ToolResult;

/// A failure that a message reports. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Failure {
    /// The rule that recognised it.
    pub(super) rule: Arc<str>,
    /// What the documentation says about it.
    pub(super) explanation: Arc<Explanation>,
    /// What is added to the message; `None` where there is nothing to say.
    pub(super) note: Option<Arc<str>>,
}

/// Messages that were looked at, with what was found. It belongs to one catalog and its documentation. Clones share one memory.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    cache: Cache<[u8; 32], Option<Failure>>,
}

/// Bytes that an entry takes beside its texts, about.
const ENTRY_BYTES: usize = 200;

impl Seen {
    /// A memory of about so many bytes.
    pub(crate) fn new(bytes: u64) -> Self {
        let cache = Cache::builder().max_capacity(bytes).weigher(|_, found| weight(found)).build();
        Self { cache }
    }

    /// What was found under `key`, or what is found now.
    pub(super) async fn get_or(&self, key: [u8; 32], look: impl Future<Output = Option<Failure>>) -> Option<Failure> {
        if let Some(found) = self.cache.get(&key) {
            return found;
        }
        let found = look.await;
        self.cache.insert(key, found.clone());
        found
    }
}

fn weight(found: &Option<Failure>) -> u32 {
    let texts = found.as_ref().map_or(0, |failure| {
        let passages = failure.explanation.passages.iter().map(|passage| passage.text.len() + passage.source.len());
        passages.sum::<usize>() + failure.note.as_ref().map_or(0, |note| note.len())
    });
    u32::try_from(ENTRY_BYTES + texts).unwrap_or(u32::MAX)
}

/// Makes the keys of one turn's messages: hashes of everything that what is found depends on.
#[derive(Debug)]
pub(super) struct Key {
    /// The rules of policy.
    rules: [u8; 32],
    /// The tools by their names.
    tools: HashMap<String, [u8; 32]>,
}

impl Key {
    /// Keys under these rules.
    pub(super) fn of(rules: &[FailureRule]) -> Self {
        let text = if rules.is_empty() { String::new() } else { serde_json::to_string(rules).unwrap_or_default() };
        Self { rules: Sha256::digest(text).into(), tools: HashMap::new() }
    }

    /// The key of a result, after these calls that failed before.
    pub(super) fn of_result(&mut self, offer: &Offer, result: &ToolResult, earlier: &[String]) -> [u8; 32] {
        let name = &result.call.name;
        let tool = *self.tools.entry(name.clone()).or_insert_with(|| tool(offer, name));
        let mut hash = Sha256::new();
        hash.update(self.rules);
        hash.update(tool);
        let parts = [name.as_str(), &result.call.arguments, &result.text];
        parts
            .into_iter()
            .chain(earlier.iter().map(String::as_str))
            .for_each(|part| add_part(&mut hash, part.as_bytes()));
        hash.finalize().into()
    }
}

/// A tool as it is offered; one that is not has nothing to be told by.
fn tool(offer: &Offer, name: &str) -> [u8; 32] {
    let mut hash = Sha256::new();
    if let Some(compiled) = offer.toolbook.get(name) {
        add_part(&mut hash, compiled.tool.description.as_bytes());
        add_part(&mut hash, compiled.tool.parameters.to_string().as_bytes());
    }
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::domain::{Call, Owner, Tool};
    use crate::scanner::Validators;

    fn result(text: &str) -> ToolResult {
        let call = Call { id: "1".into(), name: "f".into(), arguments: "{}".into() };
        ToolResult { place: 0, call, text: text.into(), request: 1, is_new: true }
    }

    fn offer(description: &str) -> Offer {
        let tool = Tool {
            name: "f".into(),
            description: description.into(),
            parameters: Arc::new(json!({"type": "object"})),
            free_text: false,
            owner: Owner::Client,
        };
        Offer::of_client(vec![tool], &Validators::default())
    }

    #[test]
    fn a_message_is_looked_at_once_unless_something_differs() {
        use futures_util::FutureExt;

        let seen = Seen::new(1_000_000);
        let looked = std::cell::Cell::new(0);
        let look = |rules: &[FailureRule], offer: &Offer, text: &str, earlier: &[String]| {
            let key = Key::of(rules).of_result(offer, &result(text), earlier);
            let found = async {
                looked.set(looked.get() + 1);
                None
            };
            seen.get_or(key, found).now_or_never().unwrap();
            looked.get()
        };
        let rules: Vec<FailureRule> = serde_json::from_value(json!([{"status": [404], "outcome": "fine"}])).unwrap();
        let one = offer("one");
        assert_eq!(look(&[], &one, "a", &[]), 1);
        assert_eq!(look(&[], &offer("one"), "a", &[]), 1);
        assert_eq!(look(&[], &one, "b", &[]), 2);
        assert_eq!(look(&[], &offer("two"), "a", &[]), 3);
        assert_eq!(look(&[], &one, "a", &["f()".to_owned()]), 4);
        assert_eq!(look(&rules, &one, "a", &[]), 5);
        assert_eq!(look(&[], &one, "a", &[]), 5);
    }
}
