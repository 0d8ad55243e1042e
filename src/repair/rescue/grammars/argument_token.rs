//! `<|tool_call:start|>name`, then `<|tool_arg:start|>a<|tool_arg:value|>1<|tool_arg:end|>` for each argument, of Solar Open 2.

use crate::repair::rescue::grammar::Grammar;
use crate::repair::rescue::literal::{Literal, Reader};
use crate::repair::rescue::python;
use crate::repair::rescue::written::Written;
use crate::scanner::Toolbook;

pub(super) struct ArgumentToken;

const OPEN: &str = "<|tool_call:start|>";
const CLOSE: &str = "<|tool_call:end|>";
const KEY: &str = "<|tool_arg:start|>";
const VALUE: &str = "<|tool_arg:value|>";
const END: &str = "<|tool_arg:end|>";

impl Grammar for ArgumentToken {
    fn name(&self) -> &'static str {
        "argument_token"
    }

    fn marks(&self) -> &'static [&'static str] {
        &[OPEN]
    }

    fn read(&self, reader: &mut Reader<'_>, _: &Toolbook) -> Option<Vec<Written>> {
        reader.take(OPEN).then_some(())?;
        reader.skip_space()?;
        let name = python::name(reader)?;
        let mut members = Vec::new();
        loop {
            reader.skip_space()?;
            if reader.take(KEY) {
                let key = reader.up_to(VALUE)?.trim().to_owned();
                members.push((key, Literal::Text(reader.up_to(END)?.to_owned())));
            } else if reader.take(CLOSE) || reader.rest().is_empty() && reader.completes() {
                return Some(vec![Written::named(name, members)]);
            } else {
                return None;
            }
        }
    }
}
