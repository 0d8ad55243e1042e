//! Collects the calls of a text, with their markers and the content around them.

use std::collections::HashSet;
use std::ops::Range;

use super::decision::{Form, Surroundings};
use super::layout::{CallBlock, Fence, Layout, LayoutPiece};
use super::no_call::{NoCallReason, diagnose};
use super::reading::{Reading, Rescued, Situation};
use super::written::UnresolvedCall;
use super::{program, prose};
use callwright_scanner::{JudgementBudget, ToolSet};
use callwright_types::rules::Evidence;
use callwright_types::{Call, Diagnosis, ids};

/// Parses the calls of a text: all of them, or none.
pub(super) fn weigh(text: &str, layout: &Layout<'_>, tool_set: &ToolSet, situation: &Situation<'_>) -> Reading {
    let mut parts = parts(text, layout, situation);
    // A marker without a call that the client has not yet received.
    for piece in &layout.pieces {
        if let LayoutPiece::Broken { notation, start } = piece
            && *start >= situation.sent
        {
            let reason = if situation.cut_off { NoCallReason::CutOff } else { NoCallReason::Unreadable };
            let near = text.get(*start..).unwrap_or_default();
            return Reading::NoCall(diagnose(notation, &reason, near, tool_set));
        }
    }
    let has_reserved = parts.iter().filter_map(VerdictPart::block).any(is_reserved);
    if has_reserved && evidence(&parts) > situation.evidence {
        without_unmarked(&mut parts, text);
    }
    let blocks: Vec<&CallBlock> = parts.iter().filter_map(VerdictPart::block).collect();
    let Some(first) = blocks.first() else { return Reading::Text };
    let surroundings = surroundings(&parts);
    let evidence = evidence(&parts);
    if evidence > situation.evidence || is_about_calls(&parts, &blocks) {
        return Reading::Text;
    }
    if layout.is_unfinished {
        // The calls that were found are only a part of the text's calls.
        let name = first.calls.first().map(|call| call.name.clone()).unwrap_or_default();
        let near = text.get(first.span.clone()).unwrap_or_default();
        return Reading::Unfinished(diagnose(first.notation, &NoCallReason::Unfinished { name }, near, tool_set));
    }
    let calls = match calls(text, &blocks, tool_set, situation) {
        Ok(calls) => calls,
        // An example amid prose may name any tool.
        Err(_) if evidence > Evidence::Alone && !has_reserved => return Reading::Text,
        Err(diagnosis) => return Reading::NoCall(*diagnosis),
    };
    if situation.allowed.is_some_and(|allowed| calls.iter().any(|call| !allowed.contains(&call.name))) {
        return Reading::Text;
    }
    let spans = spans(text, layout, &blocks, situation.sent);
    let last = parts.last().and_then(VerdictPart::block);
    Reading::Calls(Rescued {
        calls,
        notation: first.notation,
        evidence,
        form: form(&blocks),
        surroundings,
        ends_in_marks: last.is_some_and(|block| is_reserved(block) && !is_fence(text, block)),
        written: blocks.iter().map(|block| block.span.clone()).collect(),
        text: left(text, &spans),
        spans,
    })
}

/// A piece of a text that is relevant for the decision.
enum VerdictPart<'a> {
    Prose(&'a str),
    Calls(&'a CallBlock),
}

impl<'a> VerdictPart<'a> {
    fn block(&self) -> Option<&'a CallBlock> {
        match self {
            Self::Calls(block) => Some(block),
            Self::Prose(_) => None,
        }
    }

    fn prose(&self) -> Option<&'a str> {
        match self {
            Self::Prose(line) => Some(line),
            Self::Calls(_) => None,
        }
    }
}

/// Converts the pieces to parts. Calls that do not count become prose: those of programs, those that the client already
/// received, and data if JSON was requested. Repeated calls are omitted.
fn parts<'a>(text: &'a str, layout: &'a Layout<'a>, situation: &Situation<'_>) -> Vec<VerdictPart<'a>> {
    let program = program::find(text, layout);
    let mut parts: Vec<VerdictPart<'a>> = Vec::with_capacity(layout.pieces.len());
    let mut seen: Vec<&CallBlock> = Vec::new();
    for (index, piece) in layout.pieces.iter().enumerate() {
        let block = match piece {
            LayoutPiece::Prose(line) => {
                parts.push(VerdictPart::Prose(line));
                continue;
            }
            LayoutPiece::Broken { .. } => continue,
            LayoutPiece::Calls(block) => block,
        };
        let is_answer = situation.json_wanted && !block.is_marked && block.notation == "json";
        let in_code = fence(layout, block).is_some_and(|fence| fence.holds_code);
        let is_program = !block.is_marked && (in_code || program.get(index) == Some(&true));
        if is_answer || is_program || block.start < situation.sent {
            parts.push(VerdictPart::Prose(text.get(block.span.clone()).unwrap_or_default()));
        } else if !seen.iter().any(|earlier| earlier.calls == block.calls) {
            seen.push(block);
            parts.push(VerdictPart::Calls(block));
        }
    }
    parts
}

/// Returns the weakest form of the calls. Markers in a code fence may be shown and not used.
fn form(blocks: &[&CallBlock]) -> Form {
    if blocks.iter().all(|block| is_reserved(block)) { Form::Reserved } else { Form::Plain }
}

/// Whether the reserved marker is itself a code fence, in which a call may be shown.
fn is_fence(text: &str, block: &CallBlock) -> bool {
    text.get(block.start..).is_some_and(|rest| rest.starts_with("```"))
}

/// Whether the calls are enclosed in reserved markers, outside a code fence.
pub(super) fn is_reserved(block: &CallBlock) -> bool {
    block.is_marked && block.is_reserved && block.fence.is_none()
}

fn evidence(parts: &[VerdictPart<'_>]) -> Evidence {
    if parts.iter().filter_map(VerdictPart::block).all(|block| block.is_marked) {
        return Evidence::Marked;
    }
    match surroundings(parts) {
        Surroundings::Alone => Evidence::Alone,
        _ => Evidence::Amid,
    }
}

/// Converts calls without markers, whose evidence is too weak, to prose beside those in reserved markers.
fn without_unmarked<'a>(parts: &mut [VerdictPart<'a>], text: &'a str) {
    for part in parts {
        if let VerdictPart::Calls(block) = part
            && !block.is_marked
        {
            *part = VerdictPart::Prose(text.get(block.span.clone()).unwrap_or_default());
        }
    }
}

/// Returns the position of the calls among the prose.
fn surroundings(parts: &[VerdictPart<'_>]) -> Surroundings {
    let mut before: Option<&str> = None;
    let (mut is_leading, mut is_presented) = (true, false);
    for part in parts {
        match part {
            VerdictPart::Prose(line) => before = Some(line),
            VerdictPart::Calls(block) => {
                let line = before.take();
                is_leading &= line.is_none();
                is_presented |= line.is_some_and(presents) || block.is_labelled;
            }
        }
    }
    match (is_presented, is_leading, before.is_some()) {
        (true, _, _) => Surroundings::Presented,
        (false, true, false) => Surroundings::Alone,
        (false, true, true) => Surroundings::Leading,
        (false, false, false) => Surroundings::Following,
        (false, false, true) => Surroundings::Amid,
    }
}

/// Characters at the end of a line, in any script, that announce the following text, and question marks, which leave it
/// open.
const LEADING_ON: [&str; 21] =
    [":", "：", "︰", "﹕", "፡", "፦", "꞉", "–", "—", "―", "→", "⇒", "↓", "=", "->", "=>", "?", "？", "؟", ";", "՞"];

/// Whether a line presents the text after it: by its last character, or as a heading.
pub(super) fn presents(line: &str) -> bool {
    let line = line.trim();
    let content = line.trim_end_matches(|letter: char| letter.is_whitespace() || "*_`\"'”’»)]）」』".contains(letter));
    let is_bold = line.len() > "****".len() && line.starts_with("**") && line.ends_with("**");
    line.starts_with('#') || is_bold || LEADING_ON.iter().any(|sign| content.ends_with(sign))
}

/// Whether prose shows that calls are explained or must not be made. Such phrases turn a possible call into text, never
/// the reverse.
fn is_about_calls(parts: &[VerdictPart<'_>], blocks: &[&CallBlock]) -> bool {
    let Some(last) = parts.iter().rposition(|part| part.block().is_some()) else { return false };
    let (before, after) = parts.split_at(last);
    if any_line(after, prose::declines) {
        return true;
    }
    if blocks.iter().all(|block| block.is_marked) {
        let is_shown = blocks.last().is_some_and(|block| block.fence.is_some() || !block.is_reserved);
        return is_shown && any_line(before, prose::teaches);
    }
    let first = parts.iter().position(|part| part.block().is_some()).unwrap_or_default();
    let introduction = parts.get(..first).and_then(|parts| parts.iter().rev().find_map(VerdictPart::prose));
    !introduction.is_some_and(prose::presents)
        && (any_line(before, prose::teaches) || any_line(before, prose::declines))
}

fn any_line(parts: &[VerdictPart<'_>], holds: fn(&str) -> bool) -> bool {
    parts.iter().filter_map(VerdictPart::prose).any(holds)
}

/// Resolves the calls of the blocks, without duplicates.
pub(super) fn calls(
    text: &str,
    blocks: &[&CallBlock],
    tool_set: &ToolSet,
    situation: &Situation<'_>,
) -> Result<Vec<Call>, Box<Diagnosis>> {
    let mut calls: Vec<Call> = Vec::new();
    let mut seen: HashSet<(String, String)> = HashSet::new();
    for block in blocks {
        for written in &block.calls {
            if !situation.budget.is_none_or(JudgementBudget::step) {
                return Ok(calls);
            }
            let resolved = written.resolve(tool_set, situation.expressions).map_err(|unresolved| {
                let near = text.get(block.span.clone()).unwrap_or_default();
                Box::new(diagnose(block.notation, &reason(unresolved, tool_set), near, tool_set))
            })?;
            for (name, arguments) in resolved {
                if seen.insert((name.clone(), arguments.clone())) {
                    calls.push(Call { id: ids::call_id(), name, arguments });
                }
            }
        }
    }
    Ok(calls)
}

fn reason(unresolved: UnresolvedCall, tool_set: &ToolSet) -> NoCallReason {
    match unresolved {
        UnresolvedCall::Name(name) => match tool_set.native_only(&name) {
            Some(own) => NoCallReason::Unsure { name: own.to_owned(), native_only: true },
            None => NoCallReason::UnknownTool { name },
        },
        UnresolvedCall::Arguments(name) => NoCallReason::Arguments { name },
        UnresolvedCall::Expression { name, source } => NoCallReason::Expression { name, source },
    }
}

/// Returns the code fence that contains the calls.
fn fence<'a>(layout: &'a Layout<'_>, block: &CallBlock) -> Option<&'a Fence> {
    layout.fences.get(block.fence?)
}

/// Returns the ranges of the text that are removed: the calls, and all text from invented results or messages on. A
/// code fence is removed as a whole if it contains nothing but calls.
fn spans(text: &str, layout: &Layout<'_>, blocks: &[&CallBlock], sent: usize) -> Vec<Range<usize>> {
    let mut spans: Vec<Range<usize>> = Vec::new();
    let removed = blocks.iter().map(|block| {
        let fence = fence(layout, block).filter(|fence| !fence.holds_code);
        fence.map_or(&block.span, |fence| &fence.span).clone()
    });
    for span in removed.chain(layout.invented.map(|start| start..text.len())) {
        // A list marker or an assignment before the call may have been sent.
        let span = span.start.max(sent)..span.end;
        match spans.last_mut() {
            Some(last) if last.end >= span.start => last.end = last.end.max(span.end),
            _ => spans.push(span),
        }
    }
    spans
}

/// Returns the text without the spans; empty if only white space remains.
pub(super) fn left(text: &str, spans: &[Range<usize>]) -> String {
    let mut out = String::new();
    let mut at = 0;
    for span in spans {
        out.push_str(text.get(at..span.start).unwrap_or_default());
        at = span.end;
    }
    let rest = text.get(at..).unwrap_or_default();
    if !rest.trim().is_empty() {
        out.push_str(rest);
    }
    if out.trim().is_empty() { String::new() } else { out }
}
