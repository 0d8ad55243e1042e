//! Matches the template expressions of a path with the path parameters, tolerating mismatches in the document.

use crate::document::LocatedValue;
use crate::load::operation_list::DocumentOperation;
use crate::report::notes::LoadNotes;
use crate::request::binding::{Location, Style};
use crate::request::parameter::OperationParameter;
use crate::request::path_template::{PathSlot, normalised_template, slots};
use callwright_common::text::letters;

/// A path and the parameters of its operation, one for each template expression.
pub(crate) struct TemplateParameters<'d> {
    /// The path template, with `{name}` for every template expression.
    pub(crate) path: String,
    pub(crate) parameters: Vec<OperationParameter<'d>>,
}

/// Assigns a parameter to every template expression of the path. Drops path parameters without an expression, which
/// cannot be sent. An expression without a described parameter accepts any string.
pub(crate) fn match_template<'d>(
    source: &DocumentOperation<'d>,
    mut parameters: Vec<OperationParameter<'d>>,
    notes: &mut LoadNotes,
) -> Result<TemplateParameters<'d>, String> {
    let in_path = parameters.iter().filter(|parameter| parameter.location == Location::Path);
    let described: Vec<&str> = in_path.map(|parameter| parameter.name.as_str()).collect();
    let path = normalised_template(source.path, &described);
    if path != source.path {
        notes.remark(format!("the path is read as `{path}`"));
    }
    let mut empty = slots(&path)?;
    for matches in [is_named, is_named_alike, is_only_one] {
        fill(&mut parameters, &mut empty, matches, notes);
    }
    parameters.retain(|parameter| {
        let is_sendable = parameter.location != Location::Path || parameter.slot.is_some();
        if !is_sendable {
            notes.remark(format!("path parameter `{}` has no place in the path; left out", parameter.name));
        }
        is_sendable
    });
    let mut all: Vec<OperationParameter<'d>> = Vec::new();
    for slot in &empty {
        notes.remark(format!("path parameter `{}` is not described; any text is accepted", slot.name));
        all.push(undescribed(slot, &source.operation));
    }
    all.extend(parameters);
    Ok(TemplateParameters { path, parameters: all })
}

/// Whether the parameter `name` belongs to `slot`. `unassigned` has the numbers of unassigned slots and parameters.
type SlotMatcher = fn(name: &str, slot: &PathSlot, unassigned: (usize, usize)) -> bool;

fn is_named(name: &str, slot: &PathSlot, _: (usize, usize)) -> bool {
    name == slot.token || name == slot.name
}

/// Whether the names differ only in case and separators: `petId` matches `{pet_id}`.
fn is_named_alike(name: &str, slot: &PathSlot, _: (usize, usize)) -> bool {
    let [name, slot] = [name, &slot.name].map(letters);
    !name.is_empty() && name == slot
}

fn is_only_one(_: &str, _: &PathSlot, unassigned: (usize, usize)) -> bool {
    unassigned == (1, 1)
}

/// Removes the slots from `empty` that match an unassigned parameter, and assigns them.
fn fill(
    parameters: &mut [OperationParameter<'_>],
    empty: &mut Vec<PathSlot>,
    matches: SlotMatcher,
    notes: &mut LoadNotes,
) {
    let unassigned = (empty.len(), parameters.iter().filter(|parameter| is_unassigned(parameter)).count());
    empty.retain(|slot| {
        let parameter = parameters
            .iter_mut()
            .find(|parameter| is_unassigned(parameter) && matches(&parameter.name, slot, unassigned));
        let Some(parameter) = parameter else { return true };
        if !is_named(&parameter.name, slot, unassigned) {
            notes.remark(format!("path parameter `{}` is used for `{{{}}}` in the path", parameter.name, slot.token));
        }
        parameter.slot = Some(slot.token.clone());
        parameter.allow_reserved |= slot.is_reserved;
        false
    });
}

/// Whether it is a path parameter without a template expression.
fn is_unassigned(parameter: &OperationParameter<'_>) -> bool {
    parameter.location == Location::Path && parameter.slot.is_none()
}

fn undescribed<'d>(slot: &PathSlot, operation: &LocatedValue<'d>) -> OperationParameter<'d> {
    OperationParameter {
        name: slot.name.clone(),
        slot: Some(slot.token.clone()),
        location: Location::Path,
        required: true,
        style: Style::Simple,
        explode: false,
        allow_reserved: slot.is_reserved,
        allows_empty: false,
        media_type: None,
        nested: Vec::new(),
        schema: None,
        description: None,
        deprecated: false,
        at: operation.clone(),
    }
}
