//! E1: parses the argument object of a native call whose text is not JSON, as leniently as a call written as text.
//!
//! No data is lost: anything around the object is residue of a chat template or a repetition of the same object.

use std::collections::HashMap;

use crate::repair::rescue::call_names::MAX_WRAPPERS;
use crate::repair::rescue::literal::{Literal, LiteralReader};
use callwright_common::json::bare;
use callwright_scanner::names::{bracket_token, template_token};
use callwright_scanner::{CompiledTool, ToolSet};

/// Tools that guide the parser: the called tool, and the tools offered with it.
#[derive(Debug, Clone, Copy)]
pub(super) struct LenientGuard<'a> {
    pub(super) tool: &'a CompiledTool,
    pub(super) tool_set: &'a ToolSet,
}

/// Returns the members of the one object in `text`; `None` if there is no object, if there are several different
/// objects, or if there is any other content.
pub(super) fn members(text: &str, guard: LenientGuard<'_>) -> Option<Vec<(String, Literal)>> {
    decoded(text, guard, MAX_WRAPPERS)
}

fn decoded(text: &str, guard: LenientGuard<'_>, encodings: usize) -> Option<Vec<(String, Literal)>> {
    let text = without_leading_tokens(bare(text));
    // For a call without arguments, models write an empty text or `null`.
    if text.is_empty() {
        return guard.tool.needs_nothing().then(Vec::new);
    }
    match only_value(text, guard)? {
        Literal::Object(members) => is_plain(&members).then_some(members),
        Literal::Null => guard.tool.needs_nothing().then(Vec::new),
        Literal::Text(inner) => decoded(&inner, guard, encodings.checked_sub(1)?),
        Literal::List(items) => match <[Literal; 1]>::try_from(items).ok()? {
            [Literal::Object(members)] => is_plain(&members).then_some(members),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the value of the text. The value may be repeated, and chat template tokens, code fences or extra closing
/// brackets may follow it.
fn only_value(text: &str, guard: LenientGuard<'_>) -> Option<Literal> {
    let mut reader = LiteralReader::new(text, false).with_arguments_of(guard.tool, guard.tool_set);
    let value = reader.data()?;
    loop {
        reader.skip_space()?;
        let rest = reader.rest();
        if reader.is_at_end() {
            return Some(value);
        } else if let Some(length) = template_token(rest) {
            reader.advance(length)?;
        } else if rest.starts_with("```") {
            reader.advance(3)?;
        } else if rest.starts_with('{') {
            // Different objects would be several calls.
            is_same(&reader.data()?, &value).then_some(())?;
        } else {
            let brackets = rest.len() - rest.trim_start_matches(['}', ']']).len();
            (brackets > 0).then_some(())?;
            reader.advance(brackets)?;
        }
    }
}

/// Whether two values are equal, ignoring the order of members.
fn is_same(one: &Literal, other: &Literal) -> bool {
    match (one, other) {
        (Literal::Object(members), Literal::Object(others)) => {
            // A duplicate key has equal values: see `is_plain`.
            let others_by_key: HashMap<&str, &Literal> =
                others.iter().map(|(key, value)| (key.as_str(), value)).collect();
            members.len() == others.len()
                && members
                    .iter()
                    .all(|(key, value)| others_by_key.get(key.as_str()).is_some_and(|found| is_same(value, found)))
        }
        (Literal::List(items), Literal::List(others)) => {
            items.len() == others.len() && items.iter().zip(others).all(|(one, other)| is_same(one, other))
        }
        (one, other) => one == other,
    }
}

fn without_leading_tokens(mut text: &str) -> &str {
    while let Some(rest) = template_token(text).or_else(|| bracket_token(text)).and_then(|length| text.get(length..)) {
        text = rest.trim_start();
    }
    text
}

/// Whether no value is an expression, and no member is repeated with a different value.
fn is_plain(members: &[(String, Literal)]) -> bool {
    let mut seen: HashMap<&str, &Literal> = HashMap::with_capacity(members.len());
    members.iter().all(|(key, value)| {
        let is_consistent = seen.insert(key, value).is_none_or(|known| known == value);
        is_consistent && value.expression().is_none() && is_plain_within(value)
    })
}

fn is_plain_within(value: &Literal) -> bool {
    match value {
        Literal::Object(members) => is_plain(members),
        Literal::List(items) => items.iter().all(|item| item.members().is_none_or(is_plain)),
        _ => true,
    }
}
