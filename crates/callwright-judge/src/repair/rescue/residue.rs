//! Finds what a server left of native calls in the text beside them: marks at the end of the text, and copies of the
//! calls.
//!
//! Marks are removed only where nothing readable is between them and the end, and never if they are quoted, in inline
//! code, or in a code fence. All other text stays.

use std::ops::Range;

use super::layout::{self, CallBlock, LayoutPiece};
use super::notations::residue_marks::{self, MAX_ROUNDS, MarkRun};
use super::tag::{self, TagKind};
use super::verdict::left;
use super::written::WrittenCall;
use callwright_scanner::{JudgementBudget, ToolSet};

/// Text beside native calls without what was left of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Residue {
    /// Ranges of the text that are removed.
    pub spans: Vec<Range<usize>>,
    /// The remaining text; empty if only white space remains.
    pub text: String,
    /// The first removed mark, or the notation of the first removed copy.
    pub mark: String,
}

/// Minimum number of bytes of the beginning of a mark: at the start of a line, and after text.
const LEAST_CUT: usize = 3;
const LEAST_CUT_AFTER_TEXT: usize = 5;

/// Finds the residue of a text of which the client has `sent` bytes. `is_copy` is whether calls of the text are copies of
/// native ones.
pub(crate) fn find(
    text: &str,
    sent: usize,
    tool_set: &ToolSet,
    budget: Option<&JudgementBudget>,
    is_copy: impl Fn(&[WrittenCall]) -> bool,
) -> Option<Residue> {
    // This check alone dismisses most texts.
    let has_marks = memchr::memchr3(b'<', b'[', b']', text.as_bytes()).is_some();
    if !has_marks && !text.trim_start().starts_with('{') {
        return None;
    }
    let layout = layout::read(text, tool_set, true, budget);
    if layout.is_unfinished {
        return None;
    }
    let is_alone = layout.pieces.iter().all(|piece| matches!(piece, LayoutPiece::Calls(_)));
    let blocks = layout.pieces.iter().filter_map(|piece| match piece {
        LayoutPiece::Calls(block) => Some(block.as_ref()),
        _ => None,
    });
    let (copies, others): (Vec<&CallBlock>, Vec<&CallBlock>) = blocks.partition(|block| {
        let is_evident = block.is_marked && block.is_reserved || is_alone;
        block.start >= sent && block.fence.is_none() && is_evident && is_copy(&block.calls)
    });
    // The end mark of another call is a part of it.
    let last_other = others.last().map_or(0..0, |other| other.span.clone());
    let may_start = |at: usize| at >= sent && !(last_other.start + 1..last_other.end).contains(&at);
    let (mut spans, mut end) = (Vec::new(), text.trim_end().len());
    let mut mark = copies.first().map(|copy| copy.notation.to_owned());
    for _ in 0..MAX_ROUNDS {
        let copy = copies.iter().rev().find(|copy| (copy.span.start + 1..=trimmed(text, copy.span.end)).contains(&end));
        let Some(start) = copy.map(|copy| copy.span.start).or_else(|| run(text, end, may_start)) else {
            break;
        };
        if copy.is_none() {
            // Names and attributes are not part of the mark.
            mark = mark.or_else(|| text.get(start..end)?.split('=').next().map(str::to_owned));
        }
        end = trimmed(text, start).max(sent);
    }
    spans.extend(copies.iter().filter(|copy| copy.span.end <= end).map(|copy| copy.span.clone()));
    if end < text.trim_end().len() {
        spans.push(end..text.len());
    }
    Some(Residue { text: left(text, &spans), spans, mark: mark? })
}

/// Returns the end of the text before `end` without white space.
fn trimmed(text: &str, end: usize) -> usize {
    text.get(..end).unwrap_or_default().trim_end().len()
}

/// Returns the position from which `text`, up to `end`, is only marks, if it `may_start` there.
fn run(text: &str, end: usize, may_start: impl Fn(usize) -> bool) -> Option<usize> {
    let text = text.get(..end)?;
    let MarkRun { starts, cut } = residue_marks::run(text, call_tag);
    if text.get(..*starts.last()?).is_none_or(is_before_shown) {
        return None;
    }
    // From the longest run to the shortest.
    starts.into_iter().rev().take(MAX_ROUNDS).find(|start| may_start(*start) && is_residue(text, *start, cut))
}

/// Returns the length of a tag around a call or an argument, whatever its namespace.
fn call_tag(text: &str) -> Option<usize> {
    if let Some(end) = tag::end(text) {
        return (tag::is_of_call(end.kind) || end.kind == Some(TagKind::Parameter)).then_some(end.length);
    }
    let start = tag::start(text).filter(|start| text.get(..start.length).is_some_and(|tag| tag.ends_with('>')))?;
    tag::is_of_call(start.kind).then_some(start.length)
}

/// Whether what follows a text is shown there: in a code fence, in inline code or in a quotation.
fn is_before_shown(text: &str) -> bool {
    let line = text.rsplit('\n').next().unwrap_or_default();
    line.bytes().filter(|byte| *byte == b'`').count() % 2 == 1
        || line.trim_start().starts_with('>')
        || line.ends_with(|last| "\"'`“‘«„「『([{<".contains(last))
        || is_in_fence(text)
}

/// Whether the marks from `start` on are left of a call, and not a part of the text before them. The last mark, from `cut`
/// on, may be only the beginning of one.
fn is_residue(text: &str, start: usize, cut: Option<usize>) -> bool {
    let (Some(before), Some(marks)) = (text.get(..start), text.get(start..)) else { return false };
    let is_line = before.rsplit('\n').next().is_none_or(|line| line.trim().is_empty());
    let least = if is_line { LEAST_CUT } else { LEAST_CUT_AFTER_TEXT };
    if closes_element(before, marks) || cut.is_some_and(|at| text.len() - at < least) {
        return false;
    }
    // A token of a template is no word of a sentence; a tag may be.
    let is_token =
        marks.starts_with(['[', ']']) || marks.split('>').next().is_some_and(|tag| tag.contains(['|', '｜']));
    let is_after_word = before.trim_end().ends_with(char::is_alphanumeric);
    let is_glued_end = marks.starts_with("</") && !before.ends_with(char::is_whitespace);
    is_line || is_token || !is_after_word || is_glued_end
}

/// Whether the first mark is the end tag of an element that begins in the text `before`.
fn closes_element(before: &str, marks: &str) -> bool {
    let Some(end) = marks.strip_prefix("</") else { return false };
    let name = end.split('>').next().unwrap_or_default().trim();
    !name.is_empty() && before.contains(&format!("<{name}"))
}

/// Whether a code fence is open at the end of a text.
fn is_in_fence(text: &str) -> bool {
    let mut open: Option<char> = None;
    for marker in text.lines().map(str::trim_start).filter(|line| layout::fence_marker(line).is_some()) {
        let sign = marker.chars().next();
        if open.is_none() || open == sign {
            open = if open.is_none() { sign } else { None };
        }
    }
    open.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repair::rescue::testing::tools;

    const CALL: &str = r#"{"city":"Oslo"}"#;

    /// Returns the text that remains beside a call of `get_weather`.
    fn kept(text: &str) -> String {
        let is_copy = |calls: &[WrittenCall]| {
            calls.iter().all(|call| {
                let resolved = call.resolve(tools(), callwright_types::rules::Expressions::Refuse);
                resolved.is_ok_and(|calls| calls == [("get_weather".to_owned(), CALL.to_owned())])
            })
        };
        let found = find(text, 0, tools(), None, is_copy);
        found.map_or_else(|| text.to_owned(), |found| found.text)
    }

    const MARKS: [&str; 36] = [
        "<function",
        "<tool_call>",
        "<tool_call>\n",
        "<tool_call>\n<function=get_weather>",
        "<function=get_wea",
        "<invoke name=\"get_weather\">",
        "<acme:tool_calls>",
        "</function>\n</tool_call>",
        "</parameter>\n</function>\n</tool_call>",
        "</minimax:tool_call>",
        "</think>",
        "\n\n</think>\n\n",
        "</answer>",
        "[TOOL_CALLS]",
        "[TOOL_CALLS][ARGS]",
        "[/TOOL_CALL]",
        "<|tool_call>",
        "<tool_call|>",
        "<|python_tag|>",
        "<|tool_call_end|><|tool_calls_section_end|>",
        "<｜tool▁calls▁begin｜>",
        "<｜end▁of▁sentence｜>",
        "<｜DSML｜function_calls",
        "</｜DSML｜invoke>\n</｜DSML｜function_calls>",
        "<|im_end|>",
        "<|im_end|>\n<|im_start|>assistant",
        "<|im_st",
        "<|eot_id|><|start_header_id|>assistant<|end_header_id|>",
        "</s>",
        "<|channel|>commentary",
        "<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>",
        "<|call|>",
        "<end_of_turn>",
        "<turn|>",
        "]<]minimax[>[</tool_call>",
        "<|some_unknown_token|>",
    ];

    #[test]
    fn marks_at_the_end_are_removed() {
        for mark in MARKS {
            assert_eq!(kept(mark), "", "{mark}");
            for prose in ["I look.", "Ich sehe nach:", "我来查一下。", "Moment…"] {
                for text in [format!("{prose}\n\n{mark}"), format!("{prose} {mark}\n"), format!("{prose}{mark}")] {
                    assert_eq!(kept(&text), prose, "{text:?}");
                }
            }
        }
    }

    #[test]
    fn marks_that_the_text_shows_stay() {
        for mark in MARKS.into_iter().filter(|mark| !mark.contains('\n')) {
            for text in [
                format!("The mark is `{mark}"),
                format!("The mark is `{mark}`"),
                format!("The mark is \"{mark}\""),
                format!("The mark is \"{mark}"),
                format!("{mark} is the mark."),
                format!("First {mark} then the call."),
                format!("```xml\n{mark}\n```"),
                format!("Like this:\n```\n{mark}"),
                format!("> {mark}"),
            ] {
                assert_eq!(kept(&text), text);
            }
        }
    }

    #[test]
    fn other_text_stays() {
        for text in [
            "I look.", "See [1] and [2]", "a[0]", "It is <b>bold</b>", "Use <code>x</code>", "<result>42</result>",
            "The model writes <tool_call>", "x <", "Vec<function", "Vec<input>", "f <| g |> h",
            "[link](https://example.com)", "<div>\n</div>", "<tool_call>not json at all</tool_call>",
            "1 < 2 and 3 > 2", "- [x]", "Write <tool_call> ", "The list ends at x]", "<s>old</s>",
            "{\"city\": \"Oslo\"}",
        ] {
            assert_eq!(kept(text), text);
        }
    }

    #[test]
    fn a_copy_of_the_call_is_removed_and_another_call_stays() {
        let copies = [
            "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>",
            "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"get_weather\">\n<｜DSML｜parameter name=\"city\" string=\"true\">Oslo</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
            "[TOOL_CALLS][{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}]",
            "<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{\"city\": \"Oslo\"}<|call|>",
        ];
        for copy in copies {
            assert_eq!(kept(copy), "", "{copy}");
            assert_eq!(kept(&format!("I look.\n\n{copy}")), "I look.");
            assert_eq!(kept(&format!("I look.\n\n{copy}\n<|im_end|>\n[/INST]")), "I look.");
            let amid = kept(&format!("I look.\n\n{copy}\n\nOne moment."));
            assert_eq!(amid.split_whitespace().collect::<Vec<_>>(), ["I", "look.", "One", "moment."]);
            let other = format!("I look.\n\n{}", copy.replace("Oslo", "Bergen"));
            assert_eq!(kept(&other), other);
            let shown = format!("I send this:\n```\n{copy}\n```");
            assert_eq!(kept(&shown), shown);
        }
        assert_eq!(kept("{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}"), "");
        let told = "I call this:\nget_weather(city=\"Oslo\")";
        assert_eq!(kept(told), told);
    }

    #[test]
    fn what_the_client_has_stays() {
        let found = |sent| find("I look.<|im_end|>", sent, tools(), None, |_| false);
        assert_eq!(found(7).map(|found| found.spans), Some(std::iter::once(7..17).collect()));
        assert_eq!(found(9), None);
        let blank = find("I look.\n\n</think>", 9, tools(), None, |_| false);
        assert_eq!(blank.map(|found| found.spans), Some(std::iter::once(9..17).collect()));
    }
}
