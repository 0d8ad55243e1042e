//! One choice of a completion.

use std::borrow::Cow;

use bytes::Bytes;

use super::chat_answer::ChatAnswer;
use super::chat_message::ChatMessage;
use super::fields::{LazyObject, present, string};
use super::parts::{AnswerForm, Finish, PartsForm, PartsMessage};
use super::scanner::{Scanned, Scanner};
use super::{AnswerError, AssistantMessage};
use callwright_common::json::{RawObject, raw};
use callwright_types::Call;
use callwright_types::tool::CUSTOM_INPUT;

/// Maximum number of choices of one completion. OpenAI allows 128.
pub(super) const MAX_CHOICES: usize = 1024;

/// Values of `finish_reason` in this and other protocols for an answer that ends by itself or with calls.
const ENDED: [&str; 9] =
    ["stop", "end_turn", "stop_sequence", "completed", "eos", "eos_token", "tool_calls", "function_call", "tool_use"];

/// Values of `finish_reason` in other protocols for a reached token limit.
const TOKEN_LIMIT: [&str; 3] = ["length", "max_tokens", "max_output_tokens"];

/// One choice of a completion.
#[derive(Debug, Clone)]
pub struct Choice {
    /// `index`; the position if the upstream sent none.
    pub index: u32,
    /// `finish_reason`; `None` if it is `null` or absent.
    pub finish_reason: Option<String>,
    /// `message`.
    pub message: AssistantMessage,
    fields: LazyObject,
    received_finish_reason: Option<String>,
    edited: bool,
    form: &'static dyn AnswerForm,
    /// Changed end of an answer that is a list of parts.
    finish: Option<Finish>,
}

impl Choice {
    /// Replaces the calls, which are written in this order. An element whose id is kept keeps its unknown members;
    /// name and arguments are replaced if they differ. Calls that are not judged stay before the calls that they
    /// preceded.
    ///
    /// `finish_reason` follows: `stop` becomes `tool_calls` (`function_call` in a legacy message) if calls remain,
    /// and the reverse if none do. `logprobs` of a changed choice become `null`.
    pub fn set_calls(&mut self, calls: &[Call]) {
        if !self.message.set_calls(calls) {
            return;
        }
        self.edited = true;
        let calls_remain = !self.message.calls().is_empty() || self.message.has_unjudged_calls();
        if self.form.as_parts().is_some() {
            self.finish = Some(if calls_remain { Finish::Calls } else { Finish::Text });
            return;
        }
        let reason = match (self.finish_reason.as_deref(), calls_remain) {
            (Some("stop"), true) => self.reason_of_calls(),
            (Some("tool_calls" | "function_call"), false) => "stop",
            _ => return,
        };
        self.finish_reason = Some(reason.to_owned());
    }

    /// Writes the call with this id as a call of a custom tool: the input is the text under [`CUSTOM_INPUT`], the only
    /// member of its arguments. Returns whether the call has such arguments and was changed.
    pub fn make_custom(&mut self, id: &str) -> bool {
        let call = self.message.calls().iter().find(|call| call.id == id);
        let Some(input) = call.and_then(|call| custom_input(&call.arguments)) else { return false };
        let is_changed = self.message.make_custom(id, &input);
        self.edited |= is_changed;
        is_changed
    }

    /// Sets the finish reason for calls, in the message's own form. Returns whether that is a change.
    pub fn finish_with_calls(&mut self) -> bool {
        if self.form.as_parts().is_some() {
            let changes = self.contradicts_calls();
            (self.finish, self.edited) = (Some(Finish::Calls), true);
            return changes;
        }
        let reason = self.reason_of_calls();
        let changes = self.finish_reason.as_deref() != Some(reason);
        self.finish_reason = Some(reason.to_owned());
        changes
    }

    /// Whether the completion ended early, because of the token limit or a content filter.
    pub fn is_cut_off(&self) -> bool {
        self.finish_reason.as_deref().is_some_and(|reason| self.form.is_cut_off(reason))
    }

    /// Whether the finish reason does not state that the answer ends with calls, although the message has calls and is not
    /// cut off.
    pub fn contradicts_calls(&self) -> bool {
        self.form.contradicts_calls(&*self.message, self.finish_reason.as_deref())
    }

    /// Returns the finish reason of a chat completion by its content: that of calls if it has any. A cut-off answer keeps
    /// its reason, and so does a text that ended for an unknown reason.
    pub fn derived_finish_reason(&self) -> &str {
        let reason = self.finish_reason.as_deref().unwrap_or_default();
        let is_one_of = |words: &[&str]| words.iter().any(|word| word.eq_ignore_ascii_case(reason));
        if is_one_of(&TOKEN_LIMIT) {
            "length"
        } else if self.is_cut_off() {
            reason
        } else if !self.message.calls().is_empty() || self.message.has_unjudged_calls() {
            self.reason_of_calls()
        } else if reason.is_empty() || is_one_of(&ENDED) {
            "stop"
        } else {
            reason
        }
    }

    /// Sets the finish reason that follows from the content. Returns whether that is a change.
    pub fn derive_finish_reason(&mut self) -> bool {
        let reason = self.derived_finish_reason();
        if self.form.as_parts().is_some() || self.finish_reason.as_deref() == Some(reason) {
            return false;
        }
        self.finish_reason = Some(reason.to_owned());
        true
    }

    /// Returns the finish reason of calls, in the message's own form.
    fn reason_of_calls(&self) -> &'static str {
        if self.message.is_legacy() { "function_call" } else { "tool_calls" }
    }

    /// Creates the only choice of an answer that is a list of parts.
    pub(super) fn of_parts(form: &'static dyn PartsForm, fields: &RawObject) -> Result<Self, AnswerError> {
        Ok(Self {
            index: 0,
            finish_reason: form.finish_reason(fields),
            message: PartsMessage::read_in(form, fields)?.into(),
            fields: LazyObject::default(),
            received_finish_reason: None,
            edited: false,
            form,
            finish: None,
        })
    }

    /// Writes the only choice of an answer that is a list of parts into its members.
    pub(super) fn write_parts(&self, form: &dyn PartsForm, fields: &mut RawObject) {
        if self.edited {
            fields.set(form.parts_key(), raw(&self.message.parts()));
            self.finish.into_iter().for_each(|finish| form.set_finish(fields, finish));
        }
    }

    /// Converts text to calls: `text` is the remaining content, and `legacy` selects the legacy form of `calls`. The
    /// finish reason follows, except for a truncated completion, which the client has to detect. `logprobs` become
    /// `null`.
    pub fn rescue(&mut self, text: &str, calls: &[Call], legacy: bool) {
        self.message.set_text(text);
        self.message.call_in_form(legacy);
        self.message.set_calls(calls);
        self.edited = true;
        if !calls.is_empty() && !self.is_cut_off() {
            self.finish_with_calls();
        }
    }

    /// Replaces the message's content; `logprobs` become `null`.
    pub fn set_text(&mut self, text: &str) {
        self.message.set_text(text);
        self.edited = true;
    }

    /// Reads a choice in place; `position` replaces a missing index, and `body` contains the scanner's text. Returns `None`
    /// if the value is not an object.
    fn scan(scanner: &mut Scanner<'_>, position: usize, body: &Bytes) -> Scanned<Option<Result<Self, AnswerError>>> {
        let start = scanner.start_of_value();
        let (mut index, mut finish_reason, mut message) = (None, None, None);
        let is_object = scanner.object(|scanner, key| {
            match key.as_ref() {
                "index" => index = scanner.value()?.parse().ok(),
                "finish_reason" => finish_reason = scanner.string()?.map(Cow::into_owned),
                "message" => message = Some(ChatMessage::scan(scanner, body)?),
                _ => scanner.skip()?,
            }
            Ok(())
        })?;
        if !is_object {
            return Ok(None);
        }
        let fields = LazyObject::of_text(body.slice(start..scanner.position()));
        let message = message.unwrap_or_else(|| ChatMessage::read(RawObject::default()));
        Ok(Some(message.map(|message| Self {
            index: index.unwrap_or(u32::try_from(position).unwrap_or(u32::MAX)),
            received_finish_reason: finish_reason.clone(),
            finish_reason,
            message: message.into(),
            fields,
            edited: false,
            form: &ChatAnswer,
            finish: None,
        })))
    }

    pub(super) fn is_edited(&self) -> bool {
        self.edited || self.is_finish_reason_edited()
    }

    fn is_finish_reason_edited(&self) -> bool {
        self.form.as_parts().is_none() && self.received_finish_reason != self.finish_reason
    }

    /// Returns the element of a chat completion's `choices`.
    pub(super) fn object(&self) -> RawObject {
        let mut fields = self.fields.members().clone();
        if let Some(message) = self.message.chat().filter(|_| self.edited) {
            fields.set("message", message.fields().to_raw());
            if present(fields.get("logprobs")).is_some() {
                fields.set("logprobs", raw(&()));
            }
        }
        if self.is_finish_reason_edited() {
            fields.set("finish_reason", raw(&self.finish_reason));
        }
        fields
    }
}

/// Returns the only member of an argument object, the text of a custom tool's call.
fn custom_input(arguments: &str) -> Option<String> {
    let arguments = RawObject::parse(arguments).ok()?;
    let input = arguments.get(CUSTOM_INPUT).filter(|_| arguments.iter().count() == 1)?;
    string(input).map(Cow::into_owned)
}

/// Reads the `choices` of a completion in place; `None` if they are `null`. `body` contains the scanner's text.
pub(super) fn scan_choices(
    scanner: &mut Scanner<'_>,
    body: &Bytes,
) -> Scanned<Result<Option<Vec<Choice>>, AnswerError>> {
    let start = scanner.start_of_value();
    let mut choices = Vec::new();
    let (mut are_objects, mut failure) = (true, None);
    let is_list = scanner.array(|scanner| {
        if choices.len() > MAX_CHOICES {
            return scanner.skip();
        }
        match Choice::scan(scanner, choices.len(), body)? {
            Some(Ok(choice)) => choices.push(choice),
            Some(Err(error)) => failure = failure.take().or(Some(error)),
            None => are_objects = false,
        }
        Ok(())
    })?;
    if scanner.between(start, scanner.position()) == "null" {
        return Ok(Ok(None));
    }
    Ok(if !is_list || !are_objects {
        Err(AnswerError::new("the `choices` of the answer are not a list of objects"))
    } else if choices.len() > MAX_CHOICES {
        Err(AnswerError::new(format!("the answer has more than {MAX_CHOICES} choices")))
    } else {
        failure.map_or(Ok(Some(choices)), Err)
    })
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::Completion;

    const CALLING: &str = r#"{"choices":[{"message":{"role":"assistant","content":null,
        "tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#;

    fn completion(text: &str) -> Completion {
        Completion::parse(callwright_types::Protocol::Chat, Bytes::copy_from_slice(text.as_bytes())).unwrap()
    }

    #[test]
    fn the_finish_reason_follows_the_calls() {
        let mut completion = completion(CALLING);
        let choice = &mut completion.choices_mut()[0];
        choice.set_calls(&[]);
        assert_eq!(choice.finish_reason.as_deref(), Some("stop"));
        choice.set_calls(&[Call { id: "n".into(), name: "f".into(), arguments: "{}".into() }]);
        assert_eq!(choice.finish_reason.as_deref(), Some("tool_calls"));
        let value = completion.to_value();
        assert_eq!(value["choices"][0]["finish_reason"], "tool_calls");
        assert_eq!(value["choices"][0]["message"]["tool_calls"][0]["id"], "n");
    }

    #[test]
    fn other_finish_reasons_stay_as_they_came() {
        let mut completion = completion(
            r#"{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"f"}}]},"finish_reason":"length"}]}"#,
        );
        let choice = &mut completion.choices_mut()[0];
        choice.set_calls(&[]);
        assert_eq!(choice.finish_reason.as_deref(), Some("length"));
    }

    #[test]
    fn a_stop_with_calls_is_only_touched_with_them() {
        let text = r#"{"choices":[{"message":{"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"stop"}]}"#;
        let mut completion = completion(text);
        let choice = &mut completion.choices_mut()[0];
        let mut calls = choice.message.calls().to_vec();
        choice.set_calls(&calls);
        assert_eq!(choice.finish_reason.as_deref(), Some("stop"));
        calls[0].name = "g".into();
        choice.set_calls(&calls);
        assert_eq!(choice.finish_reason.as_deref(), Some("tool_calls"));
    }

    #[test]
    fn legacy_answers_get_the_legacy_finish_reason() {
        let text =
            r#"{"choices":[{"message":{"function_call":{"name":"f","arguments":"{}"}},"finish_reason":"stop"}]}"#;
        let mut completion = completion(text);
        let choice = &mut completion.choices_mut()[0];
        let mut calls = choice.message.calls().to_vec();
        calls[0].arguments = r#"{"a":1}"#.into();
        choice.set_calls(&calls);
        assert_eq!(choice.finish_reason.as_deref(), Some("function_call"));
        choice.set_calls(&[]);
        assert_eq!(choice.finish_reason.as_deref(), Some("stop"));
    }

    #[test]
    fn each_choice_is_edited_by_itself() {
        let mut completion =
            completion(r#"{"choices":[{"message":{"content":"a", "k":1.0}},{"index":7,"message":{"content":"b"}}]}"#);
        assert_eq!(completion.choices().iter().map(|choice| choice.index).collect::<Vec<_>>(), [0, 7]);
        completion.choices_mut()[1].set_text("c");
        assert_eq!(
            completion.to_bytes(),
            r#"{"choices":[{"message":{"content":"a", "k":1.0}},{"index":7,"message":{"content":"c"}}]}"#
        );
    }
}
