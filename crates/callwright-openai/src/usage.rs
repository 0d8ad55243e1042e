//! Token counts of completions.

use serde_json::value::RawValue;

use super::fields::ObjectFields;
use super::scanner::{Scanned, Scanner};
use callwright_common::json::{RawObject, raw};
use callwright_types::Usage;

/// Parses a `usage` object; missing or invalid counts are 0. Returns `None` if it is not an object.
pub(super) fn read_usage(value: Option<&RawValue>) -> Option<Usage> {
    scan_usage(&mut Scanner::new(value?.get())).ok()?
}

/// Reads a `usage` object in place, as [`read_usage`] does.
pub(super) fn scan_usage(scanner: &mut Scanner<'_>) -> Scanned<Option<Usage>> {
    let (mut prompt, mut completion, mut total, mut cached) = (None, None, None, None);
    let is_object = scanner.object(|scanner, key| {
        match key.as_ref() {
            "prompt_tokens" => prompt = count_in(scanner.value()?),
            "completion_tokens" => completion = count_in(scanner.value()?),
            "total_tokens" => total = count_in(scanner.value()?),
            "prompt_tokens_details" => cached = scan_cached_tokens(scanner)?,
            _ => scanner.skip()?,
        }
        Ok(())
    })?;
    let prompt_tokens = prompt.unwrap_or(0);
    let completion_tokens = completion.unwrap_or(0);
    let total_tokens = total.unwrap_or(prompt_tokens.saturating_add(completion_tokens));
    let cached_tokens = cached.unwrap_or(0).min(prompt_tokens);
    Ok(is_object.then_some(Usage { prompt_tokens, completion_tokens, total_tokens, cached_tokens }))
}

fn scan_cached_tokens(scanner: &mut Scanner<'_>) -> Scanned<Option<u64>> {
    let mut cached = None;
    let is_object = scanner.object(|scanner, key| {
        let value = scanner.value()?;
        if key == "cached_tokens" {
            cached = count_in(value);
        }
        Ok(())
    })?;
    Ok(cached.filter(|_| is_object))
}

/// Returns a `usage` object with these counts; its other members, such as the details, are kept.
pub(super) fn with_usage(value: Option<&RawValue>, usage: Usage) -> Box<RawValue> {
    let mut object = value.and_then(|value| RawObject::parse(value.get()).ok()).unwrap_or_default();
    object.set("prompt_tokens", raw(&usage.prompt_tokens));
    object.set("completion_tokens", raw(&usage.completion_tokens));
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
        read_usage(Some(&serde_json::from_str::<Box<RawValue>>(text).unwrap()))
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
            with_usage(Some(&value), sum).get(),
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
