//! Edits of single values in a JSON text; all other bytes are preserved.

use serde_json::Value;
use serde_json::value::RawValue;

use super::{Pointer, RawObject, raw};

/// One change at one location.
#[derive(Debug, Clone, PartialEq)]
pub enum Edit {
    /// Replaces the value, or adds the member to its object.
    Set(Pointer, Value),
    /// Replaces the value with this JSON text. Keeps the digits of numbers that [`Value`] rounds.
    SetText(Pointer, String),
    /// Renames the member, which keeps its position.
    Rename(Pointer, String),
    /// Removes the member.
    Remove(Pointer),
}

/// An edit that cannot be applied to the text.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// The text is not JSON, or its depth or structure does not match the pointer.
    #[error("not JSON at the edited location: {0}")]
    Json(#[from] serde_json::Error),
    /// The pointer addresses a missing array item, or passes through a scalar.
    #[error("no value at `{0}`")]
    Absent(String),
}

/// Applies `edits` to `text` in order. Values that no edit touches keep their exact text. The objects and arrays on the
/// path to an edit are reserialised without whitespace.
///
/// # Errors
/// If the text is not JSON, or an edit addresses a location that does not exist.
pub fn apply(text: &str, edits: &[Edit]) -> Result<String, EditError> {
    let mut current: Box<RawValue> = serde_json::from_str(text)?;
    for edit in edits {
        let pointer = match edit {
            Edit::Set(pointer, _) | Edit::SetText(pointer, _) | Edit::Rename(pointer, _) | Edit::Remove(pointer) => {
                pointer
            }
        };
        current = descend(&current, &pointer.tokens(), pointer, edit)?;
    }
    Ok(current.get().to_owned())
}

/// Returns the exact JSON text of the value at `pointer`.
pub fn text_at(text: &str, pointer: &Pointer) -> Option<String> {
    let mut current: Box<RawValue> = serde_json::from_str(text).ok()?;
    for token in pointer.tokens() {
        current = if current.get().starts_with('[') {
            let items: Vec<Box<RawValue>> = serde_json::from_str(current.get()).ok()?;
            items.into_iter().nth(token.parse().ok()?)?
        } else {
            RawObject::parse(current.get()).ok()?.get(&token)?.to_owned()
        };
    }
    Some(current.get().to_owned())
}

fn absent(pointer: &Pointer) -> EditError {
    EditError::Absent(pointer.to_string())
}

fn descend(value: &RawValue, tokens: &[String], pointer: &Pointer, edit: &Edit) -> Result<Box<RawValue>, EditError> {
    let Some((token, rest)) = tokens.split_first() else {
        return match edit {
            Edit::Set(_, new) => Ok(raw(new)),
            Edit::SetText(_, new) => Ok(RawValue::from_string(new.clone())?),
            Edit::Rename(..) | Edit::Remove(_) => Err(absent(pointer)),
        };
    };
    if value.get().starts_with('[') {
        let mut items: Vec<Box<RawValue>> = serde_json::from_str(value.get())?;
        let item = token.parse().ok().and_then(|index: usize| items.get_mut(index)).ok_or_else(|| absent(pointer))?;
        *item = descend(item, rest, pointer, edit)?;
        return Ok(raw(&items));
    }
    let mut object: RawObject = serde_json::from_str(value.get())?;
    match edit {
        Edit::Set(_, new) if rest.is_empty() => object.set(token, raw(new)),
        Edit::SetText(_, new) if rest.is_empty() => object.set(token, RawValue::from_string(new.clone())?),
        Edit::Rename(_, to) if rest.is_empty() => object.rename(token, to),
        Edit::Remove(_) if rest.is_empty() => {
            object.remove(token);
        }
        _ => {
            let inner = descend(object.get(token).ok_or_else(|| absent(pointer))?, rest, pointer, edit)?;
            object.set(token, inner);
        }
    }
    Ok(object.to_raw())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_the_edited_place_changes() {
        let text = r#"{"keep": 1.500, "Deep":{"list":["5", 1e2]}, "gone":null}"#;
        let edits = [
            Edit::Set(Pointer::from("/Deep/list/0"), json!(5)),
            Edit::Rename(Pointer::from("/Deep"), "deep".into()),
            Edit::Remove(Pointer::from("/gone")),
        ];
        assert_eq!(apply(text, &edits).unwrap(), r#"{"keep":1.500,"deep":{"list":[5,1e2]}}"#);
    }

    #[test]
    fn digits_are_read_and_written_as_they_are() {
        let text = r#"{"a":[{"b": 1.10}], "c":"12345678901234567890123"}"#;
        assert_eq!(text_at(text, &Pointer::from("/a/0/b")).as_deref(), Some("1.10"));
        assert_eq!(text_at(text, &Pointer::from("/a/1/b")), None);
        let edit = Edit::SetText(Pointer::from("/c"), "12345678901234567890123".to_owned());
        assert_eq!(apply(text, &[edit]).unwrap(), r#"{"a":[{"b": 1.10}],"c":12345678901234567890123}"#);
        assert!(apply("{}", &[Edit::SetText(Pointer::from("/c"), "1 2".to_owned())]).is_err());
    }

    #[test]
    fn a_place_that_is_not_there_is_an_error() {
        assert!(matches!(apply("[1]", &[Edit::Set(Pointer::from("/7"), json!(1))]), Err(EditError::Absent(_))));
        assert!(apply("nonsense", &[Edit::Remove(Pointer::from("/a"))]).is_err());
        assert!(apply("{}", &[Edit::Remove(Pointer::root())]).is_err());
    }
}
