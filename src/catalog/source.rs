//! A document's file → raw JSON.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde_json::Value;

use super::{LoadError, yaml};

/// Nesting that a document may have. It is serde_json's own bound, so that JSON and YAML are judged alike; everything that
/// walks a document afterwards may recurse that deep without fear for the stack.
pub(super) const MAX_NESTING: usize = 127;

/// Reads a document of at most `limit` bytes. JSON and YAML are told apart by content, because their names often lie.
pub(super) fn read(path: &Path, limit: u64) -> Result<Value, LoadError> {
    let text = read_text(path, limit)?;
    parse(&text).map_err(|message| LoadError::Syntax { path: path.to_owned(), message })
}

fn read_text(path: &Path, limit: u64) -> Result<String, LoadError> {
    let unreadable = |source| LoadError::Read { path: path.to_owned(), source };
    let file = File::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > limit {
        return Err(LoadError::TooLarge { path: path.to_owned(), limit });
    }
    let text = String::from_utf8(bytes).map_err(|error| LoadError::Syntax {
        path: path.to_owned(),
        message: format!("no UTF-8 at byte {}", error.utf8_error().valid_up_to()),
    })?;
    Ok(text)
}

/// What looks like JSON but is not may still be YAML, whose flow style is laxer: trailing commas, comments, unquoted keys.
fn parse(text: &str) -> Result<Value, String> {
    let text = text.trim_start_matches('\u{feff}');
    if !text.trim_start().starts_with(['{', '[']) {
        return yaml::parse(text);
    }
    serde_json::from_str(text).or_else(|error| yaml::parse(text).map_err(|_| format!("no JSON: {error}")))
}

#[cfg(test)]
mod tests;
