//! Parses `>>>name` with the arguments on the next line, of functionary 3.

use crate::repair::rescue::call_names::offered;
use crate::repair::rescue::grammar::Grammar;
use crate::repair::rescue::literal::LiteralReader;
use crate::repair::rescue::written::WrittenCall;
use crate::repair::rescue::{body, element, python};
use crate::scanner::ToolSet;

#[derive(Debug)]
pub(super) struct TurnGrammar;

const STOP: &str = "<|stop|>";
const SIGN: &str = ">>>";

impl Grammar for TurnGrammar {
    fn read(&self, reader: &mut LiteralReader<'_>, tool_set: &ToolSet) -> Option<Vec<WrittenCall>> {
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
fn several<'a>(
    reader: &mut LiteralReader<'a>,
    read: impl Fn(&mut LiteralReader<'a>) -> Option<WrittenCall>,
) -> Option<Vec<WrittenCall>> {
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
fn object(reader: &mut LiteralReader<'_>, name: String) -> Option<WrittenCall> {
    reader.skip_space()?;
    let arguments = reader.peek().filter(|next| *next == '{').and_then(|_| body::arguments(reader, &[]))?;
    element::skip_end_tags(reader, &[STOP]);
    WrittenCall::with_arguments(name, &arguments)
}
