//! Determines how much of a streamed text may be forwarded before it is known whether it is a call.
//!
//! Text is held from a marker that is reserved for calls. It is also held where a call may begin (the start of a line
//! or a code fence, after a label or an assignment), as long as the following text may become one. It is released as
//! soon as it proves to be text, and when it exceeds a limit.
//!
//! Marks at the end of the text, which a native call may follow, are also held until other text follows them.
//!
//! The released length is a function of the text so far: it does not depend on the pieces in which the text is
//! received. The work is linear in the text.

mod begins;
mod bracket;
mod line;
mod marks;
mod names;

use begins::{BeginningMatch, Beginnings};
use bracket::{Bracket, BracketStep};
use line::StreamedLine;
use marks::{FIRST_BYTES, HoldMarkMatch, ReasoningEnds};
use names::FoldedToolNames;

use super::body::FENCE;
use super::notations::residue_marks;
use super::notations::{MarkerStrength, NotationMark};
use super::tag::MAX_TAG;
use callwright_common::text::beginning_bytes;
use callwright_scanner::ToolSet;
use callwright_types::rules::Evidence;

/// Beginnings of the calls of the offered tools. Created once for a list of tools.
#[derive(Debug, Default)]
pub struct Starts(FoldedToolNames);

impl Starts {
    /// Collects the beginnings of calls of these tools.
    pub fn of(tool_set: &ToolSet) -> Self {
        Self(FoldedToolNames::of(tool_set))
    }
}

/// Rules that determine how long text is held.
#[derive(Debug, Clone, Copy)]
pub struct HoldRules {
    /// The weakest evidence that makes a text a call; with [`Evidence::Off`] no text is held.
    pub evidence: Evidence,
    /// Whether the request requires a JSON answer. If set, bare JSON is that answer and is not held.
    pub json_wanted: bool,
    /// Maximum number of bytes that are held at a time. A longer text is treated as text.
    pub max_bytes: usize,
}

/// The hold of one streamed text.
#[derive(Debug)]
pub struct Hold<'a> {
    starts: &'a Starts,
    rules: HoldRules,
    state: HoldState,
    line: StreamedLine,
    in_fence: bool,
    /// Whether there was prose that does not announce a call.
    has_prose: bool,
    len: usize,
    released: usize,
    /// The text from `released` on, while [`HoldState::Undecided`].
    undecided: String,
    overflows: u32,
    /// Whether marks at the end of the text are held.
    holds_marks: bool,
    /// Marks at the end of the text.
    marks: String,
    /// Whether native calls began, so that no further text is held as a call.
    is_beside_calls: bool,
}

#[derive(Debug)]
enum HoldState {
    /// Text that is forwarded.
    Flow,
    /// The beginning of a possible marker or call.
    Undecided,
    /// A bracket that may contain a call.
    Bracket(Bracket, ReasoningEnds),
    /// A call, by the text so far.
    Call(ReasoningEnds),
    /// Reasoning up to this marker, with the number of its bytes that were received.
    Reasoning(&'static str, usize),
}

impl<'a> Hold<'a> {
    /// Creates the hold of one text.
    pub fn new(starts: &'a Starts, rules: HoldRules) -> Self {
        Self {
            starts,
            rules,
            state: HoldState::Flow,
            line: StreamedLine::default(),
            in_fence: false,
            has_prose: false,
            len: 0,
            released: 0,
            undecided: String::new(),
            overflows: 0,
            holds_marks: false,
            marks: String::new(),
            is_beside_calls: false,
        }
    }

    /// Also holds marks at the end of the text, and text that may be a copy of a native call.
    #[must_use]
    pub fn with_residue(mut self, holds_marks: bool) -> Self {
        self.holds_marks = holds_marks;
        self
    }

    /// Adds the next piece, and returns the number of bytes of the whole text that may be forwarded.
    pub fn push(&mut self, piece: &str) -> usize {
        self.len += piece.len();
        if self.rules.evidence == Evidence::Off {
            self.released = self.len;
        } else if matches!(self.state, HoldState::Undecided) {
            let mut text = std::mem::take(&mut self.undecided);
            text.push_str(piece);
            self.state = HoldState::Flow;
            self.run(&text);
        } else {
            self.run(piece);
        }
        if self.is_beside_calls && !self.is_holding() {
            self.rules.evidence = Evidence::Off;
            self.released = self.len;
        }
        self.take_marks(piece);
        self.released()
    }

    /// Adds a piece to the marks at the end of the text.
    fn take_marks(&mut self, piece: &str) {
        if !self.holds_marks {
            return;
        }
        if self.marks.is_empty() {
            let Some(at) = memchr::memchr3(b'<', b'[', b']', piece.as_bytes()) else { return };
            self.marks.push_str(piece.get(at..).unwrap_or_default());
        } else {
            self.marks.push_str(piece);
        }
        let start = residue_marks::tail(&self.marks);
        self.marks.drain(..start);
    }

    /// Returns the number of bytes received.
    pub fn seen(&self) -> usize {
        self.len
    }

    /// Returns the number of received bytes that may be forwarded.
    pub fn released(&self) -> usize {
        self.released.min(self.len - self.marks.len())
    }

    /// Returns how often a held text exceeded the limit and was treated as text.
    pub fn overflows(&self) -> u32 {
        self.overflows
    }

    /// Treats the held text as text, and returns the number of bytes that may be forwarded.
    pub fn give_up(&mut self) -> usize {
        if self.is_holding() {
            let undecided = std::mem::take(&mut self.undecided);
            self.go_on_as_text();
            self.line.take(&undecided);
        }
        self.released = self.len;
        (self.holds_marks, self.marks) = (false, String::new());
        self.released
    }

    /// Stops holding text as calls, because the calls of this answer are delivered natively. Held text that may be a copy
    /// of them, and marks, are still held if residue is. Returns the number of bytes that may be forwarded.
    pub fn switch_off(&mut self) -> usize {
        let is_copy = matches!(self.state, HoldState::Bracket(..) | HoldState::Call(_));
        if self.holds_marks && is_copy {
            self.is_beside_calls = true;
            return self.released();
        }
        self.rules.evidence = Evidence::Off;
        let (holds_marks, marks) = (self.holds_marks, std::mem::take(&mut self.marks));
        self.give_up();
        (self.holds_marks, self.marks) = (holds_marks, marks);
        self.released()
    }

    fn is_holding(&self) -> bool {
        matches!(self.state, HoldState::Undecided | HoldState::Bracket(..) | HoldState::Call(_))
    }

    /// Processes `text`, the last part of the received text.
    fn run(&mut self, text: &str) {
        let base = self.len - text.len();
        let mut at = 0;
        while at < text.len() {
            let rest = text.get(at..).unwrap_or_default();
            at += match &mut self.state {
                HoldState::Flow => self.flow(rest),
                HoldState::Reasoning(close, matched) => match reasoning_end(rest, close, matched) {
                    Some(end) => {
                        self.reasoning_ended(false);
                        end
                    }
                    None => rest.len(),
                },
                HoldState::Bracket(..) | HoldState::Call(_) => self.hold(rest, base + at),
                HoldState::Undecided => break,
            };
            if !self.is_holding() {
                self.released = base + at;
            }
        }
    }

    /// Consumes at least one character of the following text.
    fn flow(&mut self, rest: &str) -> usize {
        if !self.line.has_text {
            return self.line_start(rest);
        }
        match (self.line.sign.take(), rest.chars().next()) {
            (Some(':'), Some(' ')) => self.line.is_place = true,
            (Some('='), Some(next)) if next != '=' => self.line.is_place = true,
            // Some models write a call directly after a sentence.
            (Some('.' | '?' | '!'), Some(next)) if next.is_alphabetic() => self.line.is_place = true,
            _ => {}
        }
        if self.line.is_place && self.has_places() { self.place(rest) } else { self.body(rest) }
    }

    fn line_start(&mut self, rest: &str) -> usize {
        let Some(first) = rest.chars().next() else { return 0 };
        if first == '\n' {
            return self.end_line();
        }
        if first.is_whitespace() {
            return first.len_utf8();
        }
        if let Some(taken) = self.mark(rest) {
            return taken;
        }
        if matches!(first, '`' | '~') {
            let marker = rest.len() - rest.trim_start_matches(first).len();
            if marker < FENCE.len() && marker == rest.len() {
                return self.wait(rest);
            }
            if marker >= FENCE.len() {
                return self.fence(rest, marker);
            }
        }
        self.line.is_quoted = first == '>';
        if !self.has_places() {
            return self.line.take_letter(first);
        }
        let look = self.beginnings().line(beginning_bytes(rest, MAX_TAG));
        self.follow(look, rest).unwrap_or_else(|| self.line.take_letter(first))
    }

    fn fence(&mut self, rest: &str, marker: usize) -> usize {
        self.line.is_fence = true;
        if self.in_fence {
            self.in_fence = false;
            self.line.is_place = true;
            return self.line.take(rest.get(..marker).unwrap_or_default());
        }
        let look = if self.has_places() {
            self.beginnings().fence(beginning_bytes(rest, MAX_TAG), marker)
        } else {
            BeginningMatch::Text
        };
        let taken = self.follow(look, rest);
        // Content that is not a call is code, and a code fence with code contains no calls.
        self.in_fence = !matches!(self.state, HoldState::Undecided);
        taken.unwrap_or_else(|| self.line.take(rest.get(..marker).unwrap_or_default()))
    }

    /// Processes a position within a line where a statement may begin.
    fn place(&mut self, rest: &str) -> usize {
        if let Some(taken) = self.mark(rest) {
            return taken;
        }
        match rest.chars().next() {
            Some(first @ (' ' | '\t' | '`' | '*')) => self.line.take_letter(first),
            Some('\n') | None => self.body(rest),
            Some(_) => {
                let look = self.beginnings().place(beginning_bytes(rest, MAX_TAG));
                self.follow(look, rest).unwrap_or_else(|| {
                    self.line.is_place = false;
                    self.body(rest)
                })
            }
        }
    }

    /// Processes the inside of a line, up to the next character that may be significant.
    fn body(&mut self, rest: &str) -> usize {
        let sign = rest.bytes().position(|byte| {
            matches!(byte, b'\n' | b'`' | b':' | b'=' | b'.' | b'?' | b'!') || FIRST_BYTES[usize::from(byte)]
        });
        match sign {
            None => self.line.take(rest),
            Some(0) => self.sign(rest),
            Some(length) => self.line.take(rest.get(..length).unwrap_or_default()),
        }
    }

    fn sign(&mut self, rest: &str) -> usize {
        let Some(first) = rest.chars().next() else { return 0 };
        if first == '\n' {
            return self.end_line();
        }
        if let Some(taken) = self.mark(rest) {
            return taken;
        }
        let opens_place = match first {
            ':' => self.line.may_be_label(),
            '=' => self.line.may_be_target(),
            letter => matches!(letter, '.' | '?' | '!'),
        };
        let taken = self.line.take_letter(first);
        self.line.sign = opens_place.then_some(first);
        taken
    }

    /// Processes a marker at this position; `None` if there is none.
    fn mark(&mut self, rest: &str) -> Option<usize> {
        let at_line_start = !self.line.has_text;
        if !at_line_start && !rest.bytes().next().is_some_and(|first| FIRST_BYTES[usize::from(first)]) {
            return None;
        }
        match marks::look(rest, &self.starts.0, at_line_start, |mark| self.line.quotes(mark)) {
            HoldMarkMatch::Nothing => None,
            HoldMarkMatch::Start => Some(self.wait(rest)),
            // The marker is a common word, unless a tool's name or a bracket follows.
            HoldMarkMatch::Mark(NotationMark::Notation(notation), length)
                if notation.strength == MarkerStrength::Common =>
            {
                // A limit makes the result independent of the size of the pieces.
                let (mark, behind) = beginning_bytes(rest, MAX_TAG).split_at(length);
                match self.beginnings().behind_word(mark, behind) {
                    BeginningMatch::More if rest.len() < MAX_TAG => Some(self.wait(rest)),
                    BeginningMatch::Mark => Some(self.call(length)),
                    _ => None,
                }
            }
            HoldMarkMatch::Mark(NotationMark::Reasoning(close), length) => {
                self.state = HoldState::Reasoning(close, 0);
                Some(length)
            }
            HoldMarkMatch::Mark(NotationMark::ReasoningEnd, length) => {
                self.reasoning_ended(true);
                Some(length)
            }
            HoldMarkMatch::Mark(_, length) => Some(self.call(length)),
        }
    }

    /// Applies the result of an examination; `None` if it is text.
    fn follow(&mut self, look: BeginningMatch, rest: &str) -> Option<usize> {
        match look {
            BeginningMatch::More if rest.len() < MAX_TAG => Some(self.wait(rest)),
            BeginningMatch::More | BeginningMatch::Text => None,
            BeginningMatch::Bracket { at, is_data } => {
                self.state = HoldState::Bracket(Bracket::new(is_data), ReasoningEnds::default());
                Some(at)
            }
            BeginningMatch::Mark => Some(self.call(FENCE.len())),
            BeginningMatch::Call { at } => Some(self.call(at)),
        }
    }

    /// Holds the text after `length` bytes as a call.
    fn call(&mut self, length: usize) -> usize {
        self.state = HoldState::Call(ReasoningEnds::default());
        length
    }

    fn wait(&mut self, rest: &str) -> usize {
        rest.clone_into(&mut self.undecided);
        self.state = HoldState::Undecided;
        rest.len()
    }

    /// Holds the following text as long as it may be a call.
    fn hold(&mut self, rest: &str, position: usize) -> usize {
        for (at, letter) in rest.char_indices() {
            let end = at + letter.len_utf8();
            let (step, ends) = match &mut self.state {
                HoldState::Bracket(bracket, ends) => (bracket.push(letter, &self.starts.0), ends),
                HoldState::Call(ends) => (BracketStep::Undecided, ends),
                _ => return at,
            };
            if ends.push(letter) {
                self.reasoning_ended(true);
                return end;
            }
            match step {
                BracketStep::Undecided => {}
                BracketStep::Call => self.state = HoldState::Call(ReasoningEnds::default()),
                BracketStep::Text => {
                    self.go_on_as_text();
                    return end;
                }
            }
            if position + end - self.released >= self.rules.max_bytes {
                self.overflows += 1;
                self.go_on_as_text();
                return end;
            }
        }
        rest.len()
    }

    fn go_on_as_text(&mut self) {
        self.state = HoldState::Flow;
        self.line.end();
        self.line.has_text = true;
    }

    /// Continues with the answer after reasoning. If the opening marker was in the prompt, all preceding text was
    /// reasoning.
    fn reasoning_ended(&mut self, all_was_thought: bool) {
        self.state = HoldState::Flow;
        self.line.end();
        if all_was_thought {
            self.has_prose = false;
            self.in_fence = false;
        }
    }

    fn end_line(&mut self) -> usize {
        self.has_prose |= !self.in_fence && self.line.is_prose();
        self.line.end();
        1
    }

    /// Whether calls without markers may begin on this line.
    fn has_places(&self) -> bool {
        let may_be = match self.rules.evidence {
            Evidence::Off | Evidence::Marked => false,
            Evidence::Alone => !self.has_prose,
            Evidence::Amid => true,
        };
        may_be && !self.in_fence && !self.line.is_quoted
    }

    fn beginnings(&self) -> Beginnings<'a> {
        Beginnings { names: &self.starts.0, json_wanted: self.rules.json_wanted }
    }
}

/// Returns the number of bytes up to the end of reasoning, and counts the received bytes of its marker.
fn reasoning_end(rest: &str, close: &str, matched: &mut usize) -> Option<usize> {
    rest.bytes().position(|byte| marks::follow(byte, close, matched)).map(|at| at + 1)
}

#[cfg(test)]
mod tests;
