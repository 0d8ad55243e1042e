//! Ends and starts of parameters in the notations of chat templates, JSON and programming languages.

use serde_json::Value;

/// Names of elements that are a parameter or its value.
const PARAMETERS: [&str; 6] = ["parameter", "param", "argument", "arg", "arg_value", "arg_key"];

/// Names of elements that are or contain a call.
const CALLS: [&str; 7] =
    ["invoke", "function", "tool_call", "tool_calls", "function_call", "function_calls", "tool_use"];

const GEMMA_QUOTE: &str = "<|\"|>";

/// End of a call of Gemma.
const GEMMA_END: &str = "}<tool_call|>";

/// Maximum number of bytes of a tag, and of a parameter's name.
const MAX_TAG: usize = 160;

/// Whether the text has a mark that can end a parameter. Dismisses most texts.
pub(super) fn may_occur(text: &str) -> bool {
    let bytes = text.as_bytes();
    memchr::memchr3_iter(b'<', b'"', b'\'', bytes).any(|at| match bytes.get(at) {
        Some(b'<') => matches!(bytes.get(at + 1), Some(b'/' | b'|')),
        _ => bytes.get(at + 1).is_some_and(|next| matches!(next, b',' | b' ' | b'\n')) && behind_comma(bytes, at + 1),
    })
}

/// Whether a comma follows, and then a quote or a letter.
fn behind_comma(bytes: &[u8], at: usize) -> bool {
    let mut rest = bytes.iter().skip(at).take(MAX_BLANKS).skip_while(|byte| byte.is_ascii_whitespace());
    rest.next() == Some(&b',')
}

/// Maximum number of blanks between the parts of a member.
const MAX_BLANKS: usize = 32;

/// An element's tag.
struct ElementTag<'a> {
    /// Name without a namespace.
    name: &'a str,
    /// Text between the name and the closing bracket.
    attributes: &'a str,
    is_end: bool,
    /// Number of bytes.
    length: usize,
}

/// Parses the tag at the start of `text`.
fn tag(text: &str) -> Option<ElementTag<'_>> {
    let inner = text.strip_prefix('<')?;
    let window = inner.get(..inner.floor_char_boundary(MAX_TAG))?;
    let close = window.find('>')?;
    let inner = window.get(..close).filter(|inner| !inner.contains('<'))?;
    let (inner, is_end) = match inner.trim_start_matches(['|', '｜']).strip_prefix('/') {
        Some(inner) => (inner, true),
        None => (inner, false),
    };
    let head = inner.find([' ', '=', '\n']).unwrap_or(inner.len());
    let (full, attributes) = inner.split_at_checked(head)?;
    let name = full.rsplit([':', '|', '｜']).find(|part| !part.is_empty())?;
    Some(ElementTag { name, attributes: attributes.trim(), is_end, length: close + 2 })
}

/// The end of a parameter.
#[derive(Debug)]
pub(super) struct ParameterEnd {
    pub(super) at: usize,
    /// Position after the end.
    pub(super) behind: usize,
    /// Whether the end is the quote of Gemma, after which a comma continues the call.
    pub(super) is_quote: bool,
}

/// Finds end tags without a start tag before them.
pub(super) struct Tracker<'a> {
    /// Name of the parameter, which its end tag may have.
    key: &'a str,
    /// Number of open elements per name: the parameter's own name first.
    open: [usize; PARAMETERS.len() + 1],
    /// Whether a Gemma quote is open.
    is_quoted: bool,
}

impl<'a> Tracker<'a> {
    pub(super) fn new(key: &'a str) -> Self {
        Self { key, open: [0; PARAMETERS.len() + 1], is_quoted: false }
    }

    /// Returns the next end of the parameter at or after `from`.
    pub(super) fn next_end(&mut self, text: &str, from: usize) -> Option<ParameterEnd> {
        for at in memchr::memchr_iter(b'<', text.as_bytes().get(from..)?).map(|at| at + from) {
            let rest = text.get(at..)?;
            if rest.starts_with(GEMMA_QUOTE) {
                let behind = at + GEMMA_QUOTE.len();
                let follows = text.get(behind..)?.trim_start();
                if !self.is_quoted && (follows.is_empty() || follows.starts_with([',', '}'])) {
                    return Some(ParameterEnd { at, behind, is_quote: true });
                }
                self.is_quoted = !self.is_quoted;
                continue;
            }
            let Some(tag) = tag(rest) else { continue };
            let Some(open) = self.place(tag.name).and_then(|place| self.open.get_mut(place)) else { continue };
            if !tag.is_end {
                *open += usize::from(!tag.attributes.ends_with('/'));
            } else if *open > 0 {
                *open -= 1;
            } else {
                return Some(ParameterEnd { at, behind: at + tag.length, is_quote: false });
            }
        }
        None
    }

    fn place(&self, name: &str) -> Option<usize> {
        if name == self.key {
            return Some(0);
        }
        PARAMETERS.iter().position(|parameter| *parameter == name).map(|place| place + 1)
    }
}

/// The start of a parameter.
#[derive(Debug)]
pub(super) struct ParameterStart<'a> {
    pub(super) name: &'a str,
    /// Number of bytes up to the value.
    pub(super) length: usize,
    /// Whether line breaks next to the tags are layout.
    pub(super) has_layout: bool,
    /// Whether the notation declares the value as a string.
    pub(super) is_text: bool,
    /// Whether the value has an end that is known here.
    pub(super) is_readable: bool,
}

/// Parses the start of a parameter of Gemma, after a quote that ended another one.
pub(super) fn start_after_quote(text: &str) -> Option<ParameterStart<'_>> {
    let (name, behind) = name_before(text.trim_start().strip_prefix(',')?.trim_start(), ':')?;
    let value = behind.trim_start();
    let quoted = value.strip_prefix(GEMMA_QUOTE);
    let length = text.len() - quoted.unwrap_or(value).len();
    Some(ParameterStart { name, length, has_layout: false, is_text: quoted.is_some(), is_readable: quoted.is_some() })
}

/// Parses the start of a parameter in tags, after blanks.
pub(super) fn start(text: &str) -> Option<ParameterStart<'_>> {
    let rest = text.trim_start();
    let blanks = text.len() - rest.len();
    let tag = tag(rest).filter(|tag| !tag.is_end && !tag.attributes.ends_with('/'))?;
    let length = blanks + tag.length;
    if tag.name == "arg_key" {
        let (name, behind) = rest.get(tag.length..)?.split_once("</")?;
        let end = behind.find('>')?;
        let value = behind.get(end + 1..)?.trim_start();
        let opens = self::tag(value).filter(|tag| tag.name == "arg_value" && !tag.is_end)?;
        let length = text.len() - value.len() + opens.length;
        let name = name.trim();
        return Some(ParameterStart { name, length, has_layout: false, is_text: false, is_readable: true });
    }
    let is_parameter = PARAMETERS.contains(&tag.name);
    if let Some(assigned) = tag.attributes.strip_prefix('=').filter(|_| is_parameter) {
        let name = assigned.trim().trim_matches(['"', '\'']);
        return Some(ParameterStart { name, length, has_layout: true, is_text: false, is_readable: true });
    }
    let is_text = tag.attributes.contains("string=\"true\"");
    let name = match (is_parameter, tag.attributes) {
        (true, attributes) => attribute(attributes)?,
        (false, "") => tag.name,
        (false, _) => return None,
    };
    Some(ParameterStart { name, length, has_layout: false, is_text, is_readable: true })
}

/// Returns the value of the attribute `name`.
fn attribute(attributes: &str) -> Option<&str> {
    let value = attributes.strip_prefix("name")?.trim_start().strip_prefix('=')?.trim_start();
    let quote = value.chars().next()?;
    if !matches!(quote, '"' | '\'') {
        return value.split_whitespace().next();
    }
    value.get(1..)?.split(quote).next()
}

/// Parses a name and the sign after it.
fn name_before(text: &str, sign: char) -> Option<(&str, &str)> {
    let end = text.find(|letter: char| !letter.is_alphanumeric() && !matches!(letter, '_' | '-' | '$' | '.'))?;
    let name = text.get(..end).filter(|name| !name.is_empty() && name.len() <= MAX_TAG)?;
    let behind = text.get(end..)?.trim_start().strip_prefix(sign)?;
    Some((name, behind))
}

/// Whether the text consists of end tags of calls, at least one.
pub(super) fn closes_call(text: &str) -> bool {
    let mut rest = text.trim_start();
    let mut closes = false;
    while let Some(tag) = tag(rest).filter(|tag| tag.is_end && CALLS.contains(&tag.name)) {
        closes = true;
        rest = rest.get(tag.length..).unwrap_or_default().trim_start();
    }
    closes && rest.is_empty() || rest.starts_with(GEMMA_END) && rest.trim_end() == GEMMA_END
}

/// Whether the text has the start tag of a call or of a parameter: then it shows one itself.
pub(super) fn opens_call(text: &str) -> bool {
    memchr::memchr_iter(b'<', text.as_bytes()).any(|at| {
        let tag = text.get(at..).and_then(tag);
        tag.is_some_and(|tag| !tag.is_end && CALLS.contains(&tag.name))
    })
}

/// Splits a value without its end tag from the end tags of calls behind it.
pub(super) fn without_closers(text: &str) -> (&str, &str) {
    let mut end = text.len();
    while let Some(at) = text.get(..end).and_then(|text| text.rfind('<')) {
        let Some(last) = text.get(at..end) else { break };
        let is_closer = tag(last).is_some_and(|tag| {
            tag.is_end && CALLS.contains(&tag.name) && last.get(tag.length..).is_some_and(|rest| rest.trim().is_empty())
        });
        if !is_closer {
            break;
        }
        end = at;
    }
    if end == text.len() {
        return (text, "");
    }
    let value = text.get(..end).unwrap_or_default();
    (value.strip_suffix('\n').unwrap_or(value), text.get(end..).unwrap_or_default())
}

/// Removes one line break next to each tag.
pub(super) fn without_layout(text: &str) -> &str {
    let text = text.strip_prefix('\n').unwrap_or(text);
    text.strip_suffix('\n').unwrap_or(text)
}

/// Returns the quotes that no quote of the text opened and that a comma follows, with the positions behind them.
pub(super) fn ending_quotes(text: &str) -> impl Iterator<Item = (char, usize)> {
    let bytes = text.as_bytes();
    let (mut double, mut single) = (0usize, 0usize);
    memchr::memchr2_iter(b'"', b'\'', bytes).filter_map(move |at| {
        let before = at.checked_sub(1).and_then(|before| bytes.get(before));
        let after = bytes.get(at + 1);
        let is_letter = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte >= 0x80);
        if before == Some(&b'\\') {
            return None;
        }
        let is_double = bytes.get(at) == Some(&b'"');
        // An apostrophe within a word is no quote.
        if !is_double && is_letter(before) && is_letter(after) {
            return None;
        }
        let count = if is_double { &mut double } else { &mut single };
        *count += 1;
        let ends = *count % 2 == 1 && behind_comma(bytes, at + 1);
        ends.then_some((if is_double { '"' } else { '\'' }, at + 1))
    })
}

/// Parses the comma and the name of a member, `, "name":` or `, name=`, and returns the text of its value.
pub(super) fn member_start(text: &str) -> Option<(&str, &str)> {
    let rest = text.trim_start().strip_prefix(',')?.trim_start();
    if let Some(quote) = rest.chars().next().filter(|letter| matches!(letter, '"' | '\'')) {
        let window = rest.get(1..rest.floor_char_boundary(MAX_TAG + 2))?;
        let (name, _) = window.split_once(quote)?;
        let behind = rest.get(name.len() + 2..)?.trim_start().strip_prefix(':')?;
        return Some((name, behind.trim_start()));
    }
    let (name, behind) = name_before(rest, '=')?;
    (!behind.starts_with('=')).then(|| (name, behind.trim_start()))
}

/// Parses members up to the end of the text, if they are absent from the call. The last string has lost its quote.
pub(super) fn quoted_members(
    mut rest: &str,
    quote: char,
    is_absent: impl Fn(&str) -> bool,
) -> Option<Vec<(String, Value)>> {
    let mut members: Vec<(String, Value)> = Vec::new();
    while let Some((name, value)) = member_start(rest) {
        if !is_absent(name) || members.iter().any(|(known, _)| known == name) {
            return None;
        }
        let (value, behind) = quoted_value(value, quote)?;
        members.push((name.to_owned(), value));
        rest = behind;
    }
    let is_end = rest.trim_matches(['}', ')', ' ', '\n', '\t', '\r']).is_empty();
    (is_end && !members.is_empty()).then_some(members)
}

/// Parses one value of JSON or of a programming language.
fn quoted_value(text: &str, quote: char) -> Option<(Value, &str)> {
    for (word, value) in [("True", Value::Bool(true)), ("False", Value::Bool(false)), ("None", Value::Null)] {
        if let Some(behind) = text.strip_prefix(word) {
            return Some((value, behind));
        }
    }
    if let Some(inner) = text.strip_prefix('\'') {
        let end = inner.find('\'').unwrap_or(inner.len());
        let value = inner.get(..end).filter(|value| !value.contains('\\'))?;
        return Some((Value::from(value), inner.get(end + 1..).unwrap_or_default()));
    }
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    if let Some(Ok(value)) = values.next() {
        return Some((value, text.get(values.byte_offset()..)?));
    }
    if let Some((value, behind)) = python_structure(text) {
        return Some((value, behind));
    }
    // The quote at the end became the quote of the whole string.
    let inner = text.strip_prefix('"').filter(|_| quote == '"')?;
    let value: String = serde_json::from_str(&format!("\"{inner}\"")).ok()?;
    Some((Value::from(value), ""))
}

/// Parses a list or dictionary in the notation of Python whose strings need no escapes.
fn python_structure(text: &str) -> Option<(Value, &str)> {
    let mut depth = 0usize;
    let mut is_quoted = false;
    for (at, letter) in text.char_indices() {
        match letter {
            '\'' => is_quoted = !is_quoted,
            '[' | '{' if !is_quoted => depth += 1,
            ']' | '}' if !is_quoted => depth = depth.checked_sub(1)?,
            '"' | '\\' => return None,
            _ => {}
        }
        if depth == 0 {
            let (value, behind) = text.split_at_checked(at + letter.len_utf8())?;
            let value = serde_json::from_str(&value.replace('\'', "\"")).ok()?;
            return (at > 0).then_some((value, behind));
        }
    }
    None
}
