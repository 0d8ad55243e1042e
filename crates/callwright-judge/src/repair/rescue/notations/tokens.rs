//! Parses notations that the table describes by their tokens: opener, name, arguments and closer.

use serde::Deserialize;

use super::super::call_names::{in_header, offered};
use super::super::element::{skip_end_tags, typed};
use super::super::extent::{Breaks, inner_text};
use super::super::literal::{Literal, LiteralReader};
use super::super::written::WrittenCall;
use super::super::{body, python};
use crate::scanner::{CompiledTool, ToolSet};

/// Content of a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum NotationBody {
    /// The tool's name, and an object with the arguments.
    #[default]
    Object,
    /// The tool's name, and each argument between separate tokens.
    Parameters,
    /// Whole calls, as JSON, code or elements.
    Calls,
}

/// Handling of line breaks next to the tokens of an argument.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Values {
    /// Line breaks belong to the value.
    #[default]
    Exact,
    /// One line break on either side belongs to the layout.
    Lines,
}

/// A part that may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum OptionalPart {
    /// The tokens before the name.
    BeforeName,
    /// The tokens after the name.
    AfterName,
    /// The tokens before the arguments.
    BeforeArguments,
    /// The closer of a call.
    Close,
    /// The closer of a section.
    SectionClose,
}

/// The tokens around an argument.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ParameterTokens {
    /// Tokens before the name.
    pub(super) open: Vec<String>,
    /// Tokens between the name and the value.
    pub(super) middle: Vec<String>,
    /// Tokens after the value.
    pub(super) close: Vec<String>,
}

/// The tokens of a notation. The tokens of a list are alternatives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NotationTokens {
    pub(super) section: Vec<String>,
    pub(super) open: Vec<String>,
    pub(super) before_name: Vec<String>,
    pub(super) after_name: Vec<String>,
    pub(super) before_arguments: Vec<String>,
    pub(super) body: NotationBody,
    pub(super) parameter: ParameterTokens,
    pub(super) close: Vec<String>,
    pub(super) section_close: Vec<String>,
    pub(super) optional: Vec<OptionalPart>,
    /// Whether a closer belongs to the opener at the same index.
    pub(super) is_paired: bool,
    /// Whether a colon and a number follow the tool's name.
    pub(super) is_numbered: bool,
    pub(super) values: Values,
}

impl NotationTokens {
    /// Returns all tokens.
    pub(super) fn all(&self) -> impl Iterator<Item = &String> {
        let parameter = &self.parameter;
        let lists = [
            &self.section,
            &self.open,
            &self.before_name,
            &self.after_name,
            &self.before_arguments,
            &parameter.open,
            &parameter.middle,
            &parameter.close,
            &self.close,
            &self.section_close,
        ];
        lists.into_iter().flatten()
    }

    /// Parses the calls at the reader's position. If the markers are not `reserved`, the tool must be offered.
    pub(super) fn read(
        &self,
        reader: &mut LiteralReader<'_>,
        tool_set: &ToolSet,
        reserved: bool,
    ) -> Option<Vec<WrittenCall>> {
        let mut calls = Vec::new();
        loop {
            let before = reader.at();
            reader.skip_space()?;
            if take_any(reader, &self.section) {
                reader.skip_space()?;
            }
            let Some(open) = take_one(reader, &self.open) else {
                reader.go(before);
                break;
            };
            if self.body == NotationBody::Calls {
                calls.extend(self.calls(reader, tool_set, open)?);
                break;
            }
            calls.push(self.call(reader, tool_set, reserved)?);
        }
        if calls.is_empty() {
            return None;
        }
        let before = reader.at();
        skip_end_tags(reader, &self.section_close);
        let is_closed =
            reader.at() > before || self.section_close.is_empty() || self.may_miss(OptionalPart::SectionClose);
        is_closed.then_some(calls)
    }

    fn may_miss(&self, part: OptionalPart) -> bool {
        self.optional.contains(&part)
    }

    /// Consumes one of the tokens; false if a token is required and missing.
    fn takes(&self, reader: &mut LiteralReader<'_>, tokens: &[String], part: OptionalPart) -> bool {
        tokens.is_empty() || take_any(reader, tokens) || self.may_miss(part)
    }

    /// Parses whole calls after the opener at index `open`, with their closer.
    fn calls(&self, reader: &mut LiteralReader<'_>, tool_set: &ToolSet, open: usize) -> Option<Vec<WrittenCall>> {
        take_any(reader, &self.before_name);
        let own = if self.is_paired { self.close.get(open..=open)? } else { self.close.as_slice() };
        let closes: Vec<&str> = own.iter().map(String::as_str).collect();
        let calls = body::read(reader, tool_set, &closes)?;
        let is_closed = closes.is_empty() || {
            let before = reader.text().get(..reader.at()).unwrap_or_default();
            closes.iter().any(|close| before.ends_with(close))
        };
        if !is_closed && !self.may_miss(OptionalPart::Close) {
            return None;
        }
        if !self.is_paired {
            skip_end_tags(reader, &self.close);
        }
        Some(calls.into_iter().map(|call| without_method(call, tool_set)).collect())
    }

    /// Parses one call after its opener, with its closer.
    fn call(&self, reader: &mut LiteralReader<'_>, tool_set: &ToolSet, reserved: bool) -> Option<WrittenCall> {
        reader.skip_space()?;
        self.takes(reader, &self.before_name, OptionalPart::BeforeName).then_some(())?;
        reader.skip_space()?;
        let name = self.name(reader, tool_set)?;
        let tool = offered(&name, tool_set);
        if tool.is_none() && !reserved {
            return None;
        }
        reader.skip_space()?;
        self.takes(reader, &self.after_name, OptionalPart::AfterName).then_some(())?;
        reader.skip_space()?;
        self.takes(reader, &self.before_arguments, OptionalPart::BeforeArguments).then_some(())?;
        if self.body == NotationBody::Parameters {
            let members = self.parameters(reader, tool)?;
            return Some(WrittenCall::named(name, members));
        }
        let closes: Vec<&str> = self.close.iter().map(String::as_str).collect();
        let arguments = body::arguments(reader, &closes)?;
        if !reserved && describes(&arguments) {
            return None;
        }
        let before = reader.at();
        skip_end_tags(reader, &self.close);
        let is_closed = reader.at() > before || self.close.is_empty() || self.may_miss(OptionalPart::Close);
        is_closed.then(|| WrittenCall::with_arguments(name, &arguments))?
    }

    fn name(&self, reader: &mut LiteralReader<'_>, tool_set: &ToolSet) -> Option<String> {
        let name = python::name(reader)?;
        if !self.is_numbered {
            return Some(name);
        }
        let name = in_header(name, tool_set);
        Some(match name.rsplit_once(':') {
            Some((bare, _)) if offered(&name, tool_set).is_none() => bare.to_owned(),
            _ => name,
        })
    }

    /// Parses the arguments up to the closer, which is consumed.
    fn parameters(
        &self,
        reader: &mut LiteralReader<'_>,
        tool: Option<&CompiledTool>,
    ) -> Option<Vec<(String, Literal)>> {
        let mut members: Vec<(String, Literal)> = Vec::new();
        loop {
            let before = reader.at();
            reader.skip_space()?;
            if take_any(reader, &self.parameter.open) {
                let (key, _) = up_to_any(reader, &self.parameter.middle)?;
                let key = key.trim().to_owned();
                let text = self.value(reader)?;
                let value = typed(text, &key, tool);
                members.push((key, value));
            } else if take_any(reader, &self.close)
                || self.close.is_empty() && !members.is_empty()
                || reader.rest().is_empty() && reader.completes()
            {
                return Some(members);
            } else if self.may_miss(OptionalPart::Close) && !members.is_empty() && reader.may_complete() {
                reader.go(before);
                return Some(members);
            } else {
                return None;
            }
        }
    }

    /// Parses a value. It ends at the first closer after which the call continues or ends, or at the only closer.
    fn value<'a>(&self, reader: &mut LiteralReader<'a>) -> Option<&'a str> {
        let rest = reader.rest();
        let mut found: Option<(usize, usize)> = None;
        let mut at = 0;
        let mut count = 0;
        let mut continued = false;
        while let Some((length, close)) = next_of(rest.get(at..)?, &self.parameter.close) {
            let end = at + length;
            let behind = rest.get(end + close..)?.trim_start();
            count += 1;
            let continues = behind.is_empty()
                || [&self.parameter.open, &self.close, &self.section_close, &self.open]
                    .into_iter()
                    .flatten()
                    .any(|token| behind.starts_with(token.as_str()));
            found = if continues || found.is_none() { Some((end, close)) } else { found };
            // Two consecutive closers: one is surplus, or one is text.
            if !continues && self.parameter.close.iter().any(|token| behind.starts_with(token.as_str())) {
                return None;
            }
            at = end + close;
            if continues {
                count = 1;
                continued = true;
                break;
            }
        }
        reader.burn(if count == 1 { at } else { rest.len() });
        // Truncated text may have had another end.
        let (end, close) = found.filter(|_| count == 1 && (reader.may_complete() || continued))?;
        let text = rest.get(..end)?;
        reader.advance(end + close)?;
        Some(match self.values {
            Values::Exact => text,
            Values::Lines => inner_text(text, Breaks::Layout),
        })
    }
}

/// Returns the position and the length of the first token in `text`.
fn next_of(text: &str, tokens: &[String]) -> Option<(usize, usize)> {
    tokens.iter().filter_map(|token| Some((text.find(token.as_str())?, token.len()))).min()
}

/// Consumes the longest matching token, and returns its index in the list.
fn take_one(reader: &mut LiteralReader<'_>, tokens: &[String]) -> Option<usize> {
    let rest = reader.rest();
    let (index, token) = tokens
        .iter()
        .enumerate()
        .filter(|(_, token)| rest.starts_with(token.as_str()))
        .max_by_key(|(_, token)| token.len())?;
    reader.advance(token.len())?;
    Some(index)
}

fn take_any(reader: &mut LiteralReader<'_>, tokens: &[String]) -> bool {
    take_one(reader, tokens).is_some()
}

/// Returns the text up to the first of the tokens, which is consumed, and the length of that token.
fn up_to_any<'a>(reader: &mut LiteralReader<'a>, tokens: &[String]) -> Option<(&'a str, usize)> {
    let rest = reader.rest();
    let Some((length, token)) = next_of(rest, tokens) else {
        reader.burn(rest.len());
        return None;
    };
    let text = rest.get(..length)?;
    reader.advance(length + token)?;
    Some((text, token))
}

/// Removes the suffix of `name.call(a=1)`: Llama writes calls of its built-in tools as method calls.
fn without_method(mut call: WrittenCall, tool_set: &ToolSet) -> WrittenCall {
    let name = call.name.strip_suffix(".call").filter(|name| offered(name, tool_set).is_some()).map(str::to_owned);
    if offered(&call.name, tool_set).is_none()
        && let Some(name) = name
    {
        call.name = name;
    }
    call
}

/// Whether an object describes the parameters, as `{"city": "string"}` does.
fn describes(arguments: &Literal) -> bool {
    let members = arguments.members().unwrap_or_default();
    let mut values = members.iter().map(|(_, value)| value.text());
    !members.is_empty() && values.all(|text| text.is_some_and(|text| python::TYPES.contains(&text)))
}
