//! One file's text → a policy, with errors that name file, line, column and what was probably meant.

use serde::de::DeserializeOwned;
use serde_saphyr::{Error, Options};

use super::fault::Fault;
use super::nearest::nearest;
use super::places::Places;
use super::selector::Selector;
use super::sources::Source;
use super::validate::validate;
use super::{Policy, PolicyError};

/// Deepest nesting that a policy can need is 5; the rest is room for anchors and merges.
const MAX_DEPTH: usize = 16;

/// Most YAML events of a file: bounds what anchors can unfold to.
const MAX_EVENTS: usize = 100_000;

/// Reads a policy.
pub(super) fn parse(source: &Source) -> Result<(Policy, Option<Selector>), PolicyError> {
    let mut policy: Policy = if is_blank(&source.text) { Policy::default() } else { read(source)? };
    if policy.name.is_empty() {
        policy.name = source.stem();
    }
    match validate(&policy) {
        Ok(selector) => Ok((policy, selector)),
        Err(fault) => Err(located(source, fault)),
    }
}

/// A file of comments alone says nothing, and nothing is what may be left out.
fn is_blank(text: &str) -> bool {
    text.lines().map(str::trim).all(|line| line.is_empty() || line.starts_with('#'))
}

fn read<T: DeserializeOwned>(source: &Source) -> Result<T, PolicyError> {
    serde_saphyr::from_str_with_options(&source.text, options()).map_err(|error| {
        let place = error.location();
        PolicyError::Invalid {
            file: source.shown(),
            line: place.map_or(0, |place| place.line() as usize),
            column: place.map_or(0, |place| place.column() as usize),
            message: message(&error),
        }
    })
}

fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_depth: MAX_DEPTH, max_events: MAX_EVENTS, max_documents: 1 },
        // Comments are documentation here, of any length.
        emit_comments: false,
        with_snippet: false,
    }
}

fn message(error: &Error) -> String {
    match error.without_snippet() {
        Error::SerdeUnknownField { field, expected, .. } => unknown("key", field, expected),
        Error::SerdeUnknownVariant { variant, expected, .. } => unknown("value", variant, expected),
        other => {
            let text = other.to_string();
            text.strip_prefix("error: ").unwrap_or(&text).to_owned()
        }
    }
}

fn unknown(what: &str, name: &str, expected: &[&'static str]) -> String {
    match nearest(name, expected.iter().copied()) {
        Some(near) => format!("unknown {what} `{name}`; did you mean `{near}`?"),
        None => format!("unknown {what} `{name}`; there are {}", expected.join(", ")),
    }
}

/// The fault with its place in the text, which is looked up only now that it is needed.
fn located(source: &Source, fault: Fault) -> PolicyError {
    let (line, column) = read::<Places>(source).ok().and_then(|places| places.of(&fault.place)).unwrap_or_default();
    PolicyError::Invalid { file: source.shown(), line, column, message: fault.message }
}
