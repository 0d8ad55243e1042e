//! Parses `{"name": "f",` followed by content that is not JSON: `<parameter=a>` elements, or an object after a key that
//! was closed like a tag.

use crate::repair::rescue::grammar::Grammar;
use crate::repair::rescue::literal::{Literal, LiteralReader};
use crate::repair::rescue::written::{WrittenCall, offered};
use crate::repair::rescue::{element, extent, shape, tag};
use crate::scanner::ToolSet;

#[derive(Debug)]
pub(super) struct JsonHead;

impl Grammar for JsonHead {
    fn read(&self, reader: &mut LiteralReader<'_>, tool_set: &ToolSet) -> Option<Vec<WrittenCall>> {
        let call = call(reader, tool_set)?;
        element::skip_closes(reader);
        (!extent::leaves_end_tags(reader)).then(|| vec![call])
    }
}

/// Parses one call, and the bracket that may close its object.
pub(in crate::repair::rescue) fn call(reader: &mut LiteralReader<'_>, tool_set: &ToolSet) -> Option<WrittenCall> {
    reader.take("{").then_some(())?;
    reader.skip_space()?;
    (reader.take("\"name\"") || reader.take("'name'")).then_some(())?;
    reader.skip_space()?;
    reader.take(":").then_some(())?;
    reader.skip_space()?;
    let Literal::Text(name) = reader.data()? else { return None };
    let name = shape::clean(&name);
    let tool = offered(&name, tool_set)?;
    reader.skip_space()?;
    reader.take(",").then_some(())?;
    reader.skip_space()?;
    let members = if tag::start(reader.rest()).is_some_and(|tag| tag.kind == Some(tag::TagKind::Parameter)) {
        element::members_of(reader, tool_set, "function", &name, false)?
    } else {
        broken_key(reader)?;
        reader.skip_space()?;
        reader.rest().starts_with('{').then_some(())?;
        element::unwrapped(reader.data()?.members()?.to_vec(), Some(tool))
    };
    let end = reader.at();
    if reader.skip_space().is_none() || !reader.take("}") {
        reader.go(end);
    }
    (!members.is_empty()).then(|| WrittenCall::named(name, members))
}

/// Parses `"arguments>`, `"arguments">` or `"arguments=`: the key of the arguments without its quote or its colon.
fn broken_key(reader: &mut LiteralReader<'_>) -> Option<()> {
    reader.take("\"").then_some(())?;
    let key = shape::ARGUMENTS.iter().find(|key| {
        let behind = reader.rest().strip_prefix(**key);
        behind.is_some_and(|behind| !behind.starts_with(|letter: char| letter.is_alphanumeric() || letter == '_'))
    })?;
    reader.advance(key.len())?;
    let rest = reader.rest();
    let signs = rest.len() - rest.trim_start_matches(['"', '>', ':', '=']).len();
    // With its quote and its colon, it is valid JSON.
    let is_broken = rest.get(..signs).is_some_and(|signs| !signs.is_empty() && signs != "\":");
    is_broken.then_some(())?;
    reader.advance(signs)
}
