//! `<|channel|>commentary to=functions.name<|message|>{...}<|call|>`, the harmony format of gpt-oss.

use crate::repair::rescue::grammar::Grammar;
use crate::repair::rescue::literal::Reader;
use crate::repair::rescue::written::Written;
use crate::repair::rescue::{body, python};
use crate::scanner::Toolbook;

pub(super) struct Harmony;

const MESSAGE: &str = "<|message|>";

/// Bytes of a header before its message.
const MAX_HEADER: usize = 256;

impl Grammar for Harmony {
    fn name(&self) -> &'static str {
        "harmony"
    }

    fn marks(&self) -> &'static [&'static str] {
        &["<|start|>assistant", "<|channel|>commentary", "commentary to=", "to=functions."]
    }

    fn is_reserved(&self) -> bool {
        false
    }

    fn begins_line(&self) -> bool {
        true
    }

    fn read(&self, reader: &mut Reader<'_>, _: &Toolbook) -> Option<Vec<Written>> {
        let header = reader.rest().bytes().take(MAX_HEADER).position(|byte| byte == b'{')?;
        let to = reader.rest().get(..header)?.find("to=")?;
        reader.advance(to + "to=".len())?;
        let name = python::name(reader)?;
        let rest = reader.rest();
        let message = rest.get(..rest.find('{')?)?;
        // Without its message mark, only the kind of content may stand between the two.
        let between =
            message.rfind(MESSAGE).map_or(message, |at| message.get(at + MESSAGE.len()..).unwrap_or_default());
        if !matches!(between.trim(), "" | "json" | "code" | "<|constrain|>json") {
            return None;
        }
        reader.advance(message.len())?;
        let arguments = body::arguments(reader, &[])?;
        reader.take("<|call|>");
        Some(vec![Written::with_arguments(name, &arguments)?])
    }
}
