//! Values that a tool's schema marks as secret, and their removal from texts.

mod find;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

use crate::secret::written_forms;

/// Replacement for a secret.
pub const MASK: &str = "***";

/// Maximum number of secrets per turn; a longer list does not consist of secrets.
const MAX_SECRETS: usize = 1_000;
/// Minimum length in characters of a secret that is masked within a text. A shorter one, which may occur in any text,
/// is masked only if it is the whole text.
const SHORTEST_PART: usize = 4;
/// Maximum nesting of JSON texts that are searched for secrets.
const MAX_NESTED_TEXTS: usize = 4;

/// The secrets among the arguments of a turn's calls: values whose schema has `format: password` (OpenAPI 3.0.4, Data
/// Types) or `writeOnly: true` (JSON Schema 2020-12, section 9.4 of the validation vocabulary).
///
/// In case of doubt, a value is secret: if any schema that may apply to it marks it, whatever keywords and references
/// lead there.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SecretValues {
    values: BTreeSet<String>,
    is_incomplete: bool,
}

impl SecretValues {
    /// Whether there are no secrets.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty() && !self.is_incomplete
    }

    /// Whether some secrets were discarded because of the limit, so that masking would leave those in the text. Texts
    /// that may contain them must not be stored.
    pub fn is_incomplete(&self) -> bool {
        self.is_incomplete
    }

    /// Adds the secrets of a call's arguments.
    pub fn note(&mut self, schema: &Value, arguments: &Value) {
        self.note_all(schema, [arguments]);
    }

    /// Adds the secrets of several calls of one tool.
    pub fn note_all<'a>(&mut self, schema: &Value, arguments: impl IntoIterator<Item = &'a Value>) {
        let Some(marks) = find::SecretMarks::of(schema) else { return };
        for arguments in arguments {
            marks.find(arguments, self);
        }
    }

    /// Adds the whole text of a call's arguments if its tool has secrets at all. Which part of an unparsable text is
    /// secret cannot be determined.
    pub fn note_unread(&mut self, schema: &Value, text: &str) {
        if find::SecretMarks::of(schema).is_some() && !text.trim().is_empty() {
            self.keep(text);
        }
    }

    fn keep(&mut self, value: &str) {
        if self.values.len() < MAX_SECRETS {
            self.values.insert(value.to_owned());
        } else {
            self.is_incomplete |= !self.values.contains(value);
        }
    }

    /// Adds all scalars in a secret, including those of a JSON text that it is or contains.
    fn take(&mut self, value: &Value) {
        self.take_within(value, 0);
    }

    fn take_within(&mut self, value: &Value, level: usize) {
        let mut waiting = vec![value];
        while let Some(value) = waiting.pop() {
            match value {
                Value::String(text) if !text.is_empty() => {
                    self.keep(text);
                    if level < MAX_NESTED_TEXTS
                        && text.trim_start().starts_with(['{', '['])
                        && let Ok(inner) = serde_json::from_str(text)
                    {
                        self.take_within(&inner, level + 1);
                    }
                }
                Value::Number(number) => self.keep(&number.to_string()),
                Value::Array(items) => waiting.extend(items),
                Value::Object(members) => waiting.extend(members.values()),
                Value::String(_) | Value::Bool(_) | Value::Null => {}
            }
        }
    }

    /// Masks the secrets anywhere in a value: as values, in texts, in JSON inside texts, and in URLs.
    pub fn mask(&self, value: &mut Value) {
        if self.is_incomplete {
            *value = MASK.into();
        } else if !self.is_empty() {
            mask(value, &self.needles(), 0);
        }
    }

    /// Returns a text with masked secrets.
    pub fn mask_text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.is_incomplete { MASK.into() } else { masked(text, &self.needles(), 0) }
    }

    /// Returns the search strings, longest first, so that a secret that contains another one is masked completely.
    fn needles(&self) -> Vec<String> {
        let forms: BTreeSet<String> = self.values.iter().flat_map(|value| written_forms(value)).collect();
        let mut needles: Vec<String> = forms.into_iter().collect();
        needles.sort_by_key(|needle| std::cmp::Reverse(needle.len()));
        needles
    }
}

impl fmt::Debug for SecretValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretValues({})", self.values.len())
    }
}

fn mask(value: &mut Value, needles: &[String], level: usize) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(masked) = masked(text, needles, level) {
                *text = masked;
            }
        }
        Value::Number(number) if needles.contains(&number.to_string()) => *value = MASK.into(),
        Value::Array(items) => items.iter_mut().for_each(|item| mask(item, needles, level)),
        Value::Object(members) => members.values_mut().for_each(|member| mask(member, needles, level)),
        Value::Number(_) | Value::Bool(_) | Value::Null => {}
    }
}

fn masked<'t>(text: &'t str, needles: &[String], level: usize) -> Cow<'t, str> {
    let mut masked_text = Cow::Borrowed(text);
    if let Some(json) = masked_json(text, needles, level) {
        masked_text = Cow::Owned(json);
    }
    for needle in needles {
        if *masked_text == *needle {
            return Cow::Owned(MASK.to_owned());
        }
        if is_part(needle) && masked_text.contains(needle.as_str()) {
            masked_text = Cow::Owned(masked_text.replace(needle.as_str(), MASK));
        }
    }
    masked_text
}

/// Returns the JSON text with every value masked that equals a secret, however short; `None` if it is not JSON or has
/// none.
fn masked_json(text: &str, needles: &[String], level: usize) -> Option<String> {
    let is_json = level < MAX_NESTED_TEXTS && text.trim_start().starts_with(['{', '[']);
    if !is_json || needles.iter().all(|needle| is_part(needle) && needle.parse::<f64>().is_err()) {
        return None;
    }
    let json: Value = serde_json::from_str(text).ok()?;
    let mut masked = json.clone();
    mask(&mut masked, needles, level + 1);
    (masked != json).then(|| masked.to_string())
}

/// Whether a secret is also masked as a part of a text.
fn is_part(needle: &str) -> bool {
    needle.chars().count() >= SHORTEST_PART
}
