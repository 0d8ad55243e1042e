//! Parses `<|open|>call tool="name" index="1"<|sep|>` with one
//! `<|open|>argument key="a" type="string"<|sep|>text<|close|>argument<|sep|>` for each argument, of Kimi K3.

use crate::repair::rescue::literal::{Literal, LiteralReader};
use crate::repair::rescue::written::WrittenCall;
use crate::repair::rescue::{body, element};
use callwright_scanner::ToolSet;

const TOOLS: &str = "<|open|>tools<|sep|>";
const TOOLS_END: &str = "<|close|>tools<|sep|>";
const CALL: &str = "<|open|>call ";
const CALL_END: &str = "<|close|>call<|sep|>";
const ARGUMENT: &str = "<|open|>argument ";
const ARGUMENT_END: &str = "<|close|>argument<|sep|>";
const OBJECT: &str = "<|open|>json";
const OBJECT_END: &str = "<|close|>json<|sep|>";
const SEPARATOR: &str = "<|sep|>";

/// Markers that end the whole message.
const ENDS: [&str; 3] = [TOOLS_END, "<|close|>message<|sep|>", "<|end_of_msg|>"];

pub(crate) fn read(reader: &mut LiteralReader<'_>, _: &ToolSet) -> Option<Vec<WrittenCall>> {
    reader.take(TOOLS);
    let calls = body::consecutive(reader, |reader| reader.take(CALL), |reader| Some(vec![call(reader)?]))?;
    element::skip_end_tags(reader, &ENDS);
    Some(calls)
}

/// Parses one call after its opening marker.
fn call(reader: &mut LiteralReader<'_>) -> Option<WrittenCall> {
    let attributes = reader.up_to(SEPARATOR)?;
    let name = element::attribute(attributes, "tool").map(plain)?;
    let mut members = Vec::new();
    loop {
        reader.skip_space()?;
        if reader.take(ARGUMENT) {
            let attributes = reader.up_to(SEPARATOR)?;
            let key = element::attribute(attributes, "key").map(plain)?;
            let text = reader.up_to(ARGUMENT_END)?;
            let is_text = element::attribute(attributes, "type").is_none_or(|kind| kind == "string");
            let value = (!is_text).then(|| LiteralReader::new(text, false).data()).flatten();
            members.push((key, value.unwrap_or_else(|| Literal::Text(text.to_owned()))));
        } else if reader.take(OBJECT) {
            reader.up_to(SEPARATOR)?;
            let object = LiteralReader::new(reader.up_to(OBJECT_END)?, false).data()?;
            members.extend(object.members()?.iter().cloned());
        } else if reader.take(CALL_END) || reader.rest().is_empty() && reader.completes() {
            return Some(WrittenCall::named(name, members));
        } else {
            return None;
        }
    }
}

/// Unescapes the value of an attribute.
fn plain(value: &str) -> String {
    value.replace("&quot;", "\"").replace("&amp;", "&")
}
