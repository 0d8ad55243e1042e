//! Finds lines that close a string and a bracket which they did not open: the value before them continues there.

use std::ops::Range;

/// Stray ends of a part of a text. The part is searched once for all values before it.
#[derive(Debug, Clone, Default)]
pub(super) struct StrayEnds {
    /// Searched part: from the line after a value to the next call, or to the end of the text.
    part: Range<usize>,
    /// Ends in curly brackets.
    curly: Vec<StrayEnd>,
    /// Ends in parentheses.
    round: Vec<StrayEnd>,
}

/// A closing bracket behind the quote of a string.
#[derive(Debug, Clone, Copy)]
struct StrayEnd {
    at: usize,
    /// First position that has the closing bracket after it but not its opening one.
    from: usize,
}

impl StrayEnds {
    /// Whether a bracket `close` is stray in the lines from `start` to the next call. Returns also the number of bytes
    /// that were searched.
    pub(super) fn find(&mut self, text: &str, start: usize, close: u8) -> (bool, usize) {
        let is_known = self.part.start <= start && start <= self.part.end && !self.part.is_empty();
        if !is_known {
            *self = Self::search(text, start);
        }
        let ends = if close == b')' { &self.round } else { &self.curly };
        let mut next = ends.partition_point(|end| end.at < start);
        // The quote must be in these lines, too.
        let is_quote_before = ends
            .get(next)
            .and_then(|end| text.get(start..end.at))
            .is_some_and(|between| between.trim_start_matches(|letter: char| letter.is_ascii_whitespace()).is_empty());
        next += usize::from(is_quote_before);
        // The last ends have the greatest `from`, so that the next one decides.
        (ends.get(next).is_some_and(|end| end.from <= start), if is_known { 0 } else { self.part.len() })
    }

    /// Searches the lines from `start` to the next call.
    fn search(text: &str, start: usize) -> Self {
        let mut found = Self { part: start..start, ..Self::default() };
        let (mut open, mut after_quote): (Vec<usize>, bool) = (Vec::new(), false);
        for line in text.get(start..).unwrap_or_default().split_inclusive('\n') {
            if begins_call(line) {
                break;
            }
            for (at, byte) in (found.part.end..).zip(line.bytes()) {
                match byte {
                    b'{' | b'[' | b'(' => open.push(at),
                    b'}' | b']' | b')' => {
                        let from = open.pop().map_or(start, |at| at + 1);
                        let ends = if byte == b')' { &mut found.round } else { &mut found.curly };
                        if after_quote && byte != b']' {
                            // An earlier end that requires as much is never the only one.
                            while ends.last().is_some_and(|last| last.from >= from) {
                                ends.pop();
                            }
                            ends.push(StrayEnd { at, from });
                        }
                    }
                    _ => {}
                }
                after_quote = matches!(byte, b'"' | b'\'') || after_quote && byte.is_ascii_whitespace();
            }
            found.part.end += line.len();
        }
        found
    }
}

/// Whether a line begins the next call.
fn begins_call(line: &str) -> bool {
    let start = line.trim_start();
    let name = start.trim_start_matches(|letter: char| letter.is_alphanumeric() || "_.-".contains(letter));
    start.starts_with(['{', '[', '<', '`']) || name.starts_with('(') && name.len() < start.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches from one line alone.
    fn slowly(text: &str, start: usize, close: u8) -> bool {
        let (mut open, mut after_quote, mut found) = (0_usize, false, false);
        for line in text[start..].split_inclusive('\n').take_while(|line| !begins_call(line)) {
            for byte in line.bytes() {
                match byte {
                    b'{' | b'[' | b'(' => open += 1,
                    _ if byte == close && open == 0 && after_quote => found = true,
                    b'}' | b']' | b')' => open = open.saturating_sub(1),
                    _ => {}
                }
                after_quote = matches!(byte, b'"' | b'\'') || after_quote && byte.is_ascii_whitespace();
            }
        }
        found
    }

    #[test]
    fn one_search_answers_for_every_line() {
        let pieces = [
            "a: {\"b\": \"c\"}\n", "x\"}\n", "f = g(\"a\")\n", "\")\n", "say \"\n", "}\n", "(", "{", "\n", "{\n",
            "f(1)\n",
        ];
        let mut seed = 7_usize;
        for _ in 0..400 {
            let mut text = String::new();
            for _ in 0..12 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                text.push_str(pieces[(seed >> 33) % pieces.len()]);
            }
            let mut ends = StrayEnds::default();
            for start in text.match_indices('\n').map(|(at, _)| at + 1) {
                for close in *b"})" {
                    let found = ends.find(&text, start, close).0;
                    assert_eq!(found, slowly(&text, start, close), "{} from {start} of {text:?}", char::from(close));
                }
            }
        }
    }

    #[test]
    fn lines_are_searched_once() {
        let text = "Input: {\"a\": \"b\"}\n".repeat(1_000);
        let mut ends = StrayEnds::default();
        let searched: usize = text.match_indices('\n').map(|(at, _)| ends.find(&text, at + 1, b'}').1).sum();
        assert!(searched <= text.len(), "{searched}");
    }
}
