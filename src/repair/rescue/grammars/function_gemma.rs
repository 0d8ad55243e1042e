//! `<start_function_call>call:name{a:<escape>text<escape>,b:1}<end_function_call>`, of FunctionGemma.

use crate::repair::rescue::grammar::Grammar;
use crate::repair::rescue::literal::{Literal, Reader};
use crate::repair::rescue::python;
use crate::repair::rescue::written::Written;
use crate::scanner::Toolbook;

pub(super) struct FunctionGemma;

const OPEN: &str = "<start_function_call>";
const CLOSE: &str = "<end_function_call>";
const ESCAPE: &str = "<escape>";

impl Grammar for FunctionGemma {
    fn name(&self) -> &'static str {
        "function_gemma"
    }

    fn marks(&self) -> &'static [&'static str] {
        &[OPEN]
    }

    fn read(&self, reader: &mut Reader<'_>, _: &Toolbook) -> Option<Vec<Written>> {
        reader.take(OPEN).then_some(())?;
        reader.take("call:").then_some(())?;
        let name = python::name(reader)?;
        reader.take("{").then_some(())?;
        let mut members = Vec::new();
        loop {
            reader.skip_space()?;
            if reader.take("}") {
                break;
            }
            let length = reader.rest().find(':')?;
            let key = reader.rest().get(..length)?.trim().to_owned();
            reader.advance(length + 1)?;
            members.push((key, value(reader)?));
            reader.take(",");
        }
        reader.take(CLOSE);
        Some(vec![Written::named(name, members)])
    }
}

fn value(reader: &mut Reader<'_>) -> Option<Literal> {
    if !reader.take(ESCAPE) {
        return reader.value();
    }
    let length = reader.find(ESCAPE)?;
    let text = reader.rest().get(..length)?.to_owned();
    reader.advance(length + ESCAPE.len())?;
    Some(Literal::Text(text))
}
