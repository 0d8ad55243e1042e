//! Conditions under which a placeholder form is a value of a parameter.

use crate::names;
use callwright_common::placeholder::{INSTRUCTIONS, PlaceholderForm};

/// Words in names and descriptions of parameters that accept values in placeholder notation.
const MARKUP: [&str; 10] =
    ["html", "xml", "tag", "tags", "template", "markup", "element", "selector", "pattern", "format"];
/// Words in names and descriptions of parameters that accept names of types.
const TYPES: [&str; 9] = ["type", "types", "datatype", "dtype", "schema", "kind", "class", "format", "keyword"];

/// Whether the value is a placeholder regardless of the conversation. This holds for a blank that contains a word of the
/// parameter's name or an instruction. Other forms are ambiguous: users do write `your_dataset_name`.
pub(super) fn speaks_for_itself(form: PlaceholderForm, value: &str, name: &str) -> bool {
    let named = names::words(name);
    match form {
        PlaceholderForm::Blank => {
            names::words(value).iter().any(|word| named.contains(word) || INSTRUCTIONS.contains(&word.as_str()))
        }
        PlaceholderForm::Instruction
        | PlaceholderForm::Word
        | PlaceholderForm::ExampleAddress
        | PlaceholderForm::Counting => false,
    }
}

/// Whether a parameter with this name and description accepts values of this form.
pub(super) fn is_accepted(form: PlaceholderForm, name: &str, description: &str) -> bool {
    let expected: &[&str] = match form {
        PlaceholderForm::Blank => &MARKUP,
        PlaceholderForm::Word => &TYPES,
        PlaceholderForm::Instruction | PlaceholderForm::ExampleAddress | PlaceholderForm::Counting => return false,
    };
    names::words(name).iter().chain(&names::words(description)).any(|word| expected.contains(&word.as_str()))
}
