//! Parses start and end tags as chat templates write them and as models distort them: with namespaces, bars and blanks
//! around the name, and with missing blanks, quotes and brackets.

use super::literal::LiteralReader;

/// Maximum number of bytes of a start tag, of a streamed text up to the bracket that shows a call, and of marks at the end
/// of a text. Text of this length without a decision is text.
pub(super) const MAX_TAG: usize = 512;

/// Maximum number of bytes of an element's name with its prefix.
const MAX_HEAD: usize = 96;

/// Role of an element, determined by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum TagKind {
    /// Contains calls: `tool_call`, `tool_calls`, `function_call`, and any name that ends with such a word.
    Wrapper,
    /// A call with the tool's name in an attribute: `invoke`.
    Invoke,
    /// A call with the tool's name after an equals sign: `function`.
    Function,
    /// An argument.
    Parameter,
    /// Contains the tool's name.
    Name,
    /// Name of an offered tool. Only a notation has this kind, because a tag alone does not show it.
    Tool,
}

/// Whether an element is or contains a call.
pub(super) fn is_of_call(kind: Option<TagKind>) -> bool {
    matches!(kind, Some(TagKind::Wrapper | TagKind::Invoke | TagKind::Function))
}

/// Names of elements that are an argument.
const PARAMETERS: [&str; 5] = ["parameter", "param", "arg", "argument", "input"];

/// Names of elements that contain the tool's name.
const NAMES: [&str; 3] = ["tool_name", "name", "function_name"];

/// Suffixes of the names of elements that contain an argument's name or value, or separate arguments from the tool's
/// name.
const PAIRS: [&str; 3] = ["arg_key", "arg_value", "tool_sep"];

/// Words at the end of the name of an element that contains calls.
const WRAPPERS: [&str; 8] = [
    "tool_calls", "tool_call", "function_calls", "function_call", "toolcalls", "toolcall", "functioncalls",
    "functioncall",
];

/// Names without the blank before the attribute `name`.
const JOINED: [(&str, &str, TagKind); 6] = [
    ("functionname", "function", TagKind::Function),
    ("invokename", "invoke", TagKind::Invoke),
    ("paramname", "param", TagKind::Parameter),
    ("parametername", "parameter", TagKind::Parameter),
    ("argumentname", "argument", TagKind::Parameter),
    ("argname", "arg", TagKind::Parameter),
];

impl TagKind {
    /// Returns the role of an element of this name.
    pub(super) fn of(name: &str) -> Option<Self> {
        match name {
            "invoke" => Some(Self::Invoke),
            "function" => Some(Self::Function),
            _ if PARAMETERS.contains(&name) => Some(Self::Parameter),
            _ if NAMES.contains(&name) => Some(Self::Name),
            _ if is_wrapper(name) => Some(Self::Wrapper),
            _ => JOINED.iter().find(|(joined, ..)| *joined == name).map(|(.., kind)| *kind),
        }
    }
}

/// Whether the last word of a name is one of [`WRAPPERS`].
fn is_wrapper(name: &str) -> bool {
    // This check alone dismisses most names.
    if !name.ends_with(['l', 'L', 's', 'S']) || name.len() > MAX_HEAD {
        return false;
    }
    let folded = name.to_ascii_lowercase().replace('-', "_");
    WRAPPERS.iter().any(|word| {
        let before = folded.strip_suffix(word);
        before.is_some_and(|before| before.is_empty() || before.ends_with(['_', '.']))
    })
}

/// A start tag.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tag<'a> {
    /// The element's name as written, with its namespace, to match its end tag.
    pub(super) full: &'a str,
    /// The name without its namespace.
    pub(super) name: &'a str,
    /// Role of the element.
    pub(super) kind: Option<TagKind>,
    /// The text after `=` in `<function=name>`, or the value of the attribute `name`.
    pub(super) value: Option<&'a str>,
    /// Whether `value` follows the element's name directly, as in `<function=name>`.
    pub(super) is_assigned: bool,
    /// The text after the name.
    pub(super) attributes: &'a str,
    /// Whether an attribute declares the content as JSON instead of a string.
    pub(super) is_json: bool,
    /// Whether the element has no content: `<a/>`.
    pub(super) is_empty: bool,
    /// Number of bytes of the tag.
    pub(super) length: usize,
}

/// Parses the start tag at the beginning of `text`.
pub(super) fn start(text: &str) -> Option<Tag<'_>> {
    // The model began a JSON object, and wrote a tag instead.
    let inner = match text.strip_prefix('<') {
        Some(inner) => inner,
        None => text.strip_prefix("{\"").filter(|inner| inner.starts_with("function="))?,
    };
    let opening = text.len() - inner.len();
    let window = inner.get(..inner.floor_char_boundary(MAX_TAG))?;
    let head = head(window);
    let full = window.get(..head)?.trim_end();
    let (name, kind) = name_of(full)?;
    let is_named_by_sign = matches!(kind, Some(TagKind::Function | TagKind::Parameter));
    let close = memchr::memchr2(b'>', b'<', window.as_bytes()).filter(|at| window.as_bytes().get(*at) == Some(&b'>'));
    let may_end_with_line = is_named_by_sign && window.get(head..).is_some_and(|rest| rest.starts_with('='));
    let line = if may_end_with_line { memchr::memchr(b'\n', window.as_bytes()) } else { None };
    // A tag `<function=name` without its closing bracket ends with its line.
    let (end, closing) = match (close, line) {
        (Some(close), Some(line)) if line < close => (line, 0),
        (Some(close), _) => (close, 1),
        (None, line) => (line?, 0),
    };
    let attributes = window.get(head..end)?;
    if attributes.contains('<') {
        return None;
    }
    let is_empty = attributes.ends_with('/');
    let attributes = attributes.strip_suffix('/').unwrap_or(attributes);
    let assigned = attributes.trim_start().strip_prefix('=');
    let value = match assigned {
        Some(value) => Some(unquoted(value)),
        None => attribute_value(attributes, "name"),
    };
    let is_json = attribute(attributes, "string") == Some("false");
    let length = opening + end + closing;
    Some(Tag { full, name, kind, value, is_assigned: assigned.is_some(), attributes, is_json, is_empty, length })
}

/// Consumes the start tag that comes next.
pub(super) fn take<'a>(reader: &mut LiteralReader<'a>) -> Option<Tag<'a>> {
    let tag = start(reader.rest())?;
    reader.advance(tag.length)?;
    Some(tag)
}

#[derive(Debug, Clone, Copy)]
pub(super) struct EndTag<'a> {
    /// The name as written.
    pub(super) full: &'a str,
    /// The name without its namespace.
    pub(super) name: &'a str,
    /// Role of the element.
    pub(super) kind: Option<TagKind>,
    /// Number of bytes of the tag.
    pub(super) length: usize,
}

/// Parses the end tag at the beginning of `text`.
pub(super) fn end(text: &str) -> Option<EndTag<'_>> {
    let inner = text.strip_prefix("</").or_else(|| text.strip_prefix("<|/"))?;
    let opening = text.len() - inner.len();
    let window = inner.get(..inner.floor_char_boundary(MAX_HEAD))?;
    let head = head(window);
    let full = window.get(..head)?.trim_end();
    let rest = window.get(head..)?;
    let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    rest.get(blanks..)?.starts_with('>').then_some(())?;
    let (name, kind) = name_of(full)?;
    Some(EndTag { full, name, kind, length: opening + head + blanks + 1 })
}

/// Returns the tag at the beginning of a streamed `text`: `Some(None)` if more text is required, `None` if it is not
/// relevant, whatever follows. `matters` decides that by its name.
pub(super) fn coming(text: &str, matters: impl Fn(&str, Option<TagKind>) -> bool) -> Option<Option<Tag<'_>>> {
    let inner = text.strip_prefix('<')?;
    let head = head(inner);
    if head >= MAX_HEAD || inner.starts_with('/') {
        return None;
    }
    let behind = inner.get(head..).unwrap_or_default();
    if behind.trim_start_matches(' ').is_empty() {
        return Some(None);
    }
    let (name, kind) = name_of(inner.get(..head)?.trim_end())?;
    let tag = start(text);
    let is_over = inner.len() >= MAX_TAG || behind.contains(['<', '>']);
    (matters(name, kind) && (tag.is_some() || !is_over)).then_some(tag)
}

/// Returns the number of bytes of a name with its namespace: letters, and bars with the blanks around them.
fn head(inner: &str) -> usize {
    let mut length = 0;
    let mut after_bar = true;
    while let Some(byte) = inner.as_bytes().get(length).filter(|_| length < MAX_HEAD) {
        match byte {
            byte if byte.is_ascii_alphanumeric() || b"_-:.".contains(byte) => {
                after_bar = false;
                length += 1;
            }
            b' ' => {
                let rest = inner.get(length..).unwrap_or_default();
                let behind = rest.trim_start_matches(' ');
                if !(after_bar || behind.starts_with(is_bar)) {
                    break;
                }
                length += rest.len() - behind.len();
            }
            _ => {
                let letter = inner.get(length..).and_then(|rest| rest.chars().next());
                let Some(letter) = letter.filter(|letter| is_bar(*letter) || letter.is_alphanumeric()) else { break };
                after_bar = is_bar(letter);
                length += letter.len_utf8();
            }
        }
    }
    length
}

fn is_bar(letter: char) -> bool {
    matches!(letter, '|' | '｜')
}

/// Returns the name within a head and its role: the last part, or the part before a suffix if that part has a role.
fn name_of(full: &str) -> Option<(&str, Option<TagKind>)> {
    let mut parts = full.rsplit([':', '|', '｜', ' ']).filter(|part| !part.is_empty());
    let last = parts.next()?;
    let kind = TagKind::of(last);
    // Some templates add a suffix to every name: `<tool_call:a1>`.
    if kind.is_none()
        && !has_role(last)
        && let Some(known) = parts.find(|part| has_role(part))
    {
        return Some((known, TagKind::of(known)));
    }
    // Joined names are parsed as their original element names.
    let name = JOINED.iter().find(|(joined, ..)| *joined == last).map_or(last, |(_, name, _)| name);
    Some((name, kind))
}

fn has_role(part: &str) -> bool {
    TagKind::of(part).is_some_and(|kind| kind != TagKind::Name) || PAIRS.iter().any(|pair| part.ends_with(pair))
}

/// Returns a value without its quotes, of which one may be missing.
fn unquoted(value: &str) -> &str {
    let value = value.trim();
    match value.chars().next().filter(|quote| matches!(quote, '"' | '\'')) {
        Some(quote) => {
            let inner = value.get(1..).unwrap_or_default();
            inner.split(quote).next().unwrap_or(inner).trim()
        }
        None => {
            let first = value.split_once(char::is_whitespace).filter(|(_, attributes)| attributes.contains('='));
            first.map_or(value, |(value, _)| value).trim_end_matches(['"', '\''])
        }
    }
}

/// Returns the value of an attribute, with or without quotes.
fn attribute_value<'a>(attributes: &'a str, name: &str) -> Option<&'a str> {
    let value = behind(attributes, name)?.trim_start().strip_prefix('=')?;
    Some(unquoted(value)).filter(|value| !value.is_empty())
}

/// Returns the text after the name of an attribute. Skips the search if there is no equals sign, because most tags have
/// no attributes.
fn behind<'a>(attributes: &'a str, name: &str) -> Option<&'a str> {
    memchr::memchr(b'=', attributes.as_bytes())?;
    // For so few bytes, preparing a search costs more than the search.
    let at = attributes.as_bytes().windows(name.len()).position(|window| window == name.as_bytes())?;
    attributes.get(at + name.len()..)
}

/// Returns the value of a quoted attribute.
pub(super) fn attribute<'a>(attributes: &'a str, name: &str) -> Option<&'a str> {
    let rest = behind(attributes, name)?.trim_start().strip_prefix('=')?.trim_start();
    let quote = rest.chars().next().filter(|letter| matches!(letter, '"' | '\''))?;
    rest.get(1..)?.split_once(quote).map(|(value, _)| value)
}
