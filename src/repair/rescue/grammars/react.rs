//! `Action: name` and `Action Input: {...}` (ReAct), and `Action:` with a list of JSON calls (Command R).

use crate::repair::rescue::grammar::Grammar;
use crate::repair::rescue::literal::{Literal, Reader};
use crate::repair::rescue::written::Written;
use crate::repair::rescue::{body, python};
use crate::scanner::Toolbook;

pub(super) struct React;

const MARKS: [&str; 3] = ["Action:", "✿FUNCTION✿:", "✿FUNCTION✿"];
const INPUTS: [&str; 4] = ["Action Input:", "Action input:", "✿ARGS✿:", "✿ARGS✿"];

impl Grammar for React {
    fn name(&self) -> &'static str {
        "react"
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
        if reader.rest().starts_with(['[', '{', '`']) {
            return body::read(reader, toolbook, &[]);
        }
        let name = python::name(reader)?;
        reader.skip_space()?;
        INPUTS.into_iter().find(|mark| reader.take(mark))?;
        let arguments = body::arguments(reader, &["\n", "Observation:", "✿"])?;
        match &arguments {
            Literal::Object(_) | Literal::Null | Literal::Text(_) => {
                Some(vec![Written::with_arguments(name, &arguments)?])
            }
            _ => None,
        }
    }
}
