//! Locates a referenced value in an answer.

use super::answer::{ItemSelection, TakenOutput};
use callwright_common::json::Pointer;
use callwright_common::text::is_digits;
use callwright_types::plan::{Item, Reference};
use callwright_types::{OutputField, ValueKind};

/// Returns the pointer of a value in an answer and the selected list item; `None` if the item index cannot be parsed.
pub(super) fn location(taken: &TakenOutput) -> Option<(Pointer, Item)> {
    let pointer = Pointer::from(taken.output.as_str());
    let (mut output, mut index) = (Pointer::root(), None);
    for token in pointer.tokens() {
        if is_digits(&token) {
            index = Some(token.parse::<usize>().ok()?);
            output = output.item(0);
        } else {
            output = output.child(&token);
        }
    }
    Some(match (index, taken.item) {
        (Some(0) | None, Some(ItemSelection::First)) => (with_item(output, index), Item::Index(0)),
        (Some(0) | None, Some(ItemSelection::Choose)) => (with_item(output, index), Item::Chosen),
        (None, _) | (Some(0), Some(ItemSelection::All)) => (output, Item::Whole),
        (Some(0), None) => (output, Item::Chosen),
        (Some(index), _) => (output, Item::Index(index)),
    })
}

/// Whether an answer with these fields may have a value at `output`: a field, its container, or a part of a field
/// without documented members. Without documented fields, anything may be there.
pub(super) fn may_have(fields: &[OutputField], output: &str) -> bool {
    if fields.is_empty() {
        return true;
    }
    fields.iter().any(|field| {
        is_within(&field.pointer, output)
            || is_within(output, &field.pointer)
                && !fields.iter().any(|part| part.pointer != field.pointer && is_within(&part.pointer, &field.pointer))
    })
}

/// Whether a pointer is equal to another one or below it.
fn is_within(pointer: &str, container: &str) -> bool {
    pointer.strip_prefix(container).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns the pointer of a list item; `index` is set if the pointer already contains one.
fn with_item(output: Pointer, index: Option<usize>) -> Pointer {
    if index.is_some() { output } else { output.item(0) }
}

/// Returns the kind of the referenced value, if known.
pub(super) fn kind_of(fields: &[OutputField], reference: &Reference) -> Option<ValueKind> {
    let field = fields.iter().find(|field| field.pointer == reference.output.as_str())?;
    let is_of_all = reference.item == Item::Whole && reference.output.tokens().iter().any(|token| is_digits(token));
    if is_of_all { Some(ValueKind::Array) } else { field.kind }
}
