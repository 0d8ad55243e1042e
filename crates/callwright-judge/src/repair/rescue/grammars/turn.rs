//! Parses `>>>name` with the arguments on the next line, of functionary 3.

use crate::repair::rescue::grammar::Grammar;
use crate::repair::rescue::literal::Reader;
use crate::repair::rescue::written::{Written, offered};
use crate::repair::rescue::{body, element, python};
use crate::scanner::ToolSet;

#[derive(Debug)]
pub(super) struct Turn;

const STOP: &str = "<|stop|>";
const SIGN: &str = ">>>";

impl Grammar for Turn {
    fn read(&self, reader: &mut Reader<'_>, tool_set: &ToolSet) -> Option<Vec<Written>> {
        several(reader, |reader| {
            reader.take(SIGN).then_some(())?;
            let name = python::name(reader)?;
            // The name must end its line, because code follows the prompt of a Python interpreter.
            let ends_line = reader.rest().trim_start_matches([' ', '\r']).starts_with('\n');
            ends_line.then(|| offered(&name, tool_set))??;
            object(reader, name)
        })
    }
}

/// Parses consecutive calls.
fn several<'a>(reader: &mut Reader<'a>, read: impl Fn(&mut Reader<'a>) -> Option<Written>) -> Option<Vec<Written>> {
    let mut calls = Vec::new();
    loop {
        let before = reader.at();
        reader.skip_space()?;
        match read(reader) {
            Some(call) => calls.push(call),
            None => {
                reader.go(before);
                return (!calls.is_empty()).then_some(calls);
            }
        }
    }
}

/// Parses the arguments of `name`, which must be an object.
fn object(reader: &mut Reader<'_>, name: String) -> Option<Written> {
    reader.skip_space()?;
    let arguments = reader.peek().filter(|next| *next == '{').and_then(|_| body::arguments(reader, &[]))?;
    element::skip_end_tags(reader, &[STOP]);
    Written::with_arguments(name, &arguments)
}
