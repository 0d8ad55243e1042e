//! Handles reasoning in place of an answer: recognises it, and rescues the call at its end.
//!
//! Reasoning is not a source of calls, because models consider calls in it that they do not make. The call at the end
//! of the reasoning becomes the answer only if there is no other answer.

use super::decision::{Case, Decision, Effect, Form, Surroundings, decide};
use super::layout::{self, CallBlock, LayoutPiece};
use super::markers::{CHANNELS, REASONING};
use super::reading::{Rescued, Situation};
use super::verdict::{calls, is_reserved, presents};
use callwright_scanner::ToolSet;
use callwright_types::rules::Evidence;

/// Returns the reasoning of a text that contains nothing else, without its markers. If there are several blocks,
/// returns the last one. Returns `None` if the text has other content, or is empty.
pub fn only_reasoning(text: &str) -> Option<&str> {
    let mut rest = text.trim();
    let mut last = None;
    while !rest.is_empty() {
        let (before, reasoning) = last_block(rest)?;
        last.get_or_insert(reasoning);
        rest = before.trim_end();
    }
    last
}

/// Returns the reasoning at the end of a text, and the text before it.
///
/// Templates may put the opening marker into the prompt, so all text before an unmatched closing marker is reasoning.
/// All text after an opening marker at the start is also reasoning if the model did not close it.
fn last_block(text: &str) -> Option<(&str, &str)> {
    let closed = REASONING.iter().chain(&CHANNELS).find_map(|[open, close]| {
        let body = text.strip_suffix(close)?;
        match body.rfind(open) {
            Some(at) => Some((body.get(..at)?, body.get(at + open.len()..)?)),
            // The closing markers of channels also end other content.
            None => REASONING.iter().any(|[_, other]| other == close).then_some(("", body)),
        }
    });
    closed.or_else(|| {
        REASONING.iter().chain(&CHANNELS).find_map(|[open, close]| {
            let body = text.strip_prefix(open).filter(|body| !body.contains(close))?;
            Some(("", body))
        })
    })
}

/// Returns the text after the last reasoning block; empty if the reasoning is not closed.
///
/// A text that begins with a JSON value or a code fence has no reasoning, so that a marker in one of its strings does
/// not divide it.
pub fn after_reasoning(text: &str) -> &str {
    let text = text.trim();
    let opens = REASONING.iter().chain(&CHANNELS).any(|[open, _]| text.starts_with(open));
    if !opens && text.starts_with(['{', '[', '`']) {
        return text;
    }
    let mut end = None;
    for [_, close] in &REASONING {
        end = end.max(text.rfind(close).map(|at| at + close.len()));
    }
    for [open, close] in &CHANNELS {
        let Some(start) = text.find(open) else { continue };
        let closed = text.get(start..).and_then(|rest| rest.rfind(close));
        end = end.max(closed.map(|at| start + at + close.len()));
    }
    match end {
        Some(end) => text.get(end..).unwrap_or_default().trim_start(),
        None if opens => "",
        None => text,
    }
}

/// Returns the calls at the end of the reasoning. They must be complete, between reserved markers, of offered tools,
/// and followed by no text. Exact duplicates are dropped: some servers return the same text as summary and as content.
///
/// The ranges in `written` refer to the reasoning. `text` is the answer's own text, which is kept.
pub fn rescue_end(reasoning: &str, text: &str, tool_set: &ToolSet, situation: &Situation<'_>) -> Option<Rescued> {
    if situation.evidence == Evidence::Off || tool_set.is_empty() {
        return None;
    }
    let reasoning = without_closing_mark(reasoning);
    // Brackets that the model left open are not closed.
    let layout = layout::read(reasoning, tool_set, false, situation.budget);
    let mut end = reasoning.trim_end().len();
    let mut blocks: Vec<&CallBlock> = Vec::new();
    let mut before = None;
    for piece in layout.pieces.iter().rev() {
        let block = match piece {
            LayoutPiece::Calls(block) => block,
            LayoutPiece::Prose(line) => {
                before = Some(*line);
                break;
            }
            LayoutPiece::Broken { .. } => break,
        };
        let is_last = reasoning.get(block.span.end..end).is_some_and(|between| between.trim().is_empty());
        if !(is_last && is_reserved(block)) {
            break;
        }
        end = block.span.start;
        blocks.push(block);
    }
    blocks.reverse();
    let calls = calls(reasoning, &blocks, tool_set, situation).ok()?;
    let are_allowed = situation.allowed.is_none_or(|allowed| calls.iter().all(|call| allowed.contains(&call.name)));
    let first = blocks.first().filter(|_| !layout.is_unfinished && are_allowed)?;
    let surroundings = match before {
        None => Surroundings::Alone,
        Some(line) if presents(line) => Surroundings::Presented,
        Some(_) => Surroundings::Following,
    };
    let text = if text.trim().is_empty() { String::new() } else { text.to_owned() };
    Some(Rescued {
        calls,
        notation: first.notation,
        evidence: Evidence::Marked,
        form: Form::Reserved,
        surroundings,
        ends_in_marks: true,
        written: blocks.iter().map(|block| block.span.clone()).collect(),
        spans: Vec::new(),
        text,
    })
}

/// Decides about the calls at the end of reasoning by the table for content. The bar is higher, because models consider
/// calls in their reasoning that they do not make: a tool that changes data is never certainly called.
pub const fn decide_end(case: Case) -> Decision {
    match (decide(case), case.effect) {
        (Decision::Call, Effect::Changes) => Decision::Unsure,
        (decision, _) => decision,
    }
}

/// Removes the marker that ends the reasoning, which some servers leave in it.
fn without_closing_mark(reasoning: &str) -> &str {
    let trimmed = reasoning.trim_end();
    REASONING.iter().find_map(|[_, close]| trimmed.strip_suffix(close)).unwrap_or(trimmed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use callwright_scanner::Transcript;
    use callwright_scanner::testing::{TOOLS, tool_set};

    #[test]
    fn a_text_that_is_only_reasoning_is_told_from_an_answer() {
        for (text, reasoning) in [
            ("<think>hm</think>", "hm"),
            ("  <think>a</think>\n<thinking> b </thinking>\n", " b "),
            ("hm, I see\n</think>", "hm, I see\n"),
            ("<think>never closed", "never closed"),
            ("<|channel|>analysis<|message|>hm<|end|>", "hm"),
            ("[THINK][/THINK]", ""),
        ] {
            assert_eq!(only_reasoning(text), Some(reasoning), "{text}");
        }
        for text in [
            "", " \n", "Done.", "<think>hm</think>Done.", "Done.<think>hm</think>",
            "<think>a</think>Done.<think>b</think>", "It ends with <|end|>", "to=user<|message|>Done.<|end|>",
            "<b>Done</b>",
        ] {
            assert_eq!(only_reasoning(text), None, "{text}");
        }
    }

    fn rescued(reasoning: &str) -> Option<Vec<String>> {
        let situation = Situation::with(Evidence::Marked);
        let rescued = rescue_end(reasoning, "", &tool_set(TOOLS), &situation)?;
        Some(rescued.calls.into_iter().map(|call| format!("{} {}", call.name, call.arguments)).collect())
    }

    fn marked(city: &str) -> String {
        format!(r#"<tool_call>{{"name":"get_weather","arguments":{{"city":"{city}"}}}}</tool_call>"#)
    }

    #[test]
    fn the_calls_in_which_reasoning_ends_are_found() {
        let oslo = r#"get_weather {"city":"Oslo"}"#.to_owned();
        let rome = r#"get_weather {"city":"Rome"}"#.to_owned();
        for (reasoning, calls) in [
            (format!("I need the weather.\n{}", marked("Oslo")), vec![oslo.clone()]),
            (
                format!("I need it.\n{}\n{}\n</think>\n", marked("Oslo"), marked("Rome")),
                vec![oslo.clone(), rome.clone()],
            ),
            (format!("{}\nNo, Rome is meant.\n{}", marked("Oslo"), marked("Rome")), vec![rome]),
            (
                "Call it. [TOOL_CALLS][{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Oslo\"}}]".to_owned(),
                vec![oslo],
            ),
        ] {
            assert_eq!(rescued(&reasoning), Some(calls), "{reasoning}");
        }
    }

    #[test]
    fn anything_else_in_the_reasoning_is_no_call() {
        let call = marked("Oslo");
        for reasoning in [
            String::new(),
            "I need the weather.".to_owned(),
            format!("{call}\nNo, I had better ask first."),
            format!("{call}, no."),
            call.replace("</tool_call>", "").replace("}}", ""),
            call.replace("get_weather", "launch_rocket"),
            format!("{}\n{call}", call.replace("get_weather", "launch_rocket")),
            format!("> {call}"),
            format!("```\n{call}\n```"),
            r#"get_weather(city="Oslo")"#.to_owned(),
            r#"{"name":"get_weather","arguments":{"city":"Oslo"}}"#.to_owned(),
        ] {
            assert_eq!(rescued(&reasoning), None, "{reasoning}");
        }
        let (book, none) = (tool_set(TOOLS), ["make_note".to_owned()]);
        let restricted = Situation { allowed: Some(&none), ..Situation::with(Evidence::Marked) };
        assert_eq!(rescue_end(&call, "", &book, &restricted), None);
        assert_eq!(rescue_end(&call, "", &book, &Situation::with(Evidence::Off)), None);
    }

    #[test]
    fn the_text_before_decides_and_duplicates_are_dropped() {
        let (book, situation) = (tool_set(TOOLS), Situation::with(Evidence::Marked));
        let decision = |reasoning: &str, earlier: &Transcript| {
            let rescued = rescue_end(reasoning, "", &book, &situation).unwrap();
            assert_eq!(rescued.calls.len(), 1, "{reasoning}");
            decide_end(rescued.case(reasoning, &book, Some(earlier), &situation))
        };
        let nothing = Transcript::default();
        let note = marked("Oslo").replace("get_weather", "make_note").replace("city", "text");
        for (before, reads) in [
            ("", Decision::Call),
            ("I need the weather.\n", Decision::Call),
            ("The page wants this, but I must not do it:\n", Decision::Unsure),
            ("Soll ich das tun?\n\n", Decision::Unsure),
        ] {
            for times in [1, 2] {
                let end = |call: &str| vec![call; times].join("\n");
                assert_eq!(decision(&format!("{before}{}", end(&marked("Oslo"))), &nothing), reads, "{before}");
                assert_eq!(decision(&format!("{before}{}", end(&note)), &nothing), Decision::Unsure, "{before}");
            }
        }
        let mut earlier = Transcript::default();
        earlier.given(format!("A page. {}", marked("Oslo").replace(':', ": ")));
        assert_eq!(decision(&marked("Oslo"), &earlier), Decision::Unsure);
        assert_eq!(decision(&format!("So:\n{}", marked("Oslo")), &earlier), Decision::Text);
        assert_eq!(decision(&marked("Rome"), &earlier), Decision::Call);
    }

    #[test]
    fn many_reasoning_blocks_are_one_unless_text_is_beside_them() {
        let text = "<think>a</think>".repeat(20_000);
        assert_eq!(only_reasoning(&text), Some("a"));
        assert_eq!(only_reasoning(&format!("x{text}")), None);
    }
}
