//! `>>>name` and the arguments on the next line, of functionary 3; `<|recipient|>name` and `<|content|>{...}`, of functionary 2.

use crate::repair::rescue::grammar::Grammar;
use crate::repair::rescue::literal::Reader;
use crate::repair::rescue::written::Written;
use crate::repair::rescue::{body, python};
use crate::scanner::Toolbook;

pub(super) struct Functionary;

const RECIPIENT: &str = "<|recipient|>";
const CONTENT: &str = "<|content|>";
const TURN: &str = ">>>";
const FROM: &str = "<|from|>assistant";

impl Grammar for Functionary {
    fn name(&self) -> &'static str {
        "functionary"
    }

    fn marks(&self) -> &'static [&'static str] {
        &[FROM, RECIPIENT, TURN]
    }

    fn is_reserved(&self) -> bool {
        false
    }

    fn begins_line(&self) -> bool {
        true
    }

    fn read(&self, reader: &mut Reader<'_>, _: &Toolbook) -> Option<Vec<Written>> {
        let mut calls = Vec::new();
        loop {
            let before = reader.at();
            reader.skip_space()?;
            reader.take(FROM);
            reader.skip_space()?;
            let turn = reader.take(TURN);
            if !turn && !reader.take(RECIPIENT) {
                reader.go(before);
                break;
            }
            let name = python::name(reader)?;
            reader.skip_space()?;
            if !turn {
                reader.take(CONTENT).then_some(())?;
            }
            let arguments = reader.peek().filter(|next| *next == '{').and_then(|_| body::arguments(reader, &[]))?;
            reader.take("<|stop|>");
            calls.push(Written::with_arguments(name, &arguments)?);
        }
        (!calls.is_empty()).then_some(calls)
    }
}
