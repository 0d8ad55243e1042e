//! Finds the end of an argument's text, and the line breaks that belong to the layout around it.
//!
//! A value may contain the end tag of its own element. The end is the first such tag after which the structure
//! continues: with another argument, the end of the call, or the end of the text. If two ends are possible, the value
//! is not parsed.

use std::borrow::Cow;
use std::collections::HashMap;

use super::literal::{Literal, LiteralReader};
use super::tag::{self, TagKind};
use callwright_scanner::CompiledTool;

/// Line breaks next to the tags of an argument that belong to the layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Breaks {
    /// None: the template writes the value between its tags verbatim.
    Value,
    /// One on either side: the template puts the value on separate lines.
    Layout,
    /// One on either side if both are present: no template is known for this form.
    Pair,
}

/// The call that contains an argument.
#[derive(Debug, Clone, Copy)]
pub(super) struct Within<'a> {
    /// Element name of the call, without its namespace; empty if there is none.
    pub(super) call: &'a str,
    /// The called tool, if it is known.
    pub(super) tool: Option<&'a CompiledTool>,
    /// Element that separates arguments, if it differs from the argument's own element: `arg_key`.
    pub(super) next: Option<&'a str>,
}

/// Arguments that were parsed, and the name of the next one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Taken<'a> {
    pub(super) before: &'a [(String, Literal)],
    pub(super) key: &'a str,
}

impl Taken<'_> {
    fn contains(&self, key: &str) -> bool {
        self.key == key || self.before.iter().any(|(taken, _)| taken == key)
    }
}

/// Chat template markers that end a message.
pub(super) const TURN_ENDS: [&str; 8] =
    ["<|im_end|>", "<|eom_id|>", "<|eot_id|>", "<|endoftext|>", "<|end|>", "<|user|>", "<|observation|>", "</s>"];

/// Whether a marker that ends the message comes next.
pub(super) fn ends_turn(rest: &str) -> bool {
    TURN_ENDS.iter().any(|end| rest.starts_with(end))
}

/// Elements that contain arguments, and may be closed after one.
const HOLDERS: [&str; 7] = ["parameters", "arguments", "args", "input", "properties", "params", "tool_input"];

impl Within<'_> {
    /// Whether the called tool is known and has this parameter.
    fn has_parameter(&self, name: &str) -> bool {
        self.tool.is_some_and(|tool| tool.has_parameter(name))
    }

    /// Whether `rest` continues or ends the call, as is required after an argument.
    fn continues(&self, rest: &str) -> bool {
        let rest = rest.trim_start();
        if rest.is_empty() || ends_turn(rest) {
            return true;
        }
        if let Some(end) = tag::end(rest) {
            let is_call = end.name == self.call || tag::is_of_call(end.kind);
            return is_call || HOLDERS.contains(&end.name) && !matches!(end.kind, Some(TagKind::Parameter));
        }
        let Some(start) = tag::start(rest) else { return false };
        match start.kind {
            Some(TagKind::Wrapper | TagKind::Invoke | TagKind::Name) => true,
            Some(TagKind::Function | TagKind::Parameter) => start.value.is_some() || self.has_parameter(start.name),
            Some(TagKind::Tool) | None => {
                self.has_parameter(start.name) || self.next.is_some_and(|next| next == start.full)
            }
        }
    }
}

/// Parses the value of an argument in the element `full`, whose start tag was consumed; consumes its end tag. `taken`
/// are the parsed arguments.
pub(super) fn value<'a>(
    reader: &mut LiteralReader<'a>,
    full: &str,
    breaks: Breaks,
    within: Within<'_>,
    taken: Taken<'_>,
) -> Option<Cow<'a, str>> {
    if let Some(text) = cdata(reader, full, within)? {
        return Some(text);
    }
    let rest = reader.rest();
    let close = format!("</{full}>");
    let mut found = None;
    let mut only = None;
    let mut count = 0usize;
    let mut seen = rest.len();
    let (mut from, mut open) = (0, 0usize);
    for at in memchr::memmem::find_iter(rest.as_bytes(), &close) {
        let behind = rest.get(at + close.len()..)?;
        open += inner_starts(rest.get(from..at)?, full, within);
        from = at + close.len();
        if within.continues(behind) {
            found = Some(at);
            seen = at;
            break;
        }
        let is_inner = open > 0;
        open = open.saturating_sub(1);
        // Two consecutive end tags: one is surplus or is text, unless the value contains its start tag.
        if behind.trim_start().starts_with(&close) {
            if is_inner {
                continue;
            }
            reader.burn(at);
            return None;
        }
        only = only.or(Some(at));
        count += 1;
    }
    reader.burn(seen);
    let inner = rest.get(..found.unwrap_or(rest.len()))?;
    if let Some(at) = sibling(inner, full, within, taken)? {
        return closed_by_name(reader, at, breaks, taken.key);
    }
    // Truncated text may have had another end.
    if let Some(at) = found.or(only.filter(|_| count == 1 && reader.may_complete)) {
        let text = rest.get(..at)?;
        reader.advance(at + close.len())?;
        return Some(Cow::Borrowed(inner_text(text, breaks)));
    }
    if count > 1 {
        return None;
    }
    other_end(reader, full, breaks, within, taken.key)
}

/// Returns the number of start tags of the element `full` in a part of a value. One that begins another argument of
/// the tool does not count.
fn inner_starts(part: &str, full: &str, within: Within<'_>) -> usize {
    let open = format!("<{full}");
    let starts = memchr::memmem::find_iter(part.as_bytes(), &open).filter_map(|at| tag::start(part.get(at..)?));
    starts.filter(|tag| tag.full == full && !tag.value.is_some_and(|key| within.has_parameter(key))).count()
}

/// Consumes a value of `length` bytes whose end tag is missing. The line break before the following tag is layout.
fn unclosed<'a>(reader: &mut LiteralReader<'a>, length: usize, breaks: Breaks) -> Option<Cow<'a, str>> {
    let text = reader.rest().get(..length)?;
    reader.advance(length)?;
    let text = if breaks == Breaks::Value { text } else { text.strip_prefix('\n').unwrap_or(text) };
    Some(Cow::Borrowed(text.strip_suffix('\n').unwrap_or(text)))
}

/// Consumes a value of `length` bytes that may end with the end tag of the argument's name `key`.
fn closed_by_name<'a>(
    reader: &mut LiteralReader<'a>,
    length: usize,
    breaks: Breaks,
    key: &str,
) -> Option<Cow<'a, str>> {
    let text = reader.rest().get(..length)?;
    let kept = text.trim_end().strip_suffix(&format!("</{key}>"));
    match kept.filter(|kept| !kept.contains(&format!("<{key}"))) {
        Some(kept) => {
            reader.advance(length)?;
            Some(Cow::Borrowed(inner_text(kept, breaks)))
        }
        None => unclosed(reader, length, breaks),
    }
}

/// Searches `inner` for the next argument, before the end of a value and at the start of a line: a parameter of the tool
/// that was not given yet. `None` if text that looks like an argument is ambiguous.
fn sibling(inner: &str, full: &str, within: Within<'_>, taken: Taken<'_>) -> Option<Option<usize>> {
    if let Some(next) = within.next {
        return next_key(inner, next, within, taken);
    }
    let begin = format!("\n<{full}");
    if memchr::memmem::find(inner.as_bytes(), begin.as_bytes()).is_none() {
        return (!holds_new_argument(inner, full, within, taken)).then_some(None);
    }
    for sign in ["=", " name="] {
        let start = format!("{begin}{sign}");
        let Some(at) = inner.find(&start) else { continue };
        let key = inner.get(at + 1..).and_then(tag::start).and_then(|tag| tag.value);
        let is_new = key.is_some_and(|key| within.has_parameter(key) && !taken.contains(key));
        return is_new.then_some(Some(at + 1));
    }
    Some(None)
}

/// Whether an argument that was not given yet begins within a line of a value.
fn holds_new_argument(inner: &str, full: &str, within: Within<'_>, taken: Taken<'_>) -> bool {
    let open = format!("<{full}");
    let mut starts = memchr::memmem::find_iter(inner.as_bytes(), &open).filter_map(|at| tag::start(inner.get(at..)?));
    starts.any(|tag| tag.full == full && tag.value.is_some_and(|key| within.has_parameter(key) && !taken.contains(key)))
}

/// Searches for the element `next`, which contains the name of the next argument, like [`sibling`].
fn next_key(inner: &str, next: &str, within: Within<'_>, taken: Taken<'_>) -> Option<Option<usize>> {
    let start = format!("<{next}>");
    for (at, _) in inner.match_indices(&start) {
        let Some(key) = inner.get(at + start.len()..).and_then(|rest| rest.split('<').next()) else { continue };
        if within.has_parameter(key.trim()) {
            return (!taken.contains(key.trim())).then_some(Some(at));
        }
    }
    Some(None)
}

/// Parses a value that ends with the end tag of another element: a synonym of the argument's element, the name `key` of
/// the argument, or the element of the call.
fn other_end<'a>(
    reader: &mut LiteralReader<'a>,
    full: &str,
    breaks: Breaks,
    within: Within<'_>,
    key: &str,
) -> Option<Cow<'a, str>> {
    let rest = reader.rest();
    let name = full.rsplit([':', '|', '｜', ' ']).next().unwrap_or(full);
    let mut at = 0;
    while let Some(next) = rest.get(at..)?.find("</") {
        at += next;
        let Some(end) = rest.get(at..).and_then(tag::end) else {
            at += 2;
            continue;
        };
        reader.burn(next);
        let behind = rest.get(at + end.length..)?;
        let is_argument = end.name == name || end.name == key || end.kind == Some(TagKind::Parameter);
        if is_argument && within.continues(behind) {
            let text = rest.get(..at)?;
            reader.advance(at + end.length)?;
            return Some(Cow::Borrowed(inner_text(text, breaks)));
        }
        if end.name == within.call || tag::is_of_call(end.kind) {
            return unclosed(reader, at, breaks);
        }
        at += end.length;
    }
    reader.burn(rest.len());
    None
}

/// Parses a value that consists only of CDATA sections (XML 1.0, section 2.7), and returns their content. Returns
/// `Some(None)` if there are none, and `None` if their end is ambiguous.
fn cdata<'a>(reader: &mut LiteralReader<'a>, full: &str, within: Within<'_>) -> Option<Option<Cow<'a, str>>> {
    let start = reader.rest();
    let Some((text, length)) = sections(reader, full) else { return Some(None) };
    // An end tag within the section may also end the value, because the section may be the value's own text.
    let close = format!("</{full}>");
    let inner = start.get(..length - close.len()).unwrap_or_default();
    let mut ends = inner.match_indices(&close).filter_map(|(at, _)| start.get(at + close.len()..));
    if ends.any(|behind| within.continues(behind)) {
        return None;
    }
    reader.advance(length).map(|()| Some(text))
}

/// Parses consecutive CDATA sections. Returns their content, and the number of bytes up to and including the end tag.
fn sections<'a>(reader: &mut LiteralReader<'a>, full: &str) -> Option<(Cow<'a, str>, usize)> {
    const OPEN: &str = "<![CDATA[";
    const CLOSE: &str = "]]>";
    let start = reader.rest();
    let mut rest = start.trim_start();
    let mut text: Cow<'a, str> = Cow::Borrowed("");
    while let Some(section) = rest.strip_prefix(OPEN) {
        // Uses the first end that is followed by a section or the end tag, because a value may contain the end of a
        // section.
        let end = section.match_indices(CLOSE).map(|(at, _)| at).find(|at| {
            let behind = section.get(at + CLOSE.len()..).unwrap_or_default().trim_start();
            behind.starts_with(OPEN) || tag::end(behind).is_some_and(|end| end.full == full)
        });
        let Some(end) = end else {
            reader.burn(section.len());
            return None;
        };
        let content = section.get(..end)?;
        if text.is_empty() {
            text = Cow::Borrowed(content)
        } else {
            text.to_mut().push_str(content)
        }
        rest = section.get(end + CLOSE.len()..)?;
        rest = if rest.trim_start().starts_with(OPEN) { rest.trim_start() } else { rest };
    }
    if rest.len() == start.trim_start().len() {
        return None;
    }
    let behind = rest.trim_start();
    let end = tag::end(behind).filter(|end| end.full == full)?;
    Some((text, start.len() - behind.len() + end.length))
}

/// Returns the text between two tags without the line breaks that belong to the layout.
pub(super) fn inner_text(text: &str, breaks: Breaks) -> &str {
    match breaks {
        Breaks::Value => text,
        Breaks::Layout => {
            let text = text.strip_prefix('\n').unwrap_or(text);
            text.strip_suffix('\n').unwrap_or(text)
        }
        Breaks::Pair => text.strip_prefix('\n').and_then(|text| text.strip_suffix('\n')).unwrap_or(text),
    }
}

/// Whether an unmatched end tag of a call or an argument follows: then a value was cut at an end tag in its own text. A
/// text is searched once for all of its calls.
pub(super) fn leaves_end_tags(reader: &mut LiteralReader<'_>) -> bool {
    if reader.has_matched_tags() {
        return false;
    }
    let (start, rest) = (reader.at(), reader.rest());
    let mut at = 0;
    let mut opened = OpenTags::default();
    // Positions outside of all elements, from which a search would find the same.
    let mut outside = Vec::new();
    let (mut since, mut end) = (0, rest.len());
    while let Some(next) = rest.get(at..).and_then(|rest| rest.find('<')) {
        at += next;
        let here = rest.get(at..).unwrap_or_default();
        let is_quoted = rest.get(..at).is_some_and(|before| before.ends_with('`'));
        if let Some(end) = tag::end(here) {
            let is_pair = end.name.ends_with("arg_key") || end.name.ends_with("arg_value");
            let is_of_call = tag::is_of_call(end.kind) || end.kind == Some(TagKind::Parameter);
            if end.kind.is_some_and(|kind| opened.close(kind)) {
                since = at + 1;
            } else if !is_quoted && (is_pair || is_of_call) {
                reader.burn(at);
                return true;
            }
        } else if let Some(tag) = tag::start(here)
            && !is_quoted
            && (tag::is_of_call(tag.kind) || tag.kind == Some(TagKind::Parameter))
        {
            // The next call is checked separately.
            let before = rest.get(..at).unwrap_or_default();
            if before.trim().is_empty() || before.ends_with('\n') {
                end = at + 1;
                break;
            }
            if opened.kinds.is_empty() {
                outside.push(start + since..start + at + 1);
            }
            tag.kind.into_iter().for_each(|kind| opened.open(kind));
        }
        at += 1;
    }
    reader.burn(at);
    if opened.kinds.is_empty() {
        outside.push(start + since..start + end);
    }
    reader.set_matched_tags(outside);
    false
}

/// Elements without an end tag so far. The numbers of each kind spare the search for one that is not open.
#[derive(Default)]
struct OpenTags {
    kinds: Vec<TagKind>,
    counts: HashMap<TagKind, usize>,
}

impl OpenTags {
    fn open(&mut self, kind: TagKind) {
        self.kinds.push(kind);
        *self.counts.entry(kind).or_default() += 1;
    }

    /// Closes the last element of this kind and all in it. Returns whether one was open.
    fn close(&mut self, kind: TagKind) -> bool {
        if self.counts.get(&kind).is_none_or(|count| *count == 0) {
            return false;
        }
        while let Some(last) = self.kinds.pop() {
            self.counts.entry(last).and_modify(|count| *count -= 1);
            if last == kind {
                break;
            }
        }
        true
    }
}
