//! `<invoke name="f"><parameter name="a">1</parameter></invoke>`: the elements of Claude, DeepSeek 3.2 and MiniMax, whatever
//! stands around them.

use crate::repair::rescue::element;
use crate::repair::rescue::grammar::Grammar;
use crate::repair::rescue::literal::Reader;
use crate::repair::rescue::written::Written;
use crate::scanner::Toolbook;

pub(super) struct Invoke;

impl Grammar for Invoke {
    fn name(&self) -> &'static str {
        "invoke"
    }

    fn marks(&self) -> &'static [&'static str] {
        &["<invoke name=", "<invoke>", "<invoke name=", "<｜DSML｜invoke name=", "<steptml:invoke name="]
    }

    fn read(&self, reader: &mut Reader<'_>, _: &Toolbook) -> Option<Vec<Written>> {
        element::calls(reader)
    }
}
