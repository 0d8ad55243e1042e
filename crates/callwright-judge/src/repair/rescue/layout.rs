//! Splits a text into calls, prose, code and reasoning.

use std::ops::Range;

use super::body::FENCE;
use super::call_names::offered;
use super::literal::LiteralReader;
use super::notations::{self, MarkerStrength, Notation, NotationMark};
use super::written::WrittenCall;
use super::{markers, shape, statement};
use callwright_scanner::{JudgementBudget, ToolSet};

/// A part of a text.
#[derive(Debug)]
pub(super) enum LayoutPiece<'a> {
    /// A line, or a part of one, that is not a call.
    Prose(&'a str),
    /// Calls. Boxed, because a text has many lines and few calls.
    Calls(Box<CallBlock>),
    /// A marker reserved for calls that no readable call follows.
    Broken {
        /// Notation of the marker.
        notation: &'static str,
        /// Position of the marker.
        start: usize,
    },
}

/// Calls at one position.
#[derive(Debug)]
pub(super) struct CallBlock {
    /// The calls as they were written.
    pub(super) calls: Vec<WrittenCall>,
    pub(super) notation: &'static str,
    /// Whether the calls are between markers of a notation.
    pub(super) is_marked: bool,
    /// Whether these markers are reserved for calls.
    pub(super) is_reserved: bool,
    /// Range of the calls, including the list marker or assignment on their line.
    pub(super) span: Range<usize>,
    /// Position where the first call begins.
    pub(super) start: usize,
    /// Index of the code fence that contains them.
    pub(super) fence: Option<usize>,
    /// Whether a label precedes them on the same line: `Call: f(a=1)`.
    pub(super) is_labelled: bool,
}

/// The layout of a text.
#[derive(Debug, Default)]
pub(super) struct Layout<'a> {
    /// The parts in order, without white space and reasoning.
    pub(super) pieces: Vec<LayoutPiece<'a>>,
    /// The code fences.
    pub(super) fences: Vec<Fence>,
    /// Whether the text was not searched to its end: it has more than `MAX_CALLS` calls, or the work for it is spent.
    pub(super) is_unfinished: bool,
    /// Position where invented results or messages begin after the calls. The text after it is not parsed.
    pub(super) invented: Option<usize>,
}

/// A code fence.
#[derive(Debug)]
pub(super) struct Fence {
    /// Range of the code fence, including its markers.
    pub(super) span: Range<usize>,
    /// Whether it contains content other than calls.
    pub(super) holds_code: bool,
}

/// Maximum number of calls that are parsed in one answer. Providers allow a model 128 parallel calls. If there are more, the
/// request may contain them.
pub(super) const MAX_CALLS: usize = 256;

/// Splits a text into its parts. If `may_complete` is set, brackets left open at the end of the text are closed. Stops
/// early if the `budget` is spent.
pub(super) fn read<'a>(
    text: &'a str,
    tool_set: &ToolSet,
    may_complete: bool,
    budget: Option<&JudgementBudget>,
) -> Layout<'a> {
    let reader = LiteralReader::new(text, may_complete).with_tools(tool_set, shape::are_complete_calls);
    let mut walk = LayoutWalker {
        text,
        tool_set,
        budget,
        reader: if may_complete { reader } else { reader.without_search() },
        at: 0,
        fence: None,
        holds_code: false,
        calls: 0,
        line: LayoutLine::default(),
        layout: Layout::default(),
    };
    for (mark, kind) in notations::marks(text) {
        if walk.is_done() || !walk.step() {
            break;
        }
        if mark.start < walk.at {
            continue;
        }
        let notation = match kind {
            NotationMark::Notation(notation) => Some(notation),
            NotationMark::Tag => text.get(mark.start..).and_then(|rest| notations::of_tag(rest, tool_set)),
            NotationMark::Reasoning(_) | NotationMark::ReasoningEnd | NotationMark::Invented(_) => None,
        };
        match (kind, notation) {
            (NotationMark::Tag, None) => continue,
            (_, Some(notation)) if !walk.is_mark(&mark, notation) => continue,
            (_, Some(notation))
                if notation.strength == MarkerStrength::Tentative && !walk.reads(notation, mark.start) =>
            {
                continue;
            }
            (NotationMark::Invented(close), _) if !walk.is_invented(&mark, close) => continue,
            _ => {}
        }
        walk.lines(mark.start);
        if mark.start < walk.at || walk.is_done() {
            continue;
        }
        if let Some(notation) = notation {
            walk.notation(notation, mark);
            continue;
        }
        match kind {
            NotationMark::Notation(_) | NotationMark::Tag => {}
            // Content after an invented result is also invented.
            NotationMark::Invented(_) if walk.calls > 0 => walk.layout.invented = Some(mark.start),
            NotationMark::Invented(close) | NotationMark::Reasoning(close) => {
                let end = text.get(mark.end..).and_then(|rest| rest.find(close));
                walk.at = end.map_or(text.len(), |end| mark.end + end + close.len());
            }
            // Templates may put the opening marker into the prompt. Then all preceding text was reasoning.
            NotationMark::ReasoningEnd => {
                walk.layout = Layout::default();
                walk.reader.forget();
                walk.fence = None;
                walk.holds_code = false;
                walk.calls = 0;
                walk.at = mark.end;
            }
        }
    }
    walk.lines(text.len());
    walk.close_fence(text.len());
    if let Some(start) = walk.reader.unreadable {
        let notation =
            if text.get(start..).is_some_and(|rest| rest.starts_with(['{', '['])) { "json" } else { "python" };
        walk.layout.pieces.push(LayoutPiece::Broken { notation, start });
    }
    walk.layout.is_unfinished |= walk.reader.is_spent();
    walk.layout
}

struct LayoutWalker<'a, 'b> {
    text: &'a str,
    tool_set: &'b ToolSet,
    budget: Option<&'b JudgementBudget>,
    reader: LiteralReader<'b>,
    at: usize,
    /// Position where the open code fence begins.
    fence: Option<usize>,
    /// Whether that code fence contains content other than calls.
    holds_code: bool,
    /// Number of calls parsed so far.
    calls: usize,
    line: LayoutLine,
    layout: Layout<'a>,
}

/// Properties of a line up to a position.
#[derive(Default)]
struct LayoutLine {
    at: usize,
    has_text: bool,
    is_quotation: bool,
    has_words: bool,
    backticks: usize,
}

impl LayoutLine {
    /// Advances to a later position.
    fn go(&mut self, text: &str, at: usize) {
        for byte in text.as_bytes().get(self.at..at).unwrap_or_default() {
            match byte {
                b'\n' => *self = Self::default(),
                b'`' => self.backticks += 1,
                b'>' if !self.has_text => self.is_quotation = true,
                _ => {}
            }
            self.has_text |= !byte.is_ascii_whitespace();
            self.has_words |= byte.is_ascii_alphabetic() || *byte >= 0x80;
        }
        self.at = at;
    }
}

impl<'a> LayoutWalker<'a, '_> {
    /// Takes one step of the budget, and returns whether the work may continue.
    fn step(&self) -> bool {
        self.budget.is_none_or(JudgementBudget::step)
    }

    fn is_done(&self) -> bool {
        self.layout.is_unfinished || self.layout.invented.is_some()
    }

    fn slice(&self, range: Range<usize>) -> &'a str {
        self.text.get(range).unwrap_or_default()
    }

    /// Whether calls of a notation begin at a position.
    fn reads(&mut self, notation: &Notation, start: usize) -> bool {
        self.reader.go(start);
        let found = notation.read(&mut self.reader, self.tool_set);
        found.is_some_and(|calls| !calls.is_empty()) && self.reader.at() > start
    }

    /// Whether a result that the model invented begins here. A pair of these tags around the whole answer is only a
    /// wrapper.
    fn is_invented(&mut self, mark: &Range<usize>, close: &str) -> bool {
        self.line.go(self.text, mark.start);
        let is_first = self.slice(0..mark.start).trim().is_empty();
        let name = close.trim_start_matches("</").trim_end_matches('>');
        let is_shell = is_first && statement::SHELLS.contains(&name) && self.text.trim_end().ends_with(close);
        !self.line.has_text && !is_shell
    }

    /// Whether a marker is effective, and not quoted or within a code span.
    fn is_mark(&mut self, mark: &Range<usize>, notation: &Notation) -> bool {
        self.line.go(self.text, mark.start);
        let text = self.slice(mark.clone());
        let before = self.slice(0..mark.start);
        let is_word = self.line.has_words && before.ends_with(['"', '\'', '“', '‘', '«', '„']);
        let is_quoted = is_word || self.line.is_quotation && !text.starts_with('>');
        let in_code = self.line.backticks % 2 == 1 && !text.starts_with('`');
        !is_quoted && !in_code && (!notation.begins_line || !self.line.has_text)
    }

    fn notation(&mut self, notation: &Notation, mark: Range<usize>) {
        self.reader.go(mark.start);
        match notation.read(&mut self.reader, self.tool_set) {
            Some(calls) if self.reader.at() > mark.start => {
                self.at = self.reader.at();
                let span = mark.start..self.at;
                self.push(CallBlock {
                    calls,
                    notation: notation.name,
                    is_marked: true,
                    is_reserved: notation.is_reserved(),
                    span,
                    start: mark.start,
                    fence: None,
                    is_labelled: false,
                });
            }
            _ => {
                let opens = self.opens_call(mark.end);
                // Directly after a call, a marker begins another one.
                let follows = matches!(
                    self.layout.pieces.last(),
                    Some(LayoutPiece::Calls(block)) if self.slice(block.span.end..mark.start).trim().is_empty()
                );
                if notation.is_reserved() && (!self.line.has_text || opens || follows) {
                    self.layout.pieces.push(LayoutPiece::Broken { notation: notation.name, start: mark.start });
                }
                self.at = mark.end;
            }
        }
    }

    /// Whether data, or the name of an offered tool with its arguments, follows a marker.
    fn opens_call(&self, at: usize) -> bool {
        let behind = self.text.get(at..).unwrap_or_default().trim_start();
        let behind = behind.strip_prefix("call:").unwrap_or(behind);
        let is_name = |letter: char| letter.is_alphanumeric() || "_.-:/".contains(letter);
        let rest = behind.trim_start_matches(is_name);
        let name = behind.get(..behind.len() - rest.len()).unwrap_or_default();
        behind.starts_with(['{', '['])
            || (rest.is_empty() || rest.starts_with(['(', '{', '[', '<', '\n']))
                && offered(name.trim_end_matches(':'), self.tool_set).is_some()
    }

    /// Adds calls, in the open code fence.
    fn push(&mut self, block: CallBlock) {
        self.calls += block.calls.len();
        self.layout.is_unfinished |= self.calls > MAX_CALLS;
        let fence = self.fence.map(|_| self.layout.fences.len());
        self.layout.pieces.push(LayoutPiece::Calls(Box::new(CallBlock { fence, ..block })));
    }

    /// Processes the lines up to `end`. A statement that begins before `end` may extend beyond it.
    fn lines(&mut self, end: usize) {
        while self.at < end && !self.is_done() && self.step() {
            let line_end =
                memchr::memchr(b'\n', self.slice(self.at..end).as_bytes()).map_or(end, |length| self.at + length);
            self.line(line_end, end);
        }
    }

    fn line(&mut self, line_end: usize, end: usize) {
        let line = self.slice(self.at..line_end);
        let start = self.at + line.len() - line.trim_start_matches(is_blank).len();
        let line = self.slice(start..line_end);
        // If a marker ends the line, the marker comes next.
        let next = end.min(line_end + 1);
        if self.calls > 0
            && self.fence.is_none()
            && markers::begins_invention(line, self.slice(line_end..self.text.len()))
        {
            self.layout.invented = Some(start);
        } else if line.is_empty() || markers::is_bare_label(line) || self.fence.is_none() && statement::is_shell(line) {
            self.at = next;
        } else if let Some(marker) = fence_marker(line) {
            self.fence_line(start, marker, line_end, next);
        } else if !line.starts_with('>') && self.statement(start, line_end, end) {
        } else {
            if self.fence.is_some() {
                self.holds_code = true;
            } else {
                self.layout.pieces.push(LayoutPiece::Prose(line));
            }
            self.at = next;
        }
    }

    fn fence_line(&mut self, start: usize, marker: usize, line_end: usize, next: usize) {
        let after = start + marker;
        if self.fence.is_some() {
            self.close_fence(after);
            self.at = after;
            return;
        }
        self.fence = Some(start);
        let info = self.slice(after..line_end);
        let word =
            info.find(|letter: char| !(letter.is_alphanumeric() || "_-+#.".contains(letter))).unwrap_or(info.len());
        // The text directly after the marker may be the content (```f(a=1)```), or the name of the tool whose arguments
        // the fence contains.
        let is_content = info.get(word..).is_some_and(|rest| rest.starts_with('('))
            || statement::may_be_named_object(self.text.get(after + word..).unwrap_or_default())
                && info.get(..word).is_some_and(|name| offered(name, self.tool_set).is_some())
                && LiteralReader::nested_in(self.slice(after..self.text.len()), false, &self.reader.nesting_within())
                    .is_some_and(|mut reader| statement::is_named_object(&mut reader, self.tool_set));
        self.at = if is_content { after } else { (after + word).min(line_end) };
        if self.slice(self.at..line_end).trim().is_empty() {
            self.at = next;
        }
    }

    fn close_fence(&mut self, end: usize) {
        if let Some(start) = self.fence.take() {
            let holds_code = std::mem::take(&mut self.holds_code);
            self.layout.fences.push(Fence { span: start..end, holds_code });
        }
    }

    /// Processes the statement that begins on this line, and returns whether it is a call.
    fn statement(&mut self, start: usize, line_end: usize, end: usize) -> bool {
        let line = self.slice(start..line_end);
        let is_before_object = self.slice(line_end..end).trim_start().starts_with('{');
        for place in statement::places(line, is_before_object) {
            let at = start + place.at;
            if !statement::may_begin(self.slice(at..line_end), self.tool_set) {
                continue;
            }
            self.reader.go(at);
            let Some((calls, notation)) = statement::read(&mut self.reader, self.tool_set) else { continue };
            let call_end = self.reader.at();
            let rest = self.slice(call_end..end.max(call_end));
            let rest_of_line = rest.split('\n').next().unwrap_or_default();
            let Some(tail) = statement::tail(rest_of_line) else { continue };
            let span = if place.is_labelled { at } else { start }..call_end + tail;
            self.at = span.end;
            if place.is_labelled && at > start {
                self.layout.pieces.push(LayoutPiece::Prose(self.text.get(start..at).unwrap_or_default().trim_end()));
            }
            let is_labelled = place.is_labelled;
            self.push(CallBlock {
                calls,
                notation,
                is_marked: false,
                is_reserved: false,
                span,
                start: at,
                fence: None,
                is_labelled,
            });
            return true;
        }
        false
    }
}

/// Whether a character is white space or invisible: a byte order mark or a zero-width space.
fn is_blank(letter: char) -> bool {
    letter.is_whitespace() || matches!(letter, '\u{feff}' | '\u{200b}')
}

/// Returns the length of the code fence marker at the start of the line, if there is one.
pub(super) fn fence_marker(line: &str) -> Option<usize> {
    ['`', '~'].into_iter().find_map(|letter| {
        let length = line.len() - line.trim_start_matches(letter).len();
        (length >= FENCE.len()).then_some(length)
    })
}
