//! YAML files that people write: parsing with limits, and errors with location and suggestion.

mod places;

use serde::de::DeserializeOwned;
use serde_saphyr::options::NonFiniteFloatPolicy;
use serde_saphyr::{Error, Options};

use super::json::Pointer;
use super::text::nearest;
use places::YamlPlaces;

/// Limits on the expansion of a file.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Maximum nesting depth.
    pub depth: usize,
    /// Maximum number of YAML events, including those expanded from aliases.
    pub events: usize,
}

/// An error in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct YamlProblem {
    /// Line, from 1; 0 if unknown.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Description of the problem and its fix.
    pub message: String,
}

/// Whether a text contains no data, only blank lines and comments.
pub fn is_blank(text: &str) -> bool {
    text.lines().map(str::trim).all(|line| line.is_empty() || line.starts_with('#'))
}

/// Parses a text with one document. Non-finite numbers are accepted: the caller's rules reject them, with their
/// location.
///
/// # Errors
/// [`YamlProblem`]: the text is not YAML, does not have this structure, or exceeds a limit.
pub fn read<T: DeserializeOwned>(text: &str, bounds: Bounds) -> Result<T, YamlProblem> {
    serde_saphyr::from_str_with_options(text, options(bounds)).map_err(|error| {
        let place = error.location();
        let line = place.map_or(0, |place| place.line() as usize);
        let column = place.map_or(0, |place| place.column() as usize);
        let mut message = message(&error);
        // The parser adds the location to the messages of types.
        message.truncate(message.trim_end_matches(&format!(" at line {line}, column {column}")).len());
        YamlProblem { line, column, message }
    })
}

/// Returns an error that was found after `text` was parsed, with its location, which is determined only at this point.
pub fn problem_at(text: &str, place: &Pointer, message: String, bounds: Bounds) -> YamlProblem {
    let found = read::<YamlPlaces>(text, bounds).ok().and_then(|places| places.of(place));
    let (line, column) = found.unwrap_or_default();
    YamlProblem { line, column, message }
}

fn options(bounds: Bounds) -> Options {
    let Bounds { depth, events } = bounds;
    serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_depth: depth, max_events: events, max_nodes: events, max_documents: 1 },
        // Comments serve as documentation and may have any length.
        emit_comments: false,
        with_snippet: false,
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
    }
}

/// Part of the parser's message about a tab in indentation.
const TAB: &str = "tabs disallowed";

fn message(error: &Error) -> String {
    match error.without_snippet() {
        Error::SerdeUnknownField { field, expected, .. } => unknown("key", field, expected),
        Error::SerdeUnknownVariant { variant, expected, .. } => unknown("value", variant, expected),
        other => {
            let text = other.to_string();
            if text.contains(TAB) {
                return "a tab character; YAML indents with spaces only, so replace it by spaces".to_owned();
            }
            text.strip_prefix("error: ").unwrap_or(&text).to_owned()
        }
    }
}

fn unknown(what: &str, name: &str, expected: &[&'static str]) -> String {
    match nearest(name, expected.iter().copied()) {
        Some(near) => format!("unknown {what} `{name}`; did you mean `{near}`?"),
        None => format!("unknown {what} `{name}`; expected one of {}", expected.join(", ")),
    }
}
