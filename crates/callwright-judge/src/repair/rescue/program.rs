//! Finds program text outside code fences, which is never a source of calls.
//!
//! The layout handles fenced code (`Fence::holds_code`). Outside fences, a program is recognised by the syntax of
//! programming languages and of contexts that quote them: control flow, declarations, assignments used later,
//! interpreter prompts, diffs, log timestamps and YAML keys. A call before the first sign of a program is unaffected.

use super::layout::{CallBlock, Layout, LayoutPiece};
use super::reading::is_name_part;

/// Keywords that begin a compound statement, with texts of which the statement must contain one besides its closing `:`
/// or `{`.
const COMPOUND: [(&str, &[&str]); 16] = [
    ("for", &[" in ", "(", ";"]),
    ("foreach", &["("]),
    ("while", &["(", "=", "<", ">", " not ", " True", " true", "1"]),
    ("if", &["(", "=", "<", ">", " not ", " in ", " is ", ".", "_"]),
    ("elif", &[""]),
    ("else if", &["("]),
    ("with", &["(", " as "]),
    ("except", &[""]),
    ("catch", &["("]),
    ("switch", &["("]),
    ("match", &["(", "{"]),
    ("def", &["("]),
    ("async def", &["("]),
    ("class", &[""]),
    ("function", &["("]),
    ("async function", &["("]),
];

/// Whole lines of compound statements, and their ends.
const BARE_COMPOUND: [&str; 9] = ["else:", "try:", "finally:", "except:", "else {", "try {", "} else {", "do {", "end"];

/// Keywords that begin a statement consisting of names.
const BEFORE_NAMES: [&str; 2] = ["import ", "return "];

/// Beginnings of lines that declare or import, each with a text that the line must also contain.
const DECLARATIONS: [(&str, &str); 14] = [
    ("from ", " import "),
    ("#include", ""),
    ("#!/", ""),
    ("using ", ";"),
    ("package ", ";"),
    ("const ", "="),
    ("let ", "="),
    ("var ", "="),
    ("fn ", "("),
    ("func ", "("),
    ("pub fn ", "("),
    ("public ", "("),
    ("private ", "("),
    ("require(", ")"),
];

/// Beginnings of lines in interpreter sessions and diffs.
const QUOTING: [&str; 7] = [">>>", "... ", "@@ ", "+++ ", "diff --git", "--- a/", "In ["];

/// Returns whether each piece of a layout belongs to a program. Empty if the layout has no calls without markers.
pub(super) fn find(text: &str, layout: &Layout<'_>) -> Vec<bool> {
    let mut pieces = layout.pieces.iter();
    if !pieces.any(|piece| matches!(piece, LayoutPiece::Calls(block) if !block.is_marked)) {
        return Vec::new();
    }
    let used = used_targets(text, layout);
    let piece_at = |index: Option<usize>| index.and_then(|index| layout.pieces.get(index));
    let mut begun = false;
    let flags = layout.pieces.iter().zip(used).enumerate().map(|(index, (piece, is_used))| match piece {
        LayoutPiece::Prose(line) => {
            begun |= is_code(line) || is_used;
            begun
        }
        LayoutPiece::Calls(block) => {
            begun |= block.fence.is_none() && is_used;
            let (before, after) = (piece_at(index.checked_sub(1)), piece_at(Some(index + 1)));
            begun
                || is_in_diff(text, block, before, after)
                || block.is_labelled && is_logged_or_keyed(before, piece_at(index.checked_sub(2)), after)
        }
        LayoutPiece::Broken { .. } => begun,
    });
    flags.collect()
}

/// Whether a line is a statement of a program other than a call.
fn is_code(line: &str) -> bool {
    let line = line.trim();
    let body = line.strip_suffix([':', '{']).map(str::trim_end);
    let is_compound = body.is_some_and(|body| {
        COMPOUND.iter().any(|(word, signs)| {
            let rest = body.strip_prefix(word).filter(|rest| rest.starts_with([' ', '(']));
            rest.is_some_and(|rest| signs.iter().any(|sign| rest.contains(sign) || line.ends_with('{')))
        })
    });
    let is_end = line.starts_with('}') && line.len() <= "});".len();
    let is_terminated = line.ends_with(';') && line.contains(['(', '=']);
    let is_declaration = DECLARATIONS.iter().any(|(start, sign)| line.starts_with(start) && line.contains(sign));
    is_compound
        || is_end
        || is_terminated
        || BARE_COMPOUND.contains(&line)
        || is_declaration
        || BEFORE_NAMES.iter().any(|start| line.strip_prefix(start).is_some_and(is_one_operand))
        || QUOTING.iter().any(|start| line.starts_with(start))
}

/// Whether `rest` is the operand of `import` or `return`: names joined by operators, not the words of a sentence.
fn is_one_operand(rest: &str) -> bool {
    let words = rest.split([',', ';']).map(|part| part.split_whitespace().count());
    !rest.trim().is_empty()
        && !rest.ends_with(['.', ':', '!'])
        && words.into_iter().all(|words| words <= 1)
        && rest.is_ascii()
        || rest.contains(" as ") && rest.split_whitespace().count() == 3
}

/// Whether the line of a call and a neighbouring line are a removed and an added line of a diff.
fn is_in_diff(
    text: &str,
    block: &CallBlock,
    before: Option<&LayoutPiece<'_>>,
    after: Option<&LayoutPiece<'_>>,
) -> bool {
    let Some(own) = line_sign(text, block) else { return false };
    [before, after].into_iter().flatten().any(|piece| {
        let other = match piece {
            LayoutPiece::Calls(block) => line_sign(text, block),
            LayoutPiece::Prose(line) => sign(line),
            LayoutPiece::Broken { .. } => None,
        };
        other.is_some_and(|other| other != own)
    })
}

fn line_sign(text: &str, block: &CallBlock) -> Option<char> {
    text.get(block.span.start..block.start).and_then(sign)
}

fn sign(line: &str) -> Option<char> {
    line.trim_start().chars().next().filter(|sign| matches!(sign, '+' | '-'))
}

/// Whether the label before a call is a log timestamp, or a YAML key with another key on the next or previous line.
fn is_logged_or_keyed(
    label: Option<&LayoutPiece<'_>>,
    before: Option<&LayoutPiece<'_>>,
    after: Option<&LayoutPiece<'_>>,
) -> bool {
    let Some(LayoutPiece::Prose(label)) = label else { return false };
    let mut neighbours = [before, after].into_iter().flatten();
    has_time(label)
        || is_key(label) && neighbours.any(|piece| matches!(piece, LayoutPiece::Prose(line) if is_keyed(line)))
}

/// Whether a label is a YAML key: one identifier, optionally in a list.
fn is_key(label: &str) -> bool {
    let key = label.trim().trim_start_matches("- ").strip_suffix(':').unwrap_or_default();
    !key.is_empty()
        && key.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "_-".contains(letter))
}

fn is_keyed(line: &str) -> bool {
    line.find(':').is_some_and(|colon| {
        let after = line.get(colon + 1..).unwrap_or_default();
        (after.is_empty() || after.starts_with(' ')) && line.get(..=colon).is_some_and(is_key)
    })
}

/// Whether a text contains a time of day such as `10:04`.
fn has_time(text: &str) -> bool {
    text.as_bytes()
        .windows("10:04".len())
        .any(|window| matches!(window, [a, b, b':', c, d] if [a, b, c, d].iter().all(|byte| byte.is_ascii_digit())))
}

/// Returns for each piece whether a later line uses the target of its assignment.
fn used_targets(text: &str, layout: &Layout<'_>) -> Vec<bool> {
    let mut used = vec![false; layout.pieces.len()];
    let mut open: Vec<(usize, &str)> = Vec::new();
    for (index, piece) in layout.pieces.iter().enumerate() {
        let line = match piece {
            LayoutPiece::Prose(line) => *line,
            LayoutPiece::Calls(block) => text.get(block.span.clone()).unwrap_or_default(),
            LayoutPiece::Broken { .. } => continue,
        };
        for (at, _) in open.extract_if(.., |(_, target)| uses(line, target)) {
            if let Some(flag) = used.get_mut(at) {
                *flag = true;
            }
        }
        if let Some(target) = target(line)
            && open.len() < MAX_TARGETS
        {
            open.push((index, target));
        }
    }
    used
}

/// Maximum number of targets that are tracked at a time, which bounds the work per line.
const MAX_TARGETS: usize = 8;

/// Returns the name on the left side of an assignment: `name = ...`, `name: Type = ...`.
fn target(line: &str) -> Option<&str> {
    let (left, right) = line.split_once('=')?;
    let name = left.split(':').next()?.trim();
    let is_name = name.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_')
        && name.chars().all(is_name_part);
    (is_name && !right.is_empty() && !right.starts_with(['=', '>']) && !left.ends_with(['!', '<', '>', '(']))
        .then_some(name)
}

/// Whether a line uses a name as code does: as an operand between brackets and operators, or with a member or an index.
fn uses(line: &str, name: &str) -> bool {
    line.match_indices(name).any(|(at, _)| {
        let before = line.get(..at).unwrap_or_default();
        let after = line.get(at + name.len()..).unwrap_or_default();
        let is_word = !before.ends_with(is_name_part) && !after.starts_with(is_name_part);
        let opens = before.trim_end().ends_with(['(', '[', '{', ',', '=', '+']);
        let mut follows = after.chars();
        let has_member = match follows.next() {
            Some('.') => follows.next().is_some_and(|next| next.is_ascii_alphabetic() || next == '_'),
            Some('[' | '(') => true,
            _ => false,
        };
        let closes = after.trim_start().starts_with([')', ']', '}', ',', '+']) || after.trim().is_empty();
        // A named argument of the same name, `f(name=1)`, is not a use.
        is_word && (has_member || opens && closes)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_of_programs_are_code_and_sentences_are_not() {
        for line in [
            "for city in cities:", "for (const c of cities) {", "if (ok) {", "if user.name == \"x\":", "while True:",
            "def f():", "class Order:", "else:", "import os, sys", "import numpy as np", "from tools import send",
            "const x = 1", "}", "});", "total += 1;", ">>> 1 + 1", "@@ -1,2 +1,2 @@", "return total",
        ] {
            assert!(is_code(line), "{line}");
        }
        for line in [
            "For example:", "If you want, I can do this:", "if you agree:", "While you wait:", "with pleasure:",
            "import this file into the sheet.", "return the parcel by Monday, please", "from Oslo to Bergen:",
            "let me check:", "Class dismissed:", "public holidays:", "Here you are:",
        ] {
            assert!(!is_code(line), "{line}");
        }
    }

    #[test]
    fn names_are_used_as_operands() {
        for line in ["print(total)", "x = total", "f(a=total, b=1)", "total.strip()", "total[0]", "[1, total]"] {
            assert!(uses(line, "total"), "{line}");
        }
        for line in ["The total is high.", "f(total=3)", "totals(1)", "That is the total. Good."] {
            assert!(!uses(line, "total"), "{line}");
        }
    }

    #[test]
    fn times_and_keys_are_recognised() {
        assert!(has_time("2026-11-23 10:04:05 INFO worker:") && !has_time("Room 10: 4 seats"));
        assert!(is_key("- run:") && is_key("step_2:") && !is_key("Function call:") && !is_key("Call:"));
        assert!(is_keyed("name: deploy") && is_keyed("steps:") && !is_keyed("See http://x") && !is_keyed("Note: so"));
    }
}
