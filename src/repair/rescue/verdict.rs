//! Is a text a call, or about one? Weighs what stands around the calls found in it.

use std::ops::Range;

use super::layout::{Block, Fence, Layout, Piece};
use super::no_call::{Reason, diagnose};
use super::written::Unresolved;
use super::{Reading, Rescued, Situation, prose};
use crate::domain::rules::Evidence;
use crate::domain::{Call, ids};
use crate::scanner::Toolbook;

/// Decides what a text is.
pub(super) fn weigh(text: &str, layout: &Layout<'_>, toolbook: &Toolbook, situation: &Situation<'_>) -> Reading {
    if layout.has_too_many {
        return Reading::Text;
    }
    let blocks = blocks(layout, situation);
    let is_marked = blocks.iter().any(|block| block.is_marked);
    if let Some(broken) = broken(layout, situation).filter(|_| blocks.is_empty() || is_marked) {
        let reason = if situation.cut_off { Reason::CutOff } else { Reason::Unreadable };
        let near = text.get(broken.span.start..).unwrap_or_default();
        return Reading::NoCall(diagnose(broken.notation, &reason, near, toolbook));
    }
    let Some(first) = blocks.first() else { return Reading::Text };
    let Some(evidence) = evidence(layout, is_marked).filter(|evidence| *evidence <= situation.evidence) else {
        return Reading::Text;
    };
    let mut calls: Vec<Call> = Vec::new();
    for block in &blocks {
        for written in &block.calls {
            match written.resolve(toolbook) {
                Ok(resolved) => calls.extend(resolved.into_iter().map(|(name, arguments)| Call {
                    id: ids::call_id(),
                    name,
                    arguments,
                })),
                Err(_) if evidence > Evidence::Alone => return Reading::Text,
                Err(unresolved) => {
                    let near = text.get(block.span.clone()).unwrap_or_default();
                    return Reading::NoCall(diagnose(block.notation, &reason(unresolved), near, toolbook));
                }
            }
        }
    }
    if situation.allowed.is_some_and(|allowed| calls.iter().any(|call| !allowed.contains(&call.name))) {
        return Reading::Text;
    }
    let spans = spans(layout, &blocks, situation.sent);
    Reading::Calls(Rescued { calls, notation: first.notation, evidence, text: left(text, &spans), spans })
}

fn reason(unresolved: Unresolved) -> Reason {
    match unresolved {
        Unresolved::Name(name) => Reason::UnknownTool { name },
        Unresolved::Arguments(name) => Reason::Arguments { name },
    }
}

/// The blocks that count: marked ones alone, where there are any; none that the client has, none that say again what an
/// earlier one said.
fn blocks<'a>(layout: &'a Layout<'_>, situation: &Situation<'_>) -> Vec<&'a Block> {
    let all = || {
        layout.pieces.iter().filter_map(|piece| match piece {
            Piece::Calls(block) => Some(block),
            _ => None,
        })
    };
    let any_marked = all().any(|block| block.is_marked);
    let mut blocks: Vec<&Block> = Vec::new();
    for block in all() {
        let is_answer = situation.json_wanted && !block.is_marked && block.notation == "json";
        let is_program = !block.is_marked && fence(layout, block).is_some_and(|fence| fence.holds_code);
        let is_repeated = blocks.iter().any(|earlier| earlier.fence != block.fence && earlier.calls == block.calls);
        if block.is_marked == any_marked && block.start >= situation.sent && !is_answer && !is_program && !is_repeated {
            blocks.push(block);
        }
    }
    blocks
}

/// The fence that the calls stand in.
fn fence<'a>(layout: &'a Layout<'_>, block: &Block) -> Option<&'a Fence> {
    layout.fences.get(block.fence?)
}

/// The first mark without a call, where the client has not got it.
fn broken<'a>(layout: &'a Layout<'_>, situation: &Situation<'_>) -> Option<&'a super::layout::Broken> {
    layout.pieces.iter().find_map(|piece| match piece {
        Piece::Broken(broken) if broken.span.start >= situation.sent => Some(broken.as_ref()),
        _ => None,
    })
}

/// How sure it is that the text is a call; `None` where it is a text about one.
fn evidence(layout: &Layout<'_>, is_marked: bool) -> Option<Evidence> {
    let is_call = |piece: &Piece<'_>| matches!(piece, Piece::Calls(block) if block.is_marked == is_marked);
    let last = layout.pieces.iter().rposition(is_call)?;
    let (before, after) = layout.pieces.split_at(last);
    if lines(after).any(prose::declines) {
        return None;
    }
    if is_marked {
        // What is shown in a fence of its own may be an example, marks and all.
        let is_shown = matches!(layout.pieces.get(last), Some(Piece::Calls(block)) if block.fence.is_some());
        return (!(is_shown && lines(before).any(prose::teaches))).then_some(Evidence::Marked);
    }
    if lines(after).next().is_none() && lines(before).all(prose::announces) {
        return Some(Evidence::Alone);
    }
    let is_about = |line: &str| prose::teaches(line) || prose::declines(line);
    let first = layout.pieces.iter().position(is_call)?;
    let introduction = layout.pieces.get(..first).and_then(|pieces| lines(pieces).last());
    let is_presented = introduction.is_some_and(prose::presents);
    if !is_presented && lines(before).any(is_about) { None } else { Some(Evidence::Amid) }
}

fn lines<'a>(pieces: &[Piece<'a>]) -> impl Iterator<Item = &'a str> {
    pieces.iter().filter_map(|piece| match piece {
        Piece::Prose(line) => Some(*line),
        _ => None,
    })
}

/// The parts of the text that the calls take up: a fence as a whole, where it holds nothing else.
fn spans(layout: &Layout<'_>, blocks: &[&Block], sent: usize) -> Vec<Range<usize>> {
    let mut spans: Vec<Range<usize>> = Vec::new();
    for block in blocks {
        let fence = fence(layout, block).filter(|fence| !fence.holds_code);
        let span = fence.map_or(&block.span, |fence| &fence.span);
        // A list mark or an assignment before the call may have been sent.
        let span = span.start.max(sent)..span.end;
        match spans.last_mut() {
            Some(last) if last.end >= span.start => last.end = last.end.max(span.end),
            _ => spans.push(span),
        }
    }
    spans
}

/// The text without the spans; empty where only white space is left.
fn left(text: &str, spans: &[Range<usize>]) -> String {
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
