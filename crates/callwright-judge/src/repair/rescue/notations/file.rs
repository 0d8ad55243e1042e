//! Parses the table from TOML: the built-in text, and an operator's file, which is validated entry by entry.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::entry::{NotationEntry, NotationParser, TagRole};
use super::tokens::{NotationBody, NotationTokens, OptionalPart, ParameterTokens, Values};
use crate::repair::rescue::grammars;
use callwright_common::watch::{FileError, read_file};

/// TOML text of the built-in table.
const BUILT_IN: &str = include_str!("../notations.toml");

/// Maximum size of an operator's file in bytes.
const MAX_BYTES: u64 = 1024 * 1024;

/// Maximum number of entries in an operator's file.
const MAX_ENTRIES: usize = 256;

/// Maximum number of tokens in a list, and maximum number of bytes of one token.
const MAX_TOKENS: usize = 64;
const MAX_TOKEN: usize = 128;

/// Maximum number of tokens that belong to no call.
const MAX_TEMPLATE_TOKENS: usize = 256;

/// Minimum number of bytes of an opener. Shorter openers occur in ordinary text.
const MIN_OPENER: usize = 3;

/// Maximum number of characters of a name.
const MAX_NAME: usize = 64;

/// Settings of rescue for the whole proxy.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// TOML file with notations in addition to the built-in ones; empty for the built-in ones alone.
    pub notations: String,
}

impl Settings {
    /// Returns the path of the operator's file, if one is configured.
    pub fn file(&self, base_dir: &Path) -> Option<PathBuf> {
        (!self.notations.is_empty()).then(|| base_dir.join(&self.notations))
    }
}

/// A problem in the text of a file.
#[derive(Debug)]
pub(in crate::repair::rescue) struct NotationProblem {
    pub(in crate::repair::rescue) line: usize,
    column: usize,
    pub(in crate::repair::rescue) message: String,
}

impl NotationProblem {
    fn new(text: &str, span: Range<usize>, message: &str) -> Self {
        Self::at(text, Some(span), message.to_owned())
    }

    fn at(text: &str, span: Option<Range<usize>>, message: String) -> Self {
        let before = text.get(..span.map_or(0, |span| span.start)).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Self { line, column, message }
    }

    pub(super) fn in_file(self, path: &Path) -> FileError {
        let Self { line, column, message } = self;
        FileError::Invalid { path: path.to_owned(), line, column, message }
    }
}

/// The file as it is parsed.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct NotationFileForm {
    tokens: Vec<Spanned<String>>,
    notation: Vec<Spanned<EntryForm>>,
}

/// The entries of a table, and the tokens that belong to no call.
#[derive(Debug, Default)]
pub(super) struct NotationTable {
    pub(super) entries: Vec<NotationEntry>,
    pub(super) tokens: Vec<String>,
}

/// An entry as it is parsed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct EntryForm {
    name: Spanned<String>,
    #[serde(default)]
    disabled: bool,
    reader: Option<Spanned<String>>,
    tag: Option<Spanned<TagRole>>,
    #[serde(default = "yes")]
    reserved: bool,
    #[serde(default)]
    line_start: bool,
    #[serde(default)]
    tentative: bool,
    #[serde(default)]
    section: Vec<Spanned<String>>,
    #[serde(default)]
    open: Vec<Spanned<String>>,
    #[serde(default)]
    before_name: Vec<String>,
    #[serde(default)]
    after_name: Vec<String>,
    #[serde(default)]
    before_arguments: Vec<String>,
    #[serde(default)]
    body: NotationBody,
    parameter: Option<ParameterTokens>,
    #[serde(default)]
    close: Vec<String>,
    #[serde(default)]
    section_close: Vec<String>,
    #[serde(default)]
    optional: Vec<OptionalPart>,
    #[serde(default)]
    paired: bool,
    #[serde(default)]
    numbered: bool,
    #[serde(default)]
    values: Values,
}

const fn yes() -> bool {
    true
}

/// Reads the text of an operator's file.
pub(super) fn read(path: &Path) -> Result<String, FileError> {
    read_file(path, MAX_BYTES, "remove entries")
}

/// Returns the built-in table. A test keeps its text valid; with an invalid text the proxy would rescue no calls.
pub(super) fn built_in() -> NotationTable {
    let form = form(BUILT_IN).unwrap_or_default();
    NotationTable {
        entries: form.notation.into_iter().filter_map(|form| entry(BUILT_IN, form.into_inner(), true).ok()).collect(),
        tokens: form.tokens.into_iter().map(Spanned::into_inner).collect(),
    }
}

/// Merges the built-in table with that of an operator's file. An entry of the same name replaces or disables a built-in
/// one.
pub(super) fn merged(text: &str) -> Result<NotationTable, NotationProblem> {
    let NotationTable { mut entries, mut tokens } = built_in();
    let NotationFileForm { tokens: added, notation: forms } = form(text)?;
    for token in added {
        if token.get_ref().len() < MIN_OPENER
            || token.get_ref().len() > MAX_TOKEN
            || tokens.len() >= MAX_TEMPLATE_TOKENS
        {
            let message = format!(
                "`tokens`: write tokens of {MIN_OPENER} to {MAX_TOKEN} bytes, at most {MAX_TEMPLATE_TOKENS} with the built-in ones"
            );
            return Err(NotationProblem::new(text, token.span(), &message));
        }
        tokens.push(token.into_inner());
    }
    if forms.len() > MAX_ENTRIES {
        return Err(NotationProblem::at(
            text,
            None,
            format!("more than {MAX_ENTRIES} entries `[[notation]]`; remove some"),
        ));
    }
    let mut named: BTreeSet<String> = BTreeSet::new();
    let mut spans = Vec::new();
    for form in forms {
        let form = form.into_inner();
        let (name, place) = (form.name.get_ref().clone(), form.name.span());
        if !named.insert(name.clone()) {
            let message = format!("`name`: a second entry is named `{name}`; give each its own name");
            return Err(NotationProblem::new(text, place, &message));
        }
        let before = entries.len();
        entries.retain(|entry| entry.name != name);
        if form.disabled {
            if entries.len() == before {
                let message =
                    format!("`disabled`: there is no built-in notation `{name}`; correct `name`, or remove the entry");
                return Err(NotationProblem::new(text, place, &message));
            }
            continue;
        }
        let openers: Vec<_> =
            form.section.iter().chain(&form.open).map(|open| (open.get_ref().clone(), open.span())).collect();
        spans.extend(openers.into_iter().map(|(open, span)| (open, span, name.clone())));
        entries.push(entry(text, form, false)?);
    }
    for (open, span, name) in spans {
        let other = entries.iter().find(|entry| entry.name != name && entry.openers().any(|other| other == open));
        if let Some(other) = other {
            let message = format!(
                "`open`: `{open}` is also an opener of the notation `{}`; disable that notation, or use another opener",
                other.name
            );
            return Err(NotationProblem::new(text, span, &message));
        }
    }
    Ok(NotationTable { entries, tokens })
}

fn form(text: &str) -> Result<NotationFileForm, NotationProblem> {
    toml::from_str(text).map_err(|error| NotationProblem::at(text, error.span(), error.message().to_owned()))
}

/// Validates a form, and creates its entry.
fn entry(text: &str, form: EntryForm, is_built_in: bool) -> Result<NotationEntry, NotationProblem> {
    let place = form.name.span();
    let name = form.name.get_ref().clone();
    let is_name = !name.is_empty()
        && name.len() <= MAX_NAME
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    if !is_name {
        return Err(NotationProblem::new(text, place, "`name`: write 1 to 64 lower-case letters, digits or `_`"));
    }
    if !is_built_in {
        if let Some(reader) = &form.reader {
            return Err(NotationProblem::new(
                text,
                reader.span(),
                "`reader`: only built-in entries have one; describe the notation by its tokens",
            ));
        }
        if let Some(tag) = &form.tag {
            return Err(NotationProblem::new(
                text,
                tag.span(),
                "`tag`: only built-in entries have one; write the start tag as an opener",
            ));
        }
    }
    let flags = (form.reserved, form.line_start, form.tentative);
    let tag = form.tag.as_ref().map(|tag| *tag.get_ref());
    let form = match &form.reader {
        Some(reader) => {
            let grammar = grammars::reader(reader.get_ref()).ok_or_else(|| {
                NotationProblem::new(text, reader.span(), "`reader`: unknown reader; use the name of a built-in reader")
            })?;
            let open = form.open.into_iter().map(Spanned::into_inner).collect();
            NotationParser::Reader { grammar, open, close: form.close }
        }
        None => NotationParser::Tokens(Box::new(tokens(text, form)?)),
    };
    let message = "`name`: too many notation names since the process started; restart the proxy";
    let name = interned(&name).ok_or_else(|| NotationProblem::new(text, place, message))?;
    let (is_reserved, begins_line, is_tentative) = flags;
    Ok(NotationEntry { name, tag, is_reserved, begins_line, is_tentative, form })
}

/// Validates the tokens of an entry.
fn tokens(text: &str, form: EntryForm) -> Result<NotationTokens, NotationProblem> {
    let place = form.name.span();
    if form.open.is_empty() {
        return Err(NotationProblem::new(text, place, "`open`: give at least one token that begins a call"));
    }
    for open in form.section.iter().chain(&form.open) {
        let token = open.get_ref();
        let is_word = token.chars().all(|letter| letter.is_alphanumeric() || letter.is_whitespace());
        let problem = if token.len() < MIN_OPENER {
            "`open`: an opener has 3 bytes or more"
        } else if is_word && !form.line_start {
            "`open`: words alone occur in any text; add a sign to the opener, or set `line_start = true`"
        } else if token.trim_start() != token {
            "`open`: an opener cannot begin with white space; remove it"
        } else {
            continue;
        };
        return Err(NotationProblem::new(text, open.span(), problem));
    }
    let parameter = form.parameter.unwrap_or_default();
    let open: Vec<String> = form.open.into_iter().map(Spanned::into_inner).collect();
    let section: Vec<String> = form.section.into_iter().map(Spanned::into_inner).collect();
    for (key, list) in [
        ("section", &section),
        ("open", &open),
        ("before_name", &form.before_name),
        ("after_name", &form.after_name),
        ("before_arguments", &form.before_arguments),
        ("close", &form.close),
        ("section_close", &form.section_close),
        ("parameter.open", &parameter.open),
        ("parameter.middle", &parameter.middle),
        ("parameter.close", &parameter.close),
    ] {
        if list.len() > MAX_TOKENS || list.iter().any(|token| token.is_empty() || token.len() > MAX_TOKEN) {
            return Err(NotationProblem::new(
                text,
                place,
                &format!("`{key}`: write at most {MAX_TOKENS} tokens of 1 to {MAX_TOKEN} bytes each"),
            ));
        }
    }
    let is_described = !parameter.open.is_empty() && !parameter.middle.is_empty() && !parameter.close.is_empty();
    if form.body == NotationBody::Parameters && !is_described {
        return Err(NotationProblem::new(
            text,
            place,
            "`parameter`: `body = \"parameters\"` requires its `open`, `middle` and `close`",
        ));
    }
    if form.body != NotationBody::Parameters && parameter != ParameterTokens::default() {
        return Err(NotationProblem::new(
            text,
            place,
            "`parameter`: requires `body = \"parameters\"`; set `body`, or remove `parameter`",
        ));
    }
    if form.paired && (form.close.len() != open.len() || form.body != NotationBody::Calls) {
        return Err(NotationProblem::new(
            text,
            place,
            "`paired`: requires `body = \"calls\"` and as many closers as openers",
        ));
    }
    Ok(NotationTokens {
        section,
        open,
        before_name: form.before_name,
        after_name: form.after_name,
        before_arguments: form.before_arguments,
        body: form.body,
        parameter,
        close: form.close,
        section_close: form.section_close,
        optional: form.optional,
        is_paired: form.paired,
        is_numbered: form.numbered,
        values: form.values,
    })
}

/// Notation names from files in this process. Traces, metrics and diagnoses keep them for the lifetime of the process,
/// so each name is stored once.
static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// Maximum number of names that files may add over the lifetime of a process.
const MAX_NAMES: usize = 1024;

/// Interns the name for the lifetime of the process; `None` if there are too many names.
fn interned(name: &str) -> Option<&'static str> {
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return Some(known);
    }
    if names.len() >= MAX_NAMES {
        return None;
    }
    let kept: &'static str = Box::leak(name.to_owned().into_boxed_str());
    names.insert(kept);
    Some(kept)
}
