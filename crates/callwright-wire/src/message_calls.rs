//! Calls of an assistant message of a chat completion, read in place.

use std::borrow::Cow;
use std::collections::HashSet;

use super::scanner::{Scanned, Scanner};
use callwright_types::{Call, ids};

/// Maximum number of calls of one message. OpenAI allows 128 tools in a request.
pub(super) const MAX_CALLS: usize = 4096;

/// Kind of an element of `tool_calls`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallElement {
    /// Call at this position of `calls`.
    Judged(usize),
    /// Call of a custom or built-in tool.
    Unjudged,
    /// Element that is not an object.
    Junk,
}

/// Elements of `tool_calls`, read in place.
#[derive(Default)]
pub(super) struct CallList {
    /// Kind of each element, in order.
    pub(super) elements: Vec<CallElement>,
    pub(super) calls: Vec<Call>,
    pub(super) irregular: bool,
    /// Whether the list has more than [`MAX_CALLS`] elements.
    pub(super) is_too_long: bool,
}

impl CallList {
    /// Reads a list, or one call in place of the list; any other value is an empty list.
    pub(super) fn scan(scanner: &mut Scanner<'_>) -> Scanned<Self> {
        let mut list = Self::default();
        if scanner.peek() == Some(b'{') {
            list.scan_element(scanner)?;
            list.irregular |= !list.calls.is_empty();
            // An empty object is no call.
            let is_nameless = list.calls.iter().any(|call| call.name.is_empty());
            return Ok(if is_nameless { Self::default() } else { list });
        }
        scanner.array(|scanner| {
            if list.elements.len() < MAX_CALLS {
                return list.scan_element(scanner);
            }
            list.is_too_long = true;
            scanner.skip()
        })?;
        list.replace_repeated_ids();
        Ok(list)
    }

    fn scan_element(&mut self, scanner: &mut Scanner<'_>) -> Scanned<()> {
        let (mut id, mut kind, mut function) = (None, None, None);
        let is_object = scanner.object(|scanner, key| {
            match key.as_ref() {
                "id" => id = scanner.string()?.filter(|id| !id.is_empty()),
                "type" => kind = scanner.string()?.filter(|kind| !kind.is_empty()),
                "function" => function = FunctionCall::scan(scanner)?,
                _ => scanner.skip()?,
            }
            Ok(())
        })?;
        if !is_object {
            self.elements.push(CallElement::Junk);
            self.irregular = true;
            return Ok(());
        }
        if kind.as_deref().is_some_and(|kind| kind != "function") {
            self.elements.push(CallElement::Unjudged);
            return Ok(());
        }
        let function = function.unwrap_or_default();
        self.irregular |= id.is_none() || kind.is_none() || !function.is_well_formed();
        self.elements.push(CallElement::Judged(self.calls.len()));
        self.calls.push(function.with_id(id.map_or_else(ids::call_id, Cow::into_owned)));
        Ok(())
    }

    fn replace_repeated_ids(&mut self) {
        if self.calls.len() < 2 {
            return;
        }
        let mut seen = HashSet::new();
        let repeated = self.calls.iter().map(|call| !seen.insert(call.id.as_str()));
        let repeated: Vec<bool> = repeated.collect();
        for (call, _) in self.calls.iter_mut().zip(repeated).filter(|(_, is_repeated)| *is_repeated) {
            call.id = ids::call_id();
            self.irregular = true;
        }
    }
}

/// `function` or `custom` of a call, or the legacy `function_call`.
#[derive(Default)]
pub(super) struct FunctionCall<'a> {
    name: Option<Cow<'a, str>>,
    /// The string, or the text of another value.
    arguments: Option<Cow<'a, str>>,
    has_text_arguments: bool,
    /// Input of a custom tool.
    input: Option<Cow<'a, str>>,
}

impl<'a> FunctionCall<'a> {
    /// Reads an object; `None` for another value.
    pub(super) fn scan(scanner: &mut Scanner<'a>) -> Scanned<Option<Self>> {
        let mut function = Self::default();
        let is_object = scanner.object(|scanner, key| {
            match key.as_ref() {
                "name" => function.name = scanner.string()?,
                "arguments" if scanner.peek() == Some(b'"') => {
                    function.arguments = scanner.string()?;
                    function.has_text_arguments = true;
                }
                "arguments" => {
                    function.arguments = Some(scanner.value()?).filter(|value| *value != "null").map(Cow::Borrowed);
                    function.has_text_arguments = false;
                }
                "input" => function.input = scanner.string()?,
                _ => scanner.skip()?,
            }
            Ok(())
        })?;
        Ok(is_object.then_some(function))
    }

    /// Whether it has a name, and arguments as a string.
    pub(super) fn is_well_formed(&self) -> bool {
        self.name.is_some() && self.has_text_arguments
    }

    /// Returns the call as a request has it, whose arguments are text.
    pub(super) fn in_request(self, id: String) -> Call {
        let arguments = self.arguments.filter(|_| self.has_text_arguments).or(self.input);
        Self { arguments, input: None, ..self }.with_id(id)
    }

    pub(super) fn with_id(self, id: String) -> Call {
        let [name, arguments] = [self.name, self.arguments].map(|text| text.unwrap_or_default().into_owned());
        Call { id, name, arguments }
    }
}
