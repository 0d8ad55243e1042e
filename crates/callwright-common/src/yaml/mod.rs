//! Files that people write in YAML: bounded reading, and mistakes with their place and what was probably meant.

mod places;

use serde::de::DeserializeOwned;
use serde_saphyr::options::NonFiniteFloatPolicy;
use serde_saphyr::{Error, Options};

use super::json::Pointer;
use super::nearest::nearest;
use places::Places;

/// How much of a file is unfolded before it is refused.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Deepest nesting.
    pub depth: usize,
    /// Most YAML events, those that anchors unfold to included.
    pub events: usize,
}

/// A mistake in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct YamlProblem {
    /// Line, from 1; 0 where it is not known.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong and what mends it.
    pub message: String,
}

/// Does a text say nothing? One of comments alone does not.
pub fn is_blank(text: &str) -> bool {
    text.lines().map(str::trim).all(|line| line.is_empty() || line.starts_with('#'))
}

/// Reads a text of one document. Numbers that are not finite pass: they are for the caller's rules to refuse, with their place.
///
/// # Errors
/// [`YamlProblem`]: the text is no YAML, not of this form, or beyond the bounds.
pub fn read<T: DeserializeOwned>(text: &str, bounds: Bounds) -> Result<T, YamlProblem> {
    serde_saphyr::from_str_with_options(text, options(bounds)).map_err(|error| {
        let place = error.location();
        YamlProblem {
            line: place.map_or(0, |place| place.line() as usize),
            column: place.map_or(0, |place| place.column() as usize),
            message: message(&error),
        }
    })
}

/// A mistake that was found after `text` was read: with its place, which is looked up only now that it is needed.
pub fn problem_at(text: &str, place: &Pointer, message: String, bounds: Bounds) -> YamlProblem {
    let found = read::<Places>(text, bounds).ok().and_then(|places| places.of(place));
    let (line, column) = found.unwrap_or_default();
    YamlProblem { line, column, message }
}

fn options(bounds: Bounds) -> Options {
    let Bounds { depth, events } = bounds;
    serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_depth: depth, max_events: events, max_nodes: events, max_documents: 1 },
        // Comments are documentation here, of any length.
        emit_comments: false,
        with_snippet: false,
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
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
