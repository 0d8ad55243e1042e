//! Parses elements that each begin with a namespace token:
//! `]<]minimax[>[<invoke name="f">]<]minimax[>[<a>1]<]minimax[>[</a>` of MiniMax M3. Objects are nested elements, lists
//! are elements named `item`.

use crate::repair::rescue::call_names::clean;
use crate::repair::rescue::literal::{Literal, LiteralReader, MAX_DEPTH};
use crate::repair::rescue::written::WrittenCall;
use crate::repair::rescue::{body, element};
use callwright_scanner::ToolSet;

const TOKEN: &str = "]<]minimax[>[";
const OPEN: &str = "]<]minimax[>[<tool_call>";

pub(crate) fn read(reader: &mut LiteralReader<'_>, _: &ToolSet) -> Option<Vec<WrittenCall>> {
    reader.take(OPEN);
    let calls = body::consecutive(
        reader,
        |reader| take_tag(reader, "<invoke"),
        |reader| {
            let name = clean(element::attribute(reader.up_to(">")?, "name")?);
            Some(vec![WrittenCall::named(name, children(reader, "invoke", MAX_DEPTH)?)])
        },
    )?;
    reader.attempt(|reader| reader.skip_space().filter(|()| take_tag(reader, "</tool_call>")));
    Some(calls)
}

/// Consumes the token with this tag behind it, and returns whether they come next.
fn take_tag(reader: &mut LiteralReader<'_>, tag: &str) -> bool {
    reader.take(TOKEN) && reader.skip_space().is_some() && reader.take(tag)
}

/// Parses the elements up to the end tag of `parent`, which is consumed.
fn children(reader: &mut LiteralReader<'_>, parent: &str, depth: usize) -> Option<Vec<(String, Literal)>> {
    let depth = depth.checked_sub(1)?;
    let mut children = Vec::new();
    loop {
        reader.skip_space()?;
        reader.take(TOKEN).then_some(())?;
        reader.skip_space()?;
        if reader.take(&format!("</{parent}>")) {
            return Some(children);
        }
        reader.take("<").then_some(())?;
        let name = reader.up_to(">")?.trim();
        children.push((clean(name), value(reader, name, depth)?));
    }
}

/// Parses the content of the element `name`: elements, or text.
fn value(reader: &mut LiteralReader<'_>, name: &str, depth: usize) -> Option<Literal> {
    let length = reader.find(TOKEN)?;
    let text = reader.rest().get(..length)?;
    let start = reader.at();
    reader.advance(length + TOKEN.len())?;
    reader.skip_space()?;
    if reader.take(&format!("</{name}>")) {
        return Some(Literal::Text(text.to_owned()));
    }
    if !text.trim().is_empty() {
        return None;
    }
    reader.go(start);
    let children = children(reader, name, depth)?;
    let is_list = children.iter().all(|(name, _)| name == "item");
    Some(if is_list {
        Literal::List(children.into_iter().map(|(_, item)| item).collect())
    } else {
        Literal::Object(children)
    })
}
