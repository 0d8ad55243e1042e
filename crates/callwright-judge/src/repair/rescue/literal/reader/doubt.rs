//! Handles values that the strict parser cannot complete, because a string in them may contain unescaped quotes.

use super::{CallCheck, LiteralReader};
use crate::repair::rescue::call_names::offered;
use crate::repair::rescue::literal::unescaped::{
    self, Effort, UnescapedCriteria, UnescapedGuard, UnescapedKind, UnescapedOutcome,
};
use crate::repair::rescue::literal::value::Literal;
use callwright_scanner::{CompiledTool, ToolSet};

impl<'a> LiteralReader<'a> {
    /// Uses the names of these tools and their parameters to find the end of strings that contain unescaped quotes.
    pub(crate) fn with_tools(mut self, tool_set: &'a ToolSet, are_calls: CallCheck) -> Self {
        self.guard = Some(UnescapedGuard { tool_set, tool: None });
        self.are_calls = are_calls;
        self
    }

    /// Treats the text as truncated: a value is not parsed if one of its strings may continue after its quote.
    pub(crate) fn without_search(mut self) -> Self {
        self.searches = false;
        self
    }

    /// Resets the state of the search, for a part of the text that is independent of the preceding text.
    pub(crate) fn forget(&mut self) {
        (self.given_up, self.unreadable) = (None, None);
    }

    /// Uses one tool, of which the text is the argument object, to find the end of strings that contain unescaped
    /// quotes.
    pub(crate) fn with_arguments_of(mut self, tool: &'a CompiledTool, tool_set: &'a ToolSet) -> Self {
        self.guard = Some(UnescapedGuard { tool_set, tool: Some(tool) });
        self
    }

    /// Like [`LiteralReader::completes`], for the arguments of a call, which may continue in a string instead. Records
    /// the doubt.
    pub(crate) fn completes_in_doubt(&mut self) -> bool {
        let completes = self.completes();
        self.has_doubt |= completes;
        completes
    }

    /// Parses a value that is not an expression, regardless of the text after it.
    pub(crate) fn data(&mut self) -> Option<Literal> {
        self.skip_space()?;
        if self.guard.is_none() || self.in_call || !matches!(self.byte(), Some(b'{' | b'[')) {
            return self.literal();
        }
        let start = self.at;
        if self.given_up.is_some_and(|given_up| given_up < start) {
            return None;
        }
        (self.has_doubt, self.last_string) = (false, None);
        let value = self.literal();
        if value.is_some() && !self.has_doubt && self.is_before_end_of_value() {
            return value;
        }
        match self.search(start, UnescapedKind::Value) {
            UnescapedOutcome::Nothing => {
                let guard = self.guard.filter(|_| value.is_none() && self.last_string.is_some());
                if guard.is_some_and(|guard| unescaped::begins_call(self.text, start, guard)) {
                    self.give_up(start);
                }
                value
            }
            UnescapedOutcome::Several => None,
            UnescapedOutcome::One(found) => {
                self.at = found.end;
                Some(found.value)
            }
        }
    }

    /// Parses the arguments of a call with `read`. If that does not complete, searches for the only possible reading,
    /// and returns its arguments in order. Arguments without a name have an empty one.
    pub(crate) fn arguments_of(
        &mut self,
        name: &str,
        read: impl FnOnce(&mut Self) -> Option<()>,
    ) -> Option<Option<Vec<(String, Literal)>>> {
        let start = self.at;
        if self.given_up.is_some_and(|given_up| given_up < start) {
            return None;
        }
        let was_in_call = std::mem::replace(&mut self.in_call, true);
        (self.has_doubt, self.is_joined, self.last_string) = (false, false, None);
        let result = read(self);
        self.in_call = was_in_call;
        if was_in_call || result.is_some() && !self.has_doubt && self.is_before_end_of_call() {
            return result.map(|()| None);
        }
        let end = self.at;
        let tool = self.guard.and_then(|guard| offered(name, guard.tool_set));
        let found = tool.map_or(UnescapedOutcome::Nothing, |tool| self.search(start, UnescapedKind::Call(tool)));
        match found {
            UnescapedOutcome::One(_) if self.is_joined => {
                self.unreadable = self.unreadable.or(Some(start));
                self.give_up(start);
                None
            }
            UnescapedOutcome::Nothing => {
                self.at = end;
                result.map(|()| None)
            }
            UnescapedOutcome::Several => None,
            UnescapedOutcome::One(found) => {
                self.at = found.end;
                let Literal::Object(arguments) = found.value else { return None };
                Some(Some(arguments))
            }
        }
    }

    /// Stops parsing anything that begins after `start`.
    fn give_up(&mut self, start: usize) {
        self.given_up = Some(self.given_up.map_or(start, |earlier| earlier.min(start)));
    }

    /// Searches for the only reading of the value at `start` whose strings contain unescaped quotes.
    fn search(&mut self, start: usize, kind: UnescapedKind<'a>) -> UnescapedOutcome {
        let (Some(guard), Some(from)) = (self.guard, self.last_string) else { return UnescapedOutcome::Nothing };
        if !self.searches {
            return UnescapedOutcome::Several;
        }
        if let Some(known) = self.searched.get(&start) {
            return known.clone();
        }
        let nesting = self.nesting_within();
        let are_calls = self.are_calls;
        let search = UnescapedCriteria { kind, guard, are_calls: &|value| are_calls(value, guard.tool_set, &nesting) };
        let effort = self.effort.get_or_insert_with(|| Effort::for_text(self.text));
        let mut outcome = unescaped::search(self.text, start, from, search, effort);
        // The string that ended too early may be an earlier one.
        if matches!(outcome, UnescapedOutcome::Nothing) {
            outcome = unescaped::search(self.text, start, start, search, effort);
        }
        if matches!(outcome, UnescapedOutcome::Several) {
            self.unreadable = self.unreadable.or(Some(start));
            self.give_up(start);
        }
        self.searched.insert(start, outcome.clone());
        outcome
    }

    /// Whether valid text follows the value that ends here, which shows that no string ended too early.
    fn is_before_end_of_value(&mut self) -> bool {
        let rest = self.rest();
        let line = rest.trim_start_matches([' ', '\t', '\r']);
        match line.as_bytes() {
            [] | [b'<' | b'`', ..] => true,
            [b'[', next, ..] => *next == b'/' || next.is_ascii_uppercase(),
            [b',' | b';', ..] => line.get(1..).is_some_and(|rest| rest.trim().is_empty() || begins_object(rest)),
            [b'{', ..] => begins_object(line),
            [b'\n', ..] => !self.is_before_stray_end(b'}'),
            _ => false,
        }
    }

    /// Whether the following lines close a string and a bracket that they did not open. Then the value continues there.
    fn is_before_stray_end(&mut self, close: u8) -> bool {
        if self.last_string.is_none() {
            return false;
        }
        let Some(line) = memchr::memchr(b'\n', self.rest().as_bytes()) else { return false };
        let (found, searched) = self.stray_ends.find(self.text, self.at + line + 1, close);
        self.burn(searched);
        found
    }

    /// Whether valid text follows the call that ends here, if the call is written as code.
    fn is_before_end_of_call(&mut self) -> bool {
        let rest = self.rest().trim_start_matches([' ', '\t', '\r', ')', ']', '}']);
        if rest.starts_with('\n') {
            return !self.is_before_stray_end(b')');
        }
        !rest.starts_with(|letter: char| matches!(letter, '"' | '\'' | '{' | '$' | '\\') || letter.is_alphanumeric())
    }
}

/// Whether an object, or a list of objects, begins here.
fn begins_object(text: &str) -> bool {
    let text = text.trim_start();
    let inner = text.strip_prefix('[').map_or(text, str::trim_start);
    let object = inner.strip_prefix('{').map(str::trim_start);
    object.is_some_and(|object| object.starts_with('}') || unescaped::name_at(object, 0, false).is_some())
}
