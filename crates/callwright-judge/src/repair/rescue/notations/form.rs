//! Forms of notations, and the parsers of those that markers alone describe.

use super::Notation;
use crate::repair::rescue::call_names::{in_header, offered};
use crate::repair::rescue::element::{self, skip_end_tags, typed};
use crate::repair::rescue::literal::{Literal, LiteralReader};
use crate::repair::rescue::written::WrittenCall;
use crate::repair::rescue::{body, python};
use callwright_scanner::{CompiledTool, ToolSet};

/// Parses the calls at the reader's position. On success, the reader is positioned after the last closing marker.
type ReadCalls = fn(&mut LiteralReader<'_>, &ToolSet) -> Option<Vec<WrittenCall>>;

/// Form of the text behind an opener.
#[derive(Debug)]
pub(super) enum Form {
    /// A form with its own reader, which begins at the opener.
    AtMark(ReadCalls),
    /// A form with its own reader, which begins after the opener.
    BehindMark(ReadCalls),
    /// One call with elements, after which no unmatched end tag remains.
    Element(fn(&mut LiteralReader<'_>, &ToolSet) -> Option<WrittenCall>),
    /// Whole calls as JSON, code or elements, and a closer that may be missing.
    Calls {
        /// Markers before the calls, which may be missing.
        before: &'static [&'static str],
        /// Whether a closer belongs to the opener at the same index.
        is_paired: bool,
    },
    /// The tool's name and its arguments.
    Call(CallMarkers),
}

/// Markers within one call. Those of a list are alternatives; with an empty one, all may be missing.
#[derive(Debug)]
pub(super) struct CallMarkers {
    /// Markers around several calls, all of which may be missing.
    pub(super) section: &'static [&'static str],
    pub(super) section_close: &'static [&'static str],
    pub(super) before_name: &'static [&'static str],
    pub(super) after_name: &'static [&'static str],
    pub(super) before_arguments: &'static [&'static str],
    /// The markers of each argument; `None` if the arguments are an object, after which the closer may be missing.
    pub(super) argument: Option<ArgumentMarkers>,
    /// Whether a colon and a number follow the tool's name.
    pub(super) is_numbered: bool,
}

/// The markers before an argument's name, between name and value, and after the value.
#[derive(Debug)]
pub(super) struct ArgumentMarkers {
    pub(super) open: &'static str,
    pub(super) middle: &'static str,
    pub(super) close: &'static str,
}

/// A call with an opener alone.
pub(super) const CALL: CallMarkers = CallMarkers {
    section: &[],
    section_close: &[],
    before_name: &[],
    after_name: &[],
    before_arguments: &[],
    argument: None,
    is_numbered: false,
};

impl Form {
    pub(super) fn section(&self) -> &'static [&'static str] {
        if let Self::Call(markers) = self { markers.section } else { &[] }
    }

    /// Returns the markers besides the opener and the closer of a call.
    pub(super) fn markers(&self) -> Vec<&'static str> {
        match self {
            Self::AtMark(_) | Self::BehindMark(_) | Self::Element(_) => Vec::new(),
            Self::Calls { before, .. } => before.to_vec(),
            Self::Call(call) => {
                let lists =
                    [call.section, call.section_close, call.before_name, call.after_name, call.before_arguments];
                let argument =
                    call.argument.iter().flat_map(|argument| [argument.open, argument.middle, argument.close]);
                lists.into_iter().flatten().copied().chain(argument).collect()
            }
        }
    }
}

/// Parses whole calls, with their closer.
pub(super) fn calls(
    notation: &Notation,
    before: &[&str],
    is_paired: bool,
    reader: &mut LiteralReader<'_>,
    tool_set: &ToolSet,
) -> Option<Vec<WrittenCall>> {
    let open = take_one(reader, notation.open)?;
    take_one(reader, before);
    let closes = if is_paired { notation.close.get(open..=open)? } else { notation.close };
    let calls = body::read(reader, tool_set, closes)?;
    if !is_paired {
        skip_end_tags(reader, closes);
    }
    Some(calls.into_iter().map(|call| without_method(call, tool_set)).collect())
}

impl CallMarkers {
    /// Parses consecutive calls, with their section.
    pub(super) fn read(
        &self,
        notation: &Notation,
        reader: &mut LiteralReader<'_>,
        tool_set: &ToolSet,
    ) -> Option<Vec<WrittenCall>> {
        let begins = |reader: &mut LiteralReader<'_>| {
            take_one(reader, self.section);
            reader.skip_space().is_some() && take_one(reader, notation.open).is_some()
        };
        let calls = body::consecutive(reader, begins, |reader| self.call(notation, reader, tool_set))?;
        skip_end_tags(reader, self.section_close);
        Some(calls)
    }

    /// Parses one call after its opener, with its closer. If the opener is not reserved, the tool must be offered.
    fn call(
        &self,
        notation: &Notation,
        reader: &mut LiteralReader<'_>,
        tool_set: &ToolSet,
    ) -> Option<Vec<WrittenCall>> {
        reader.skip_space()?;
        take_required(reader, self.before_name)?;
        reader.skip_space()?;
        if !self.before_name.is_empty() && reader.rest().starts_with('<') {
            let calls = element::calls(reader, tool_set)?;
            skip_end_tags(reader, notation.close);
            return Some(calls);
        }
        let name = self.name(reader, tool_set)?;
        let tool = offered(&name, tool_set);
        if tool.is_none() && !notation.is_reserved() {
            return None;
        }
        reader.skip_space()?;
        take_required(reader, self.after_name)?;
        reader.skip_space()?;
        take_required(reader, self.before_arguments)?;
        if let Some(argument) = &self.argument {
            let members = argument.members(notation, reader, tool)?;
            return Some(vec![WrittenCall::named(name, members)]);
        }
        let arguments = body::arguments(reader, notation.close)?;
        if !notation.is_reserved() && describes(&arguments) {
            return None;
        }
        skip_end_tags(reader, notation.close);
        Some(vec![WrittenCall::with_arguments(name, &arguments)?])
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
}

impl ArgumentMarkers {
    /// Parses the arguments up to the closer of the call, which is consumed.
    fn members(
        &self,
        notation: &Notation,
        reader: &mut LiteralReader<'_>,
        tool: Option<&CompiledTool>,
    ) -> Option<Vec<(String, Literal)>> {
        let mut members: Vec<(String, Literal)> = Vec::new();
        loop {
            reader.skip_space()?;
            if reader.take(self.open) {
                let key = reader.up_to(self.middle)?.trim().to_owned();
                let value = typed(self.value(notation, reader)?, &key, tool);
                members.push((key, value));
            } else if take_one(reader, notation.close).is_some() || reader.rest().is_empty() && reader.completes() {
                return Some(members);
            } else {
                return None;
            }
        }
    }

    /// Parses a value. It ends at the first closer after which the call continues or ends, or at the only closer.
    fn value<'a>(&self, notation: &Notation, reader: &mut LiteralReader<'a>) -> Option<&'a str> {
        let rest = reader.rest();
        let mut found = None;
        let (mut at, mut count, mut continued) = (0, 0, false);
        while let Some(length) = rest.get(at..)?.find(self.close) {
            let end = at + length;
            at = end + self.close.len();
            count += 1;
            let behind = rest.get(at..)?.trim_start();
            let mut next = notation.open.iter().chain(notation.close);
            continued =
                behind.is_empty() || behind.starts_with(self.open) || next.any(|marker| behind.starts_with(*marker));
            if continued {
                (found, count) = (Some(end), 1);
                break;
            }
            // Two consecutive closers: one is surplus, or one is text.
            if behind.starts_with(self.close) {
                return None;
            }
            found = found.or(Some(end));
        }
        reader.burn(if count == 1 { at } else { rest.len() });
        // Truncated text may have had another end.
        let end = found.filter(|_| count == 1 && (reader.may_complete || continued))?;
        let text = rest.get(..end)?;
        reader.advance(end + self.close.len())?;
        Some(text)
    }
}

/// Consumes the longest matching marker, and returns its index in the list.
pub(super) fn take_one(reader: &mut LiteralReader<'_>, markers: &[&str]) -> Option<usize> {
    let rest = reader.rest();
    let matching = markers.iter().enumerate().filter(|(_, marker)| rest.starts_with(**marker));
    let (index, marker) = matching.max_by_key(|(_, marker)| marker.len())?;
    reader.advance(marker.len())?;
    Some(index)
}

/// Consumes one of the markers, if there are any.
fn take_required(reader: &mut LiteralReader<'_>, markers: &[&str]) -> Option<()> {
    (markers.is_empty() || take_one(reader, markers).is_some()).then_some(())
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
