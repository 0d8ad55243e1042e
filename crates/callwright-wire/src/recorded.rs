//! A recorded answer with the relevant parts of its request, as one line of a file.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::chat_message::ChatMessage;
use super::fields::{ObjectFields, present, string};
use super::forms::{answer_form, request_form};
use super::message_view::MessageView;
use super::parts::{PartsMessage, RequestForm};
use super::request::{RequestFields, visit_members};
use super::{AnswerError, AssistantMessage, ModelRequest, ToolChoice};
use callwright_common::json::RawObject;
use callwright_types::{Protocol, RequestPart, Tool};

/// Role of user messages.
const USER: &str = "user";

/// Members with texts that the model was given.
const REQUEST: [&str; 10] = [
    "messages", "input", "tools", "functions", "system", "instructions", "previous_response_id", "conversation",
    "prompt", "thread",
];

/// Members besides the list of tools by which a request has tools.
const TOOL_PLACES: [&str; 6] = ["messages", "input", "previous_response_id", "conversation", "prompt", "thread"];

/// JSON object with the data for judging an answer, under the names of requests and choices: `messages` (or `input`),
/// `tools`, `tool_choice`, `response_format` (or `text`, `output_config`), `finish_reason`, and the model's `message`
/// unless it is stored elsewhere. In Responses, `message` is the response with its `output`, in Messages the message with
/// its `content`. Members for state that the provider keeps are those of a request. Other members belong to the caller.
#[derive(Debug)]
pub struct RecordedAnswer<'a> {
    fields: ObjectFields<'a>,
    protocol: Protocol,
    /// The same members, as those of a request.
    request: RequestFields,
}

impl<'a> RecordedAnswer<'a> {
    /// Parses one line. The protocol is that of its member `protocol`, or else follows from the form of `message`,
    /// `input` and `tools`.
    ///
    /// # Errors
    /// Fails if it is not a JSON object.
    pub fn parse(text: &'a str) -> Result<Self, AnswerError> {
        let fields: ObjectFields<'a> =
            serde_json::from_str(text).map_err(|error| AnswerError::new(unreadable(&error)))?;
        Self::parse_in(protocol_of(&fields), text)
    }

    /// Parses a line whose protocol is known, as [`RecordedAnswer::parse`] does.
    ///
    /// # Errors
    /// Fails if it is not a JSON object.
    pub fn parse_in(protocol: Protocol, text: &'a str) -> Result<Self, AnswerError> {
        let unreadable = |error| AnswerError::new(unreadable(&error));
        let fields = serde_json::from_str(text).map_err(unreadable)?;
        Ok(Self { fields, protocol, request: RequestFields::parse(text.as_bytes()).map_err(unreadable)? })
    }

    /// Protocol of the answer.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Whether the line has the conversation before the answer.
    pub fn has_conversation(&self) -> bool {
        self.fields.get(self.form().conversation_key()).is_some()
    }

    fn form(&self) -> &'static dyn RequestForm {
        request_form(self.protocol)
    }

    /// Returns a member that belongs to the caller; `None` if it is absent or `null`.
    pub fn member(&self, name: &str) -> Option<&'a RawValue> {
        self.fields.get(name)
    }

    /// Returns the assistant's message.
    ///
    /// # Errors
    /// Fails if it is absent or not an object.
    pub fn message(&self) -> Result<AssistantMessage, AnswerError> {
        let message = self.fields.get("message").ok_or_else(|| {
            AnswerError::new("there is no `message`; give the assistant's message as an object with `content` or calls")
        })?;
        let fields = RawObject::parse(message.get())
            .map_err(|_| AnswerError::new("`message` is not an object; give the assistant's message with its role"))?;
        Ok(match answer_form(self.protocol).as_parts() {
            Some(form) => PartsMessage::read_message(form, &fields)?.into(),
            None => ChatMessage::read(fields)?.into(),
        })
    }

    /// Returns the messages of the request before the answer; empty if the line has none.
    pub fn messages(&self) -> Vec<MessageView<'_>> {
        self.form().views(&self.request, &[])
    }

    /// Passes all texts of the request, and its other content, to `visit`.
    pub fn visit_parts(&self, visit: &mut dyn FnMut(RequestPart<'_>)) {
        let members = self.fields.iter().filter(|(key, _)| REQUEST.contains(key));
        let members: Vec<(&str, &str)> = members.map(|(key, value)| (key, value.get())).collect();
        visit_members(&members, self.form(), visit);
    }

    /// Returns the text of the last user message.
    pub fn last_of_the_user(&self) -> Option<String> {
        let mut messages = self.messages();
        let last = messages.iter().rposition(|message| message.role == USER)?;
        messages.swap_remove(last).text.map(std::borrow::Cow::into_owned)
    }

    /// Returns the JSON text of the line's own `tools` (or legacy `functions`), if any.
    ///
    /// # Errors
    /// Fails if it is not a list.
    pub fn tools_text(&self) -> Result<Option<&'a str>, AnswerError> {
        match self.fields.get("tools").or_else(|| self.fields.get("functions")).map(RawValue::get) {
            Some(text) if !text.starts_with('[') => {
                Err(AnswerError::new("`tools` is not a list; give the tools as a request offers them"))
            }
            text => Ok(text),
        }
    }

    /// Returns the part of the request that has tools, with `tools` as its own list; `None` if it is not a request.
    pub fn request(&self, tools: &str) -> Option<ModelRequest> {
        let mut request = RawObject::default();
        for key in TOOL_PLACES {
            if let Some(value) = self.fields.get(key) {
                request.set(key, value.to_owned());
            }
        }
        request.set("tools", RawValue::from_string(tools.to_owned()).ok()?);
        ModelRequest::parse(self.protocol, request.to_raw().get().as_bytes().to_vec().into()).ok()
    }

    /// Whether the conversation brings tools, which need no list.
    pub fn brings_tools(&self) -> bool {
        self.request("[]").is_some_and(|request| request.tools_elsewhere().lists().next().is_some())
    }

    /// Returns `tool_choice`, or the legacy `function_call`.
    pub fn tool_choice(&self) -> ToolChoice {
        self.form().tool_choice(&self.request)
    }

    /// Whether the answer's text must be JSON.
    pub fn requires_json(&self) -> bool {
        self.form().requires_json(&self.request)
    }

    /// Whether the answer is incomplete.
    pub fn is_cut_off(&self) -> bool {
        let form = answer_form(self.protocol);
        let own = self.fields.string("finish_reason").map(Cow::into_owned);
        let reason = own.or_else(|| form.finish_reason(&RawObject::parse(self.fields.get("message")?.get()).ok()?));
        reason.is_some_and(|reason| form.is_cut_off(&reason))
    }
}

/// Returns the protocol of a line.
fn protocol_of(fields: &ObjectFields<'_>) -> Protocol {
    if let Some(protocol) = fields.get_as("protocol") {
        return protocol;
    }
    let message = fields.object("message");
    let has_output = message.as_ref().is_some_and(|message| message.get("output").is_some());
    if has_output || (fields.get("input").is_some() && fields.get("messages").is_none()) {
        return Protocol::Responses;
    }
    let is_message = message.is_some_and(|message| {
        message.string("type").as_deref() == Some("message")
            && message.get("content").is_some_and(|content| content.get().starts_with('['))
    });
    let tools = fields.items("tools").unwrap_or_default();
    let has_input_schema =
        tools.iter().filter_map(|tool| ObjectFields::parse(tool.get())).any(|tool| tool.get("input_schema").is_some());
    if is_message || has_input_schema { Protocol::Messages } else { Protocol::Chat }
}

/// Returns an identifier: a string, or a number as its digits.
pub fn name_of(member: &RawValue) -> Option<String> {
    let text = member.get();
    let is_number = text.starts_with(|first: char| first == '-' || first.is_ascii_digit());
    string(member).map(Into::into).or_else(|| is_number.then(|| text.to_owned()))
}

/// Parses the text of `tools` in the form of any protocol. A tool without a valid name is omitted, as in a request.
pub fn read_tools(text: &str) -> Vec<Tool> {
    let elements: Vec<&RawValue> = serde_json::from_str(text).unwrap_or_default();
    let elements = elements.into_iter().filter(|element| present(Some(element)).is_some());
    elements.flat_map(read_any_tool).collect()
}

/// Reads an element by its form: Messages has `input_schema`, or a name beside a type of its own; Responses has
/// namespaces, and types without a name.
fn read_any_tool(element: &RawValue) -> Vec<Tool> {
    let Some(fields) = ObjectFields::parse(element.get()) else { return Vec::new() };
    let kind = fields.string("type").filter(|kind| !matches!(kind.as_ref(), "function" | "custom"));
    let has_definition = fields.get("function").is_some();
    let protocol = match kind.as_deref() {
        _ if fields.get("input_schema").is_some() => Protocol::Messages,
        Some(_) if has_definition => Protocol::Chat,
        Some(kind) if kind != "namespace" && fields.get("name").is_some() => Protocol::Messages,
        Some(_) => Protocol::Responses,
        None => Protocol::Chat,
    };
    request_form(protocol).read_tools(element)
}

fn unreadable(error: &serde_json::Error) -> String {
    match error.classify() {
        serde_json::error::Category::Data => "the line is not a JSON object".to_owned(),
        serde_json::error::Category::Eof => {
            "the line ends in the middle of its JSON; a record must be on one line".to_owned()
        }
        _ => format!("the line is not valid JSON: see column {}", error.column()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(text: &str) -> RecordedAnswer<'_> {
        RecordedAnswer::parse(text).unwrap()
    }

    #[test]
    fn what_bears_on_judgement_is_read() {
        let text = r#"{"id":7,"message":{"content":"hi"},"tools":[{"type":"function","function":{"name":"f"}}, null],
            "tool_choice":"none","response_format":{"type":"json_schema","json_schema":{}},"finish_reason":"length","n":"x"}"#;
        let answer = answer(text);
        assert_eq!(answer.message().unwrap().text().as_deref(), Some("hi"));
        assert_eq!(read_tools(answer.tools_text().unwrap().unwrap())[0].name, "f");
        assert_eq!(answer.tool_choice(), ToolChoice::None);
        assert!(answer.requires_json() && answer.is_cut_off());
        assert_eq!(answer.member("id").and_then(name_of).as_deref(), Some("7"));
    }

    #[test]
    fn what_is_absent_or_null_restricts_nothing() {
        for text in [r"{}", r#"{"tools":null,"tool_choice":null,"response_format":null,"finish_reason":"stop"}"#] {
            let answer = answer(text);
            assert_eq!(answer.tools_text().unwrap(), None);
            assert_eq!(answer.tool_choice(), ToolChoice::Auto);
            assert!(!answer.requires_json() && !answer.is_cut_off());
            assert!(answer.message().unwrap_err().message.contains("no `message`"));
        }
        assert!(!answer(r#"{"response_format":{"type":"text"}}"#).requires_json());
    }

    #[test]
    fn lines_of_another_form_say_why_and_quote_nothing() {
        for (text, word) in [
            ("", "middle"),
            ("[\"canary\"]", "not a JSON object"),
            ("{\"canary\":", "middle"),
            ("{\"canary\":1} x", "column 14"),
        ] {
            let error = RecordedAnswer::parse(text).unwrap_err().message;
            assert!(error.contains(word) && !error.contains("canary"), "{error}");
        }
        assert!(answer(r#"{"message":"canary"}"#).message().unwrap_err().message.contains("not an object"));
        assert!(answer(r#"{"tools":{}}"#).tools_text().unwrap_err().message.contains("not a list"));
    }

    #[test]
    fn names_are_strings_and_numbers() {
        let name = |text: &str| name_of(&RawValue::from_string(text.to_owned()).unwrap());
        assert_eq!(name(r#""a\u0062""#).as_deref(), Some("ab"));
        assert_eq!(name("-1").as_deref(), Some("-1"));
        assert_eq!((name("true"), name("[1]")), (None, None));
    }

    #[test]
    fn lines_of_other_protocols_are_recognised_by_their_form() {
        let responses = answer(
            r#"{"input":"Hi","tools":[{"type":"function","name":"f","parameters":{}}],
                "message":{"output":[{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}],"status":"completed"}}"#,
        );
        assert_eq!(responses.protocol(), Protocol::Responses);
        assert_eq!(responses.message().unwrap().calls()[0].name, "f");
        assert_eq!(responses.last_of_the_user().as_deref(), Some("Hi"));
        assert_eq!(read_tools(responses.tools_text().unwrap().unwrap())[0].name, "f");
        let messages = answer(
            r#"{"messages":[{"role":"user","content":"Hi"}],"tools":[{"name":"f","input_schema":{"type":"object"}}],
                "message":{"type":"message","content":[{"type":"tool_use","id":"a","name":"f","input":{}}],"stop_reason":"max_tokens"}}"#,
        );
        assert_eq!(messages.protocol(), Protocol::Messages);
        assert_eq!(messages.message().unwrap().calls()[0].arguments, "{}");
        assert!(messages.is_cut_off() && messages.has_conversation());
        assert_eq!(read_tools(messages.tools_text().unwrap().unwrap())[0].name, "f");
    }
}
