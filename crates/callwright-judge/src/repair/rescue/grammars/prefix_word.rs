//! Parses code or data after a prefix word: `<<function>>f(a=1)` of Gorilla and `functools[{...}]` of Firefunction and
//! Phi.
//!
//! `Call: f(a=1)<bot_end>` of NexusRaven is parsed without markers.

use crate::repair::rescue::literal::LiteralReader;
use crate::repair::rescue::written::WrittenCall;
use crate::repair::rescue::{body, python};
use crate::scanner::ToolSet;

pub(in crate::repair::rescue) fn read(reader: &mut LiteralReader<'_>, tool_set: &ToolSet) -> Option<Vec<WrittenCall>> {
    if reader.take("functools") {
        reader.skip_space()?;
        return python::sequence(reader, tool_set);
    }
    reader.up_to(">>")?;
    reader.take(":");
    body::read(reader, tool_set, &[])
}
