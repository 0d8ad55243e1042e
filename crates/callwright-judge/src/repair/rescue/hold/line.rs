//! The line under way, as far as it flowed.

/// Bytes of a line that are remembered: labels and assignments before a call are shorter.
const MAX_HEAD: usize = 120;

/// Words of the target of an assignment: `const name: Type = `.
const MAX_TARGET_WORDS: usize = 3;

/// A line, or what came of it.
#[derive(Debug, Default)]
pub(super) struct Line {
    head: String,
    /// Something but white space was in it.
    pub(super) has_text: bool,
    /// It began as a quotation.
    pub(super) is_quoted: bool,
    /// It opens or closes a fence.
    pub(super) is_fence: bool,
    /// Within a span of code.
    in_code: bool,
    /// The last letter that is more than emphasis.
    last: Option<char>,
    /// The letter before, where a statement may begin behind it.
    pub(super) sign: Option<char>,
    /// A statement may begin here.
    pub(super) is_place: bool,
}

impl Line {
    /// Takes in a part; gives its length.
    pub(super) fn take(&mut self, part: &str) -> usize {
        self.has_text |= !part.trim_start().is_empty();
        self.in_code ^= memchr::memchr_iter(b'`', part.as_bytes()).count() % 2 == 1;
        if let Some(last) = part.trim_end_matches(['*', '`', ' ', '\t', '\r']).chars().next_back() {
            self.last = Some(last);
        }
        let room = part.floor_char_boundary(MAX_HEAD.saturating_sub(self.head.len()));
        self.head.push_str(part.get(..room).unwrap_or_default());
        part.len()
    }

    /// Takes in one letter; gives its length.
    pub(super) fn take_letter(&mut self, letter: char) -> usize {
        self.take(letter.encode_utf8(&mut [0; 4]))
    }

    /// Begins the next one.
    pub(super) fn end(&mut self) {
        let mut head = std::mem::take(&mut self.head);
        head.clear();
        *self = Self { head, ..Self::default() };
    }

    /// Is a mark that comes next only quoted?
    pub(super) fn quotes(&self, mark: &str) -> bool {
        (self.is_quoted && !mark.starts_with('>')) || (self.in_code && !mark.starts_with('`'))
    }

    /// Does it say something, rather than announce a call?
    pub(super) fn is_prose(&self) -> bool {
        self.has_text && !self.is_fence && !self.last.is_some_and(|last| matches!(last, ':' | '：'))
    }

    /// May a colon that comes next end a label?
    pub(super) fn may_be_label(&self) -> bool {
        self.head.len() < MAX_HEAD && !self.head.contains(['(', '[', '{'])
    }

    /// May an equals sign that comes next follow the target of an assignment?
    pub(super) fn may_be_target(&self) -> bool {
        self.head.len() < MAX_HEAD
            && self.head.chars().all(|letter| letter.is_alphanumeric() || "_ :,[]".contains(letter))
            && (1..=MAX_TARGET_WORDS).contains(&self.head.split_whitespace().count())
    }
}
