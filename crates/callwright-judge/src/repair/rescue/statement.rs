//! Parses calls without markers, and determines where they may begin and which text may follow them.

use super::call_names::{clean, has_only_parameters, offered};
use super::literal::{Literal, LiteralReader};
use super::written::WrittenCall;
use super::{body, plain, python};
use callwright_scanner::ToolSet;

/// A position in a line where a statement may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StatementPosition {
    /// Number of bytes from the start of the line.
    pub(super) at: usize,
    /// Whether text that is not part of the statement precedes it.
    pub(super) is_labelled: bool,
}

/// Maximum number of bytes of a label or target before a call, such as "Function call: ".
pub(super) const MAX_LABEL: usize = 120;

/// Returns the positions in a line where a statement may begin: after a list marker, an assignment or a label with a
/// colon. If an object is on the next line, the last word is also a position.
pub(super) fn places(line: &str, is_before_object: bool) -> impl Iterator<Item = StatementPosition> {
    let bare = skip_decoration(line);
    let assigned = assignment(line.get(bare..).unwrap_or_default()).map(|length| bare + length);
    let labelled = label(line).filter(|at| *at > bare);
    let last = is_before_object.then(|| last_word(line)).flatten().filter(|at| *at > bare);
    let positions = [(Some(bare), false), (assigned, false), (labelled, true), (last, true)];
    positions.into_iter().filter_map(|(at, is_labelled)| Some(StatementPosition { at: at?, is_labelled }))
}

/// Returns the number of bytes before the last word of a line of prose. The word may be a tool's name with its
/// arguments on the next line.
fn last_word(line: &str) -> Option<usize> {
    let mut words = line.trim_end().rsplit(|letter: char| !(letter.is_alphanumeric() || "_.-".contains(letter)));
    let word = words.next()?;
    // In `Let me see.get_weather`, the name follows the full stop directly.
    let name = word.find('.').and_then(|at| word.get(at + 1..)).filter(|name| !name.is_empty()).unwrap_or(word);
    (!name.is_empty()).then(|| line.trim_end().len() - name.len())
}

/// Returns the number of bytes of white space, list markers, emphasis and code span markers.
fn skip_decoration(line: &str) -> usize {
    let rest = line.trim_start();
    let numbered = rest.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let numbered = if numbered.len() < rest.len() { numbered.strip_prefix(['.', ')']) } else { None };
    let rest = numbered
        .or_else(|| rest.strip_prefix(['-', '*', '•', '+']))
        .filter(|rest| rest.starts_with(' '))
        .unwrap_or(rest);
    let rest = special_tokens(rest.trim_start());
    let rest = rest.trim_start_matches(['*', '`', ' ']);
    // Markdown and TeX escape brackets.
    let rest = rest.strip_prefix('\\').filter(|rest| rest.starts_with('[')).unwrap_or(rest);
    line.len() - rest.len()
}

/// Wrapper elements that prompts request around an answer. They do not indicate whether the answer is a call.
pub(super) const SHELLS: [&str; 9] =
    ["answer", "final_answer", "output", "response", "result", "solution", "action", "code", "tools"];

/// Whether a line consists only of a tag of such an element, or of the end tag of any element.
pub(super) fn is_shell(line: &str) -> bool {
    // This check alone dismisses most lines.
    if !line.trim_start().starts_with('<') {
        return false;
    }
    let tag = line.trim().strip_prefix('<').and_then(|tag| tag.strip_suffix('>'));
    tag.is_some_and(|tag| SHELLS.contains(&tag) || tag.strip_prefix('/').is_some_and(is_element_name))
}

fn is_element_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|letter| letter.is_alphanumeric() || "_-:".contains(letter))
}

/// Skips chat template tokens that leaked into the text (`<|assistant|>`, `[control_130]`), and tags of wrapper
/// elements.
fn special_tokens(mut line: &str) -> &str {
    while let Some(rest) = behind_token(line) {
        line = rest.trim_start();
    }
    line
}

/// Returns the text after the token or tag at the start of a line.
fn behind_token(line: &str) -> Option<&str> {
    if let Some(inner) = line.strip_prefix("<|") {
        return behind_word(inner, "|>");
    }
    if let Some(inner) = line.strip_prefix('[') {
        return behind_word(inner, "]").filter(|rest| rest.trim_start().starts_with(['[', '{', '<']));
    }
    let (tag, rest) = line.strip_prefix('<')?.split_once('>')?;
    SHELLS.contains(&tag).then_some(rest)
}

/// Returns the text after `close`, if only a word precedes it.
fn behind_word<'a>(text: &'a str, close: &str) -> Option<&'a str> {
    let (word, rest) = text.split_once(close)?;
    let is_word = !word.is_empty() && word.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    is_word.then_some(rest)
}

/// Returns the number of bytes of `name = `, `const name = ` or `name: Type = `.
fn assignment(line: &str) -> Option<usize> {
    let (target, value) = line.split_once('=')?;
    (is_target(target) && !value.starts_with('=')).then(|| line.len() - value.trim_start().len())
}

/// Whether a text may be the target of an assignment: `const name: Type`.
pub(super) fn is_target(text: &str) -> bool {
    text.len() < MAX_LABEL
        && text.chars().all(|letter| letter.is_alphanumeric() || "_ :,[]".contains(letter))
        && (1..=3).contains(&text.split_whitespace().count())
}

/// Returns the number of bytes up to the text after a colon, if that text may be a call.
fn label(line: &str) -> Option<usize> {
    let head = line.bytes().take(MAX_LABEL).position(|byte| matches!(byte, b'(' | b'[' | b'{'))?;
    let colon = line.as_bytes().get(..head)?.windows(2).rposition(|window| window == b": ")?;
    let rest = line.get(colon + 2..)?;
    Some(line.len() - rest.trim_start_matches([' ', '`', '*']).len())
}

/// Whether a call may begin with `rest`. Runs for every line, and is therefore inexpensive.
pub(super) fn may_begin(rest: &str, tool_set: &ToolSet) -> bool {
    let rest = python::KEYWORDS.iter().find_map(|word| rest.strip_prefix(word)).unwrap_or(rest);
    match rest.as_bytes() {
        [b'[' | b'{' | b'(' | b'"' | b'\'', ..] => true,
        [first, ..] if first.is_ascii_alphabetic() || *first == b'_' || *first >= 0x80 => {
            let end = rest
                .find(|letter: char| !(letter.is_alphanumeric() || "_.-\\:/".contains(letter)))
                .unwrap_or(rest.len());
            let (name, after) = rest.split_at(end);
            let after = after.trim_start_matches([' ', ':', '`', '*']);
            let is_followed = after.is_empty() || after.starts_with(['(', '{', '\n', '`']);
            is_followed
                && (rest.get(end..).is_some_and(|rest| rest.starts_with('('))
                    || offered(&clean(name.trim_end_matches(':')), tool_set).is_some())
                || plain::may_begin(rest, tool_set)
        }
        _ => false,
    }
}

/// Parses the calls of the statement that begins here, and returns them with their notation.
pub(super) fn read(reader: &mut LiteralReader<'_>, tool_set: &ToolSet) -> Option<(Vec<WrittenCall>, &'static str)> {
    let start = reader.at();
    let first = reader.peek()?;
    if let Some(calls) = python::sequence(reader, tool_set)
        && is_evident(&calls, tool_set)
        && !calls.iter().any(|call| is_pattern(call, tool_set))
    {
        return Some((calls, if matches!(first, '{') { "json" } else { notation(reader, start) }));
    }
    reader.go(start);
    if let Some(call) = body::named_object(reader).filter(|call| offered(&call.name, tool_set).is_some()) {
        return Some((body::with_further(reader, tool_set, call), "named_json"));
    }
    reader.go(start);
    plain::read(reader, tool_set).map(|calls| (calls, "plain"))
}

/// Whether the text after a name may begin an object: the object, its fence, a comment, or ChatGLM's `tool_call(`. A
/// cheap precondition of [`is_named_object`].
pub(super) fn may_be_named_object(behind_name: &str) -> bool {
    let behind = behind_name.trim_start();
    let behind = behind.strip_prefix(':').map_or(behind, str::trim_start);
    behind.starts_with(['{', '`', '#', '/']) || behind.starts_with(body::TOOL_CALL)
}

/// Whether a tool's name and an object with arguments of that tool come next. The object may be empty if the tool
/// requires no arguments.
pub(super) fn is_named_object(reader: &mut LiteralReader<'_>, tool_set: &ToolSet) -> bool {
    let call = body::named_object(reader);
    call.is_some_and(|call| {
        offered(&call.name, tool_set).is_some_and(|tool| match call.named.as_slice() {
            [] => tool.needs_nothing(),
            members => has_only_parameters(members, tool),
        })
    })
}

/// Returns `json` if the list contains data, else `python`.
fn notation(reader: &LiteralReader<'_>, start: usize) -> &'static str {
    let text = reader.text.get(start..reader.at()).unwrap_or_default();
    let inner = text.trim_start_matches(['[', '(', ' ', '\n', '\t']);
    if inner.starts_with('{') { "json" } else { "python" }
}

/// Whether a call is a template: `f(a, b)` with the names of its parameters as values, or `f(a="...")`.
fn is_pattern(call: &WrittenCall, tool_set: &ToolSet) -> bool {
    let Some(tool) = offered(&call.name, tool_set) else { return false };
    let mut positional = call.positional.iter().zip(tool.parameters());
    let is_signature = call.values().next().is_some()
        && positional.all(|(value, parameter)| is_source(value, parameter.name))
        && call.named.iter().all(|(name, value)| is_source(value, name));
    is_signature || call.values().any(|value| matches!(value.text(), Some("..." | "…")))
}

fn is_source(value: &Literal, name: &str) -> bool {
    matches!(value, Literal::Source(source) if source == name)
}

/// Whether the calls refer to the offered tools: one names such a tool, or each has only parameters of one tool, under
/// another name.
fn is_evident(calls: &[WrittenCall], tool_set: &ToolSet) -> bool {
    calls.iter().any(|call| offered(&call.name, tool_set).is_some())
        || calls.iter().all(|call| has_parameters_of_tool(call, tool_set))
}

fn has_parameters_of_tool(call: &WrittenCall, tool_set: &ToolSet) -> bool {
    !call.named.is_empty()
        && call.positional.is_empty()
        && tool_set.tools().iter().any(|tool| has_only_parameters(&call.named, tool))
}

/// Returns the number of bytes after a call, up to the end of its line, that belong to it or are insignificant. Returns
/// `None` if prose follows, because the call is then only mentioned.
pub(super) fn tail(rest: &str) -> Option<usize> {
    let fence = rest.find("```").unwrap_or(rest.len());
    let before = rest.get(..fence)?;
    let words = before
        .trim_start_matches([' ', '\t', '\r', '`', '*', ',', ';', '.', '"', '\'', ']', ')', '}', '”', '’', '\\', '[']);
    let is_remark = ["#", "//", "--", "—", "->", "=>", "<|", "</", "<bot_end>", "<eos>", "<end_of_turn>"]
        .iter()
        .any(|sign| words.starts_with(sign));
    (words.is_empty() || is_remark).then_some(fence)
}
