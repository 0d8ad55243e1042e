//! Token counts of completions.

use serde_json::value::RawValue;

use super::chat_message::object_at;
use super::fields::ObjectFields;
use super::scanner::{Scanned, Scanner};
use callwright_common::json::raw;
use callwright_types::Usage;

/// Names of the counts of the prompt's and the completion's tokens. Details have the name of their count with `_details`.
pub(super) type CountNames = [&'static str; 2];

pub(super) const CHAT_COUNTS: CountNames = ["prompt_tokens", "completion_tokens"];

/// Parses a `usage` object; missing or invalid counts are 0. Returns `None` if it is not an object.
pub(super) fn read_usage(value: Option<&RawValue>, names: CountNames) -> Option<Usage> {
    scan_usage(&mut Scanner::new(value?.get()), names).ok()?
}

/// Reads a `usage` object in place, as [`read_usage`] does.
pub(super) fn scan_usage(scanner: &mut Scanner<'_>, names: CountNames) -> Scanned<Option<Usage>> {
    let [prompt_name, completion_name] = names;
    let (mut prompt, mut completion, mut total, mut cached) = (None, None, None, None);
    let is_object = scanner.object(|scanner, key| {
        let value = scanner.value()?;
        match key.as_ref() {
            "total_tokens" => total = count_in(value),
            key if key == prompt_name => prompt = count_in(value),
            key if key == completion_name => completion = count_in(value),
            key if key.strip_suffix("_details") == Some(prompt_name) => {
                cached = ObjectFields::parse(value).and_then(|details| count(&details, "cached_tokens"));
            }
            _ => {}
        }
        Ok(())
    })?;
    let prompt_tokens = prompt.unwrap_or(0);
    let completion_tokens = completion.unwrap_or(0);
    let total_tokens = total.unwrap_or(prompt_tokens.saturating_add(completion_tokens));
    let cached_tokens = cached.unwrap_or(0).min(prompt_tokens);
    Ok(is_object.then_some(Usage { prompt_tokens, completion_tokens, total_tokens, cached_tokens }))
}

/// Returns a `usage` object with these counts; its other members, such as the details, are kept.
pub(super) fn with_usage(value: Option<&RawValue>, usage: Usage, names: CountNames) -> Box<RawValue> {
    let mut object = object_at(value);
    let counts = [usage.prompt_tokens, usage.completion_tokens];
    names.into_iter().zip(counts).for_each(|(name, count)| object.set(name, raw(&count)));
    object.set("total_tokens", raw(&usage.total_tokens));
    object.to_raw()
}

/// Returns a count of an object.
pub(super) fn count(fields: &ObjectFields<'_>, key: &str) -> Option<u64> {
    count_in(fields.get(key)?.get())
}

/// Returns the count in a JSON text. Some servers send counts as `12.0`.
fn count_in(text: &str) -> Option<u64> {
    text.parse().ok().or_else(|| {
        let number: f64 = serde_json::from_str(text).ok()?;
        Some(number as u64)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<Usage> {
        read_usage(Some(&serde_json::from_str::<Box<RawValue>>(text).unwrap()), CHAT_COUNTS)
    }

    #[test]
    fn counts_are_read_and_replaced_beside_their_details() {
        let text = r#"{"prompt_tokens":3,"completion_tokens":4.0,"prompt_tokens_details":{"cached_tokens":1}}"#;
        assert_eq!(
            read(text),
            Some(Usage { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7, cached_tokens: 1 })
        );
        let value: Box<RawValue> = serde_json::from_str(text).unwrap();
        let sum = Usage { prompt_tokens: 30, completion_tokens: 40, total_tokens: 70, cached_tokens: 0 };
        assert_eq!(
            with_usage(Some(&value), sum, CHAT_COUNTS).get(),
            r#"{"prompt_tokens":30,"completion_tokens":40,"prompt_tokens_details":{"cached_tokens":1},"total_tokens":70}"#
        );
    }

    #[test]
    fn broken_counts_are_no_tokens() {
        assert_eq!(read("null"), None);
        assert_eq!(read("5"), None);
        assert_eq!(read(r#"{"prompt_tokens":"many","completion_tokens":-1}"#), Some(Usage::default()));
    }
}
