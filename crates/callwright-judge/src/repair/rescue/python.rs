//! Parses calls as code: `name(a=1, b="x")`, alone, in lists, as strings, and wrapped in `print(...)`.

use super::call_names::{MAX_NAME, clean, offered};
use super::literal::{Literal, LiteralReader, Nesting};
use super::shape;
use super::written::WrittenCall;
use callwright_scanner::ToolSet;

/// Maximum depth of lists and wrapper functions around a call.
pub(super) const MAX_DEPTH: usize = 4;

/// Functions around calls that do not change the called tool.
pub(super) const WRAPPERS: [&str; 6] = ["print", "str", "display", "json.dumps", "asyncio.run", "repr"];

/// Keywords before a call that do not change the called tool.
pub(super) const KEYWORDS: [&str; 3] = ["await ", "return ", "yield "];

/// Operators that may join the results of two calls. Both calls are made.
const OPERATORS: [&str; 8] = ["+", "-", "*", "/", "or ", "and ", "|", "&"];

/// Parses the calls of a nested text that contains no other content.
pub(super) fn whole(text: &str, tool_set: &ToolSet, may_complete: bool, nesting: &Nesting) -> Option<Vec<WrittenCall>> {
    let mut reader =
        LiteralReader::nested_in(text, may_complete, nesting)?.with_tools(tool_set, shape::are_complete_calls);
    let calls = sequence(&mut reader, tool_set)?;
    reader.skip_space()?;
    reader.rest().is_empty().then_some(calls)
}

/// Parses a text that is exactly `key=value` or `key: value`. A value that is not a literal is a string without quotes.
pub(super) fn keyword(text: &str) -> Option<(String, Literal)> {
    let mut reader = LiteralReader::new(text, false);
    let key = key(&mut reader)?;
    let rest = reader.rest().trim().to_owned();
    let value = reader.value().filter(|_| reader.rest().trim().is_empty());
    Some((key, value.unwrap_or(Literal::Text(rest))))
}

/// Parses consecutive calls on a line: `f(a=1), g(b=2); h()`, or `f() + g()`.
pub(super) fn sequence(reader: &mut LiteralReader<'_>, tool_set: &ToolSet) -> Option<Vec<WrittenCall>> {
    sequence_within(reader, tool_set, MAX_DEPTH)
}

/// Parses consecutive calls, with at most `depth` further levels of nesting.
fn sequence_within(reader: &mut LiteralReader<'_>, tool_set: &ToolSet, depth: usize) -> Option<Vec<WrittenCall>> {
    let open = reader.peek().filter(|open| matches!(open, '{' | '['));
    let mut calls = item(reader, tool_set, depth)?;
    loop {
        let end = reader.at();
        // Text on the line after a semicolon is a separate statement. Objects and lists need no separator.
        let is_separated = same_line(reader)
            && (reader.take(",")
                || reader.take(";") && same_line(reader)
                || open.is_some_and(|open| reader.rest().starts_with(open))
                || operator(reader));
        match is_separated.then(|| reader.skip_space().and_then(|()| item(reader, tool_set, depth))).flatten() {
            Some(more) => calls.extend(more),
            None => {
                reader.go(end);
                return Some(calls);
            }
        }
    }
}

fn operator(reader: &mut LiteralReader<'_>) -> bool {
    OPERATORS.into_iter().any(|operator| reader.take(operator))
}

/// Skips blanks, and returns whether more text follows on this line.
fn same_line(reader: &mut LiteralReader<'_>) -> bool {
    reader.skip_blanks().is_some() && !reader.rest().is_empty() && !reader.rest().starts_with(['\r', '\n'])
}

/// Parses one call, or a list of calls.
fn item(reader: &mut LiteralReader<'_>, tool_set: &ToolSet, depth: usize) -> Option<Vec<WrittenCall>> {
    reader.attempt(|reader| match reader.peek()? {
        '[' | '(' | '{' => list(reader, tool_set, depth),
        '"' | '\'' | '`' => quoted(reader, tool_set, depth),
        _ => calls(reader, tool_set, depth),
    })
}

/// Parses a list, tuple or set of calls.
fn list(reader: &mut LiteralReader<'_>, tool_set: &ToolSet, depth: usize) -> Option<Vec<WrittenCall>> {
    let depth = depth.checked_sub(1)?;
    let start = reader.at();
    if let Some(value) = reader.data() {
        if let Some(calls) = shape::calls(&value, tool_set, &reader.nesting_within()) {
            subscripts(reader);
            return Some(calls);
        }
        if let Some(call) = only_name(&value, tool_set)
            && reader.take("(")
        {
            return with_arguments(reader, call).map(|call| vec![call]);
        }
    }
    reader.go(start);
    let close = match reader.peek()? {
        '[' => "]",
        '(' => ")",
        _ => "}",
    };
    reader.advance(1)?;
    let calls = match reader.attempt(|reader| named_first(reader, tool_set, close)) {
        Some(call) => vec![call],
        None => items(reader, tool_set, depth, close)?,
    };
    subscripts(reader);
    Some(calls)
}

/// Parses the calls of a list after its opening bracket, including the closing one.
fn items(reader: &mut LiteralReader<'_>, tool_set: &ToolSet, depth: usize, close: &str) -> Option<Vec<WrittenCall>> {
    let mut calls = Vec::new();
    loop {
        reader.skip_space()?;
        reader.skip_stray(close);
        if !calls.is_empty() && (reader.take(close) || reader.completes()) {
            return Some(calls);
        }
        let end = reader.at();
        match item(reader, tool_set, depth) {
            Some(more) => calls.extend(more),
            None if calls.is_empty() => return None,
            // A remark or a default beside the calls.
            None if matches!(
                reader.data(),
                Some(Literal::Text(_) | Literal::List(_) | Literal::Number(_) | Literal::Null)
            ) => {}
            // The list was not closed, and prose begins on a new line.
            None => {
                reader.go(end);
                return reader.completes_before(end).then_some(calls);
            }
        }
        reader.skip_space()?;
        if !reader.take(",") {
            operator(reader);
        }
    }
}

/// Parses `name, a=1, b="x"` after the opening bracket of a list, including the closing one.
fn named_first(reader: &mut LiteralReader<'_>, tool_set: &ToolSet, close: &str) -> Option<WrittenCall> {
    reader.skip_space()?;
    let name = name(reader)?;
    offered(&name, tool_set)?;
    reader.skip_space()?;
    let mut written = WrittenCall::named(name, Vec::new());
    while reader.take(",") {
        reader.skip_space()?;
        let key = key(reader)?;
        written.named.push((key, reader.value()?));
        reader.skip_space()?;
    }
    reader.skip_stray(close);
    (!written.named.is_empty() && (reader.take(close) || reader.completes())).then_some(written)
}

/// Parses calls within quotes. If the quotes of their arguments are not escaped, the closing quote is the one after the
/// call.
fn quoted(reader: &mut LiteralReader<'_>, tool_set: &ToolSet, depth: usize) -> Option<Vec<WrittenCall>> {
    let depth = depth.checked_sub(1)?;
    let start = reader.at();
    if let Some(Literal::Text(text)) = reader.data()
        && let Some(calls) = whole(&text, tool_set, reader.may_complete, &reader.nesting_within())
    {
        return Some(calls);
    }
    reader.go(start);
    if let Some(calls) = calls(reader, tool_set, 1) {
        // Only the name is quoted, as in `'name'(a=1)`.
        return Some(calls);
    }
    reader.go(start);
    let quote = reader.peek()?.to_string();
    reader.advance(quote.len())?;
    let calls = sequence_within(reader, tool_set, depth)?;
    reader.take(&quote);
    Some(calls)
}

/// Parses `name(...)`, or the calls within a function that only wraps them.
fn calls(reader: &mut LiteralReader<'_>, tool_set: &ToolSet, depth: usize) -> Option<Vec<WrittenCall>> {
    for word in KEYWORDS {
        reader.take(word);
    }
    let name = name(reader)?;
    if !reader.take("(") {
        return None;
    }
    if WRAPPERS.contains(&name.as_str()) && offered(&name, tool_set).is_none() {
        return items(reader, tool_set, depth.checked_sub(1)?, ")");
    }
    with_arguments(reader, name).map(|call| vec![call])
}

/// Returns the tool name in a list of one item: `["name"](a=1)`.
fn only_name(value: &Literal, tool_set: &ToolSet) -> Option<String> {
    let Literal::List(items) = value else { return None };
    let [only] = items.as_slice() else { return None };
    let name = clean(only.text()?);
    offered(&name, tool_set).map(|_| name)
}

/// Parses the arguments of the call of `name`, including the closing parenthesis.
pub(super) fn with_arguments(reader: &mut LiteralReader<'_>, name: String) -> Option<WrittenCall> {
    let mut written = WrittenCall { name, positional: Vec::new(), named: Vec::new() };
    let mut read = written.clone();
    match reader.arguments_of(&written.name, |reader| arguments(reader, &mut read))? {
        None => written = read,
        Some(arguments) => {
            for (key, value) in arguments {
                if key.is_empty() { written.positional.push(value) } else { written.named.push((key, value)) }
            }
        }
    }
    subscripts(reader);
    Some(written)
}

/// Parses a dotted name, optionally quoted, and removes Markdown escapes.
pub(super) fn name(reader: &mut LiteralReader<'_>) -> Option<String> {
    let quote = reader.peek().filter(|letter| matches!(letter, '"' | '\'' | '`'));
    reader.advance(usize::from(quote.is_some()))?;
    let name = word(reader.rest(), "_.-\\:/")?;
    // A colon after the name is not part of it.
    let name = name.trim_end_matches([':', '.', '/', '-']);
    reader.advance(name.len())?;
    match quote {
        Some(quote) if !reader.take(&quote.to_string()) => None,
        _ => Some(clean(name)),
    }
}

/// Returns the word at the start of `text`: letters, digits and `others`, beginning with a letter. A delimiter must
/// follow it.
fn word<'a>(text: &'a str, others: &str) -> Option<&'a str> {
    let mut letters = text.char_indices().take(MAX_NAME);
    let (end, _) = letters.find(|(_, letter)| !(letter.is_alphanumeric() || others.contains(*letter)))?;
    text.get(..end)
        .filter(|word| word.starts_with(|letter: char| letter.is_alphabetic() || matches!(letter, '_' | '\\')))
}

/// Parses the arguments after the opening parenthesis, including the closing one.
fn arguments(reader: &mut LiteralReader<'_>, written: &mut WrittenCall) -> Option<()> {
    loop {
        reader.skip_space()?;
        if reader.take(")") || reader.completes_in_doubt() {
            return Some(());
        }
        argument(reader, written)?;
        reader.skip_space()?;
        let is_separated = reader.take(",") || matches!(reader.peek(), Some(')') | None) || reader.completes();
        if !is_separated && !is_before_key(reader) {
            return None;
        }
    }
}

fn argument(reader: &mut LiteralReader<'_>, written: &mut WrittenCall) -> Option<()> {
    if reader.take("**") {
        let Literal::Object(members) = reader.value()? else { return None };
        written.named.extend(members);
        return Some(());
    }
    let start = reader.at();
    if let Some(key) = key(reader) {
        let is_annotated = reader.text.get(..reader.at()).is_some_and(|before| before.ends_with(':'));
        let value = value(reader)?;
        if is_annotated && is_type(&value) {
            return None;
        }
        written.named.push((key, value));
        return Some(());
    }
    reader.go(start);
    written.positional.push(reader.value()?);
    // No language allows a positional argument after a named one.
    written.named.is_empty().then_some(())
}

/// Parses the value of a named argument. The comma after a literal may be missing.
fn value(reader: &mut LiteralReader<'_>) -> Option<Literal> {
    let start = reader.at();
    if let Some(literal) = reader.data() {
        let end = reader.at();
        let is_whole = end > start && reader.skip_space().is_some() && is_before_key(reader);
        reader.go(end);
        if is_whole {
            // Without a comma, the following text may be a part of the string.
            reader.has_doubt = true;
            return Some(literal);
        }
    }
    reader.go(start);
    reader.value()
}

/// Whether `name=` comes next.
fn is_before_key(reader: &mut LiteralReader<'_>) -> bool {
    let start = reader.at();
    let is_name = reader.peek().is_some_and(|letter| letter.is_alphabetic() || letter == '_');
    let is_key =
        is_name && key(reader).is_some() && reader.text.get(..reader.at()).is_some_and(|text| text.ends_with('='));
    reader.go(start);
    is_key
}

/// Whether the value is the name of a type. If it is, `f(a: str)` is a signature and not a call.
fn is_type(value: &Literal) -> bool {
    let Literal::Source(source) = value else { return false };
    let name = source.split(['[', '=', '|', ' ']).next().unwrap_or_default();
    TYPES.contains(&name)
}

/// Names of types in signatures.
pub(super) const TYPES: [&str; 20] = [
    "integer", "array", "str", "int", "float", "bool", "list", "dict", "tuple", "set", "bytes", "object", "string",
    "number", "boolean", "Any", "List", "Dict", "Optional", "Union",
];

/// Parses a parameter's name with `=`, `=>` or `:`, but not the left side of a comparison.
fn key(reader: &mut LiteralReader<'_>) -> Option<String> {
    let quote = reader.peek().filter(|letter| matches!(letter, '"' | '\''));
    reader.advance(usize::from(quote.is_some()))?;
    let key = word(reader.rest(), "_-\\$.")?;
    reader.advance(key.len())?;
    if let Some(quote) = quote
        && !reader.take(&quote.to_string())
    {
        return None;
    }
    reader.skip_space()?;
    if reader.rest().starts_with("==") || reader.rest().starts_with("::") {
        return None;
    }
    (reader.take("=>") || reader.take("=") || reader.take(":")).then(|| key.replace('\\', ""))
}

/// Skips subscripts of the result, such as `[0]['price']`, and repeated calls. They do not affect the call.
fn subscripts(reader: &mut LiteralReader<'_>) {
    while reader.take("()") || reader.rest().starts_with('[') {
        let start = reader.at();
        if reader.rest().starts_with('[') && reader.data().is_none() {
            reader.go(start);
            return;
        }
    }
}
