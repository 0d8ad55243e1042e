//! One possible reading of a text, with its open brackets.

use crate::repair::rescue::call_names::MAX_NAME;
use crate::repair::rescue::literal::value::Literal;
use callwright_scanner::CompiledTool;

/// Role of the members of an object.
#[derive(Debug, Clone, Copy)]
pub(super) enum FrameRole<'a> {
    /// Parts of a call, or arguments.
    Envelope,
    /// Arguments, of this tool if it is known.
    Arguments(Option<&'a CompiledTool>),
    /// Parts of an argument.
    Nested,
}

/// An open bracket.
#[derive(Debug, Clone)]
pub(super) struct Frame<'a> {
    pub(super) close: u8,
    pub(super) role: FrameRole<'a>,
    /// Whether the bracket contains the arguments of a call as code.
    pub(super) is_call: bool,
    pub(super) has_comma: bool,
    pub(super) entries: Vec<(String, Literal)>,
    /// Name of the value that comes next.
    pub(super) key: String,
}

/// The element that must come next.
#[derive(Debug, Clone, Copy)]
pub(super) enum NextElement {
    /// A value.
    Value,
    /// A member, an item or an argument, or the closing bracket.
    Entry,
    /// A comma, or the closing bracket.
    Separator,
}

/// One possible reading of the text up to a position.
#[derive(Debug, Clone)]
pub(super) struct Thread<'a> {
    pub(super) at: usize,
    pub(super) frames: Vec<Frame<'a>>,
    pub(super) next: NextElement,
    pub(super) is_uncertain: bool,
}

impl<'a> Thread<'a> {
    pub(super) fn open(&mut self, close: u8, role: FrameRole<'a>, is_call: bool) {
        let frame = Frame { close, role, is_call, has_comma: false, entries: Vec::new(), key: String::new() };
        self.frames.push(frame);
        self.next = NextElement::Entry;
    }

    pub(super) fn put(&mut self, value: Literal) {
        if let Some(frame) = self.frames.last_mut() {
            frame.entries.push((std::mem::take(&mut frame.key), value));
        }
        self.next = NextElement::Separator;
    }
}

/// Parses the name of a member (`"key":`, `key:`) or of an argument (`key=`). Returns the name and the position of its
/// value.
pub(crate) fn name_at(text: &str, at: usize, is_call: bool) -> Option<(&str, usize)> {
    let rest = text.get(at..)?;
    let quote = rest.chars().next().filter(|letter| matches!(letter, '"' | '\'' | '`'));
    let inner = rest.get(usize::from(quote.is_some())..)?;
    let length = match quote {
        Some(quote) => inner.bytes().take(MAX_NAME).position(|byte| byte == quote as u8)?,
        None => {
            let bytes = inner.bytes().take(MAX_NAME);
            bytes.take_while(|byte| byte.is_ascii_alphanumeric() || b"_-.$".contains(byte) || *byte >= 0x80).count()
        }
    };
    let key = inner.get(..length).filter(|key| !key.is_empty() && !key.contains(['\n', '\\']))?;
    let behind = inner.get(length + usize::from(quote.is_some())..)?;
    let sign = behind.trim_start();
    let is_assigned = sign.starts_with('=') && !sign.starts_with("==");
    let is_named = sign.starts_with(':') || is_assigned && (is_call || quote.is_none());
    is_named.then(|| (key, text.len() - sign.len() + 1))
}
