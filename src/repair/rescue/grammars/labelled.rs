//! `Tool: name` and `Arguments: {...}` on the next line, as models write that were shown no format.

use crate::repair::rescue::grammar::Grammar;
use crate::repair::rescue::literal::{Literal, Reader};
use crate::repair::rescue::written::{Written, offered};
use crate::repair::rescue::{body, python};
use crate::scanner::Toolbook;

pub(super) struct Labelled;

const MARKS: [&str; 8] = [
    "Tool:",
    "Function:",
    "**Tool:**",
    "**Function:**",
    "Tool name:",
    "Function name:",
    "Tool Name:",
    "Function Name:",
];
const INPUTS: [&str; 10] = [
    "Arguments:",
    "Parameters:",
    "Input:",
    "Args:",
    "Tool Input:",
    "Tool input:",
    "**Arguments:**",
    "**Parameters:**",
    "**Input:**",
    "**Args:**",
];

impl Grammar for Labelled {
    fn name(&self) -> &'static str {
        "labelled"
    }

    fn marks(&self) -> &'static [&'static str] {
        &MARKS
    }

    fn is_reserved(&self) -> bool {
        false
    }

    fn begins_line(&self) -> bool {
        true
    }

    fn read(&self, reader: &mut Reader<'_>, toolbook: &Toolbook) -> Option<Vec<Written>> {
        MARKS.into_iter().find(|mark| reader.take(mark))?;
        reader.skip_space()?;
        let name = python::name(reader)?;
        offered(&name, toolbook)?;
        reader.skip_space()?;
        INPUTS.into_iter().find(|mark| reader.take(mark))?;
        let arguments = body::arguments(reader, &[])?;
        // `{"city": "string"}` describes the parameters.
        let is_type = |(_, value): &(String, Literal)| value.text().is_some_and(|text| python::TYPES.contains(&text));
        let members = arguments.members()?;
        if !members.is_empty() && members.iter().all(is_type) {
            return None;
        }
        Some(vec![Written::with_arguments(name, &arguments)?])
    }
}
