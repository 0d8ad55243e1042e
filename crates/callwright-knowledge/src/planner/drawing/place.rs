//! Where in an answer a value is taken from.

use super::answer::{Taken, Which};
use callwright_common::json::Pointer;
use callwright_types::plan::{Item, Reference};
use callwright_types::{OutputField, ValueKind};

/// Where a value stands in an answer, and which item of a list; `None` where it names an item that no list can have.
pub(super) fn place(taken: &Taken) -> Option<(Pointer, Item)> {
    let written = Pointer::from(taken.output.as_str());
    let (mut output, mut index) = (Pointer::root(), None);
    for token in written.tokens() {
        if is_index(&token) {
            index = Some(token.parse::<usize>().ok()?);
            output = output.item(0);
        } else {
            output = output.child(&token);
        }
    }
    Some(match (index, taken.item) {
        (Some(0) | None, Some(Which::First)) => (with_item(output, index), Item::Index(0)),
        (Some(0) | None, Some(Which::Choose)) => (with_item(output, index), Item::Chosen),
        (None, _) | (Some(0), Some(Which::All)) => (output, Item::Whole),
        (Some(0), None) => (output, Item::Chosen),
        (Some(index), _) => (output, Item::Index(index)),
    })
}

/// May an answer with these values have something there: one of them, what holds some of them, or a part of one of which nothing more is told?
/// Where nobody knows what it has, it may have anything.
pub(super) fn may_have(fields: &[OutputField], output: &str) -> bool {
    if fields.is_empty() {
        return true;
    }
    let is_below = |longer: &str, shorter: &str| {
        longer.strip_prefix(shorter).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let is_told = |of: &str| fields.iter().any(|field| field.pointer != of && is_below(&field.pointer, of));
    fields.iter().any(|field| {
        let pointer = field.pointer.as_str();
        is_below(pointer, output) || (is_below(output, pointer) && !is_told(pointer))
    })
}

/// The place of an item, where that of its list is given.
fn with_item(output: Pointer, index: Option<usize>) -> Pointer {
    if index.is_some() { output } else { output.item(0) }
}

fn is_index(token: &str) -> bool {
    !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_digit())
}

/// Of what kind the value is, where that is told.
pub(super) fn kind_of(fields: &[OutputField], reference: &Reference) -> Option<ValueKind> {
    let field = fields.iter().find(|field| field.pointer == reference.output.as_str())?;
    let is_of_all = reference.item == Item::Whole && reference.output.tokens().iter().any(|token| is_index(token));
    if is_of_all { Some(ValueKind::Array) } else { field.kind }
}
