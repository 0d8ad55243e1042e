//! Values behind a key or a dash: scalars of all styles, and collections in flow style.

use serde_json::Value;

use super::super::general::general;
use super::lines::{YamlText, push_break, push_breaks};
use super::{MAX_DEPTH, QuickReader, plain, quoted};

/// Header of a block scalar (YAML 1.2.2, section 8.1.1).
struct BlockHeader {
    is_folded: bool,
    chomping: Chomping,
    /// Indentation relative to the parent, if it is given.
    indent: Option<usize>,
    /// End of the header's line.
    end: usize,
}

/// Handling of the line breaks at the end of a block scalar.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Chomping {
    One,
    None,
    All,
}

impl QuickReader<'_> {
    /// Reads the value at `at` and goes to the next line with content.
    pub(super) fn scalar(&mut self, at: usize, parent: usize, depth: usize) -> Option<Value> {
        let (value, end) = match self.text.byte(at)? {
            b'"' | b'\'' => {
                let (scalar, end) = quoted::read(self.text, at, Some(parent))?;
                (Value::String(scalar.into_owned()), end)
            }
            b'[' | b'{' => flow(self.text, at, parent, depth)?,
            b'|' | b'>' => block(self.text, at, parent)?,
            _ => plain::read(self.text, at, parent)?,
        };
        self.end_line(end)?;
        Some(value)
    }
}

/// Reads a collection in flow style, which the general parser parses, and returns it with the offset behind it.
fn flow(text: YamlText<'_>, start: usize, parent: usize, depth: usize) -> Option<(Value, usize)> {
    let (mut at, mut open) = (start, depth);
    loop {
        at = match text.byte(at)? {
            b'"' | b'\'' => quoted::read(text, at, Some(parent))?.1,
            b'\n' => text.continuation(at, parent)??.0,
            // Comments, and anchors and tags, which may have a meaning outside the collection.
            b'#' | b'\t' | b'&' | b'*' | b'!' => return None,
            byte => {
                open = match byte {
                    b'[' | b'{' => open + 1,
                    b']' | b'}' => open - 1,
                    _ => open,
                };
                at + 1
            }
        };
        if open == depth {
            break;
        }
        if open > MAX_DEPTH {
            return None;
        }
    }
    let (value, remark) = general(text.slice(start, at)?).ok()?;
    remark.is_none().then_some((value, at))
}

fn header(text: YamlText<'_>, at: usize) -> Option<BlockHeader> {
    let (mut chomping, mut indent, mut end) = (None, None, at + 1);
    loop {
        match text.byte(end)? {
            b'-' if chomping.is_none() => chomping = Some(Chomping::None),
            b'+' if chomping.is_none() => chomping = Some(Chomping::All),
            digit @ b'1'..=b'9' if indent.is_none() => indent = Some(usize::from(digit - b'0')),
            _ => break,
        }
        end += 1;
    }
    let end = text.end_of_line(end)?;
    let chomping = chomping.unwrap_or(Chomping::One);
    Some(BlockHeader { is_folded: text.byte(at) == Some(b'>'), chomping, indent, end })
}

/// Reads a block scalar, and returns it with the end of its last line.
fn block(text: YamlText<'_>, at: usize, parent: usize) -> Option<(Value, usize)> {
    let header = header(text, at)?;
    let mut indent = header.indent.map(|indent| parent + indent);
    let mut end = header.end;
    let mut scalar = String::new();
    let (mut empty, mut widest_empty, mut is_first, mut was_deeper) = (0, 0, true, false);
    while text.byte(end + 1).is_some() {
        let start = end + 1;
        let at = text.skip_spaces(start);
        let spaces = at - start;
        let byte = text.byte(at)?;
        if byte == b'\n' && indent.is_none_or(|indent| spaces <= indent) {
            (end, empty, widest_empty) = (at, empty + 1, widest_empty.max(spaces));
            continue;
        }
        if indent.is_none() && spaces > parent {
            if byte == b'\t' || widest_empty > spaces {
                return None;
            }
            indent = Some(spaces);
        }
        let Some(indent) = indent.filter(|indent| spaces >= *indent) else {
            if byte == b'\t' || spaces > parent {
                return None;
            }
            break;
        };
        let line_end = text.line_end(at);
        let line = text.slice(start + indent, line_end)?;
        // Whether the scalar ends with a break is not clear.
        text.byte(line_end)?;
        // Content, as it has more spaces than the indentation.
        let is_deeper = line.starts_with([' ', '\t']);
        match is_first {
            true => push_breaks(&mut scalar, empty),
            false if header.is_folded && !is_deeper && !was_deeper => push_break(&mut scalar, empty),
            false => push_breaks(&mut scalar, empty + 1),
        }
        scalar.push_str(line);
        (end, empty, is_first, was_deeper) = (line_end, 0, false, is_deeper);
    }
    match header.chomping {
        _ if is_first && header.chomping == Chomping::All => return None,
        _ if is_first => {}
        Chomping::None => {}
        Chomping::One => scalar.push('\n'),
        Chomping::All => push_breaks(&mut scalar, empty + 1),
    }
    Some((Value::String(scalar), end))
}
