//! Request of any protocol, parsed in place and edited field by field.

mod chat;
mod edit;
mod fields;
mod messages;
mod provider_state;
mod texts;
mod tools_elsewhere;

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::fields::{ObjectFields, string_in};
use super::message_view::MessageView;
use super::parts::RequestForm;
use super::words::ToolWords;
use super::{RequestError, ToolChoice};
use callwright_types::{Protocol, Tool, ToolKind};
pub(crate) use chat::ChatRequest;
pub(crate) use fields::{Additions, RequestFields, check_arrays, wrong_type};
pub(crate) use texts::visit_members;
pub use tools_elsewhere::ToolsElsewhere;

/// Body of a request for an answer, in any protocol. Unedited parts keep their bytes and order; an unedited request is
/// forwarded as the received bytes.
#[derive(Debug, Clone)]
pub struct ModelRequest {
    protocol: Protocol,
    form: &'static dyn RequestForm,
    original: Bytes,
    /// Shared by clones of a request until one of them is edited.
    fields: Arc<RequestFields>,
    model: String,
    stream: bool,
    choice_count: u32,
    additions: Additions,
    edited: bool,
    /// Views of the client's messages, once they were read; shared by clones until the conversation is edited.
    viewed: OnceLock<Arc<[MessageView<'static>]>>,
    /// Words about tools in the client's conversation, once they were searched for; shared like `viewed`.
    tool_words: Arc<OnceLock<ToolWords>>,
}

impl ModelRequest {
    /// Parses a body of a protocol with this form.
    pub(crate) fn read(protocol: Protocol, form: &'static dyn RequestForm, body: Bytes) -> Result<Self, RequestError> {
        let fields = RequestFields::parse(&body).map_err(|error| unreadable(&error))?;
        form.check(&fields)?;
        let model = match fields.get("model") {
            Some(value) => string_in(value).ok_or_else(|| wrong_type("model", "a string"))?.into_owned(),
            None => String::new(),
        };
        Ok(Self {
            protocol,
            form,
            original: body,
            model,
            stream: scalar(&fields, "stream", "true or false")?.unwrap_or(false),
            choice_count: if protocol == Protocol::Chat { choice_count(&fields)? } else { 1 },
            additions: Additions { legacy_calls: fields.is_legacy(), ..Additions::default() },
            fields: Arc::new(fields),
            edited: false,
            viewed: OnceLock::new(),
            tool_words: Arc::default(),
        })
    }

    /// Protocol of the request.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Returns the size of the received body in bytes.
    pub fn size(&self) -> usize {
        self.original.len()
    }

    /// `model`; empty if the request has none.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// `stream: true`.
    pub fn is_stream(&self) -> bool {
        self.stream
    }

    /// `n`, 1 if it is absent.
    pub fn choice_count(&self) -> u32 {
        self.choice_count
    }

    /// Returns the token limit over all choices; `None` if the request has no limit.
    pub fn max_answer_tokens(&self) -> Option<u64> {
        let of_choice = self.form.max_answer_tokens(&self.fields)?;
        Some(of_choice.saturating_mul(u64::from(self.choice_count)))
    }

    /// `stream_options.include_usage`; true in protocols whose streams always report usage.
    pub fn requests_usage_chunk(&self) -> bool {
        let options = self.fields.get("stream_options").and_then(ObjectFields::parse);
        self.protocol != Protocol::Chat || options.and_then(|options| options.get_as("include_usage")).unwrap_or(false)
    }

    /// Whether an answer may have several calls; true if the request does not state it.
    pub fn parallel_tool_calls(&self) -> bool {
        self.form.parallel_tool_calls(&self.fields)
    }

    /// Whether the request requires JSON as text.
    pub fn requires_json(&self) -> bool {
        self.form.requires_json(&self.fields)
    }

    /// Returns which tools the model may or must call.
    pub fn tool_choice(&self) -> ToolChoice {
        self.form.tool_choice(&self.fields)
    }

    /// Whether the request uses the legacy `functions` or `function_call`, and not `tools`.
    pub fn is_legacy(&self) -> bool {
        self.protocol == Protocol::Chat && self.fields.is_legacy()
    }

    /// Returns the JSON text of the client's own `tools` (or legacy `functions`), a cache key for data derived from
    /// them.
    pub fn tools_text(&self) -> Option<&str> {
        self.fields.get("tools").or_else(|| self.fields.get("functions"))
    }

    /// Returns the client's own tools, those of the provider's API among them. A tool without a valid name is omitted; the
    /// upstream validates it.
    pub fn client_tools(&self) -> Vec<Tool> {
        self.tool_elements().into_iter().flat_map(|element| self.form.read_tools(element)).collect()
    }

    /// Returns the elements of the client's own list of tools: the JSON text of each element and, if it names exactly one
    /// tool that is called by its name, the tool.
    pub fn listed_tools(&self) -> Vec<(Option<Tool>, &str)> {
        let is_named = |tool: &Tool| match tool.kind {
            ToolKind::Function | ToolKind::Custom => true,
            ToolKind::Predefined => self.protocol != Protocol::Responses,
            ToolKind::BuiltIn => false,
        };
        let mut listed = Vec::new();
        for element in self.tool_elements() {
            let mut tools = self.form.read_tools(element);
            let only = tools.pop().filter(|tool| tools.is_empty() && is_named(tool));
            listed.push((only, element.get()));
        }
        listed
    }

    fn tool_elements(&self) -> Vec<&RawValue> {
        self.tools_text().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }
}

/// Reports the position without the text, because error messages may be logged.
fn unreadable(error: &serde_json::Error) -> RequestError {
    let (line, column) = (error.line(), error.column());
    let message = match error.classify() {
        serde_json::error::Category::Data => "The request body is not a JSON object in UTF-8.".to_owned(),
        serde_json::error::Category::Eof => "The request body ends in the middle of its JSON.".to_owned(),
        _ => format!("The request body is not valid JSON: see line {line}, column {column}."),
    };
    RequestError { message, param: None, code: None }
}

fn scalar<T: for<'a> Deserialize<'a>>(
    fields: &RequestFields,
    key: &str,
    expected: &str,
) -> Result<Option<T>, RequestError> {
    let Some(value) = fields.get(key) else { return Ok(None) };
    serde_json::from_str(value).map(Some).map_err(|_| wrong_type(key, expected))
}

fn choice_count(fields: &RequestFields) -> Result<u32, RequestError> {
    const EXPECTED: &str = "a whole number from 1";
    let count: f64 = scalar(fields, "n", EXPECTED)?.unwrap_or(1.0);
    if count.fract() != 0.0 || count < 1.0 || count > f64::from(u32::MAX) {
        return Err(wrong_type("n", EXPECTED));
    }
    Ok(count as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(text: &str) -> ModelRequest {
        ModelRequest::parse(Protocol::Chat, Bytes::copy_from_slice(text.as_bytes())).unwrap()
    }

    fn error(text: &str) -> RequestError {
        ModelRequest::parse(Protocol::Chat, Bytes::copy_from_slice(text.as_bytes())).unwrap_err()
    }

    #[test]
    fn a_request_that_nobody_edits_gives_back_its_very_bytes() {
        let text = "{ \"model\" :\"m\",\n \"seed\": 1.50e3, \"model\":\"m2\",\"messages\":[ ] , \"x\":null}\n";
        let body = Bytes::copy_from_slice(text.as_bytes());
        let request = ModelRequest::parse(Protocol::Chat, body.clone()).unwrap();
        assert_eq!(request.to_bytes().as_ptr(), body.as_ptr());
        assert_eq!(request.model(), "m2");
        assert!(!request.is_edited());
    }

    #[test]
    fn absent_and_null_fields_have_the_documented_defaults() {
        for text in ["{}", r#"{"model":null,"n":null,"stream":null,"messages":null,"tools":null}"#] {
            let request = request(text);
            assert_eq!((request.model(), request.is_stream(), request.choice_count()), ("", false, 1));
            assert!(request.parallel_tool_calls() && !request.requests_usage_chunk());
            assert!(!request.requires_json());
            assert!(request.tools_text().is_none() && request.client_tools().is_empty() && !request.is_legacy());
            assert_eq!(request.tool_choice(), ToolChoice::Auto);
            assert!(request.messages().is_empty());
        }
    }

    #[test]
    fn set_fields_are_read() {
        let request = request(
            r#"{"model":"m","stream":true,"stream_options":{"include_usage":true},"n":2,
                "parallel_tool_calls":false,"tool_choice":"required","response_format":{"type":"json_object"},
                "tools":[{"type":"function","function":{"name":"f"}},{"type":"function"}]}"#,
        );
        assert!(request.is_stream() && request.requests_usage_chunk());
        assert!(request.requires_json());
        assert_eq!((request.choice_count(), request.parallel_tool_calls()), (2, false));
        assert_eq!(request.tool_choice(), ToolChoice::Required);
        let names: Vec<String> = request.client_tools().into_iter().map(|tool| tool.name).collect();
        assert_eq!(names, ["f"]);
    }

    #[test]
    fn legacy_requests_are_known_by_their_fields() {
        let legacy = request(r#"{"functions":[{"name":"f","parameters":{}}],"function_call":{"name":"f"}}"#);
        assert!(legacy.is_legacy());
        assert_eq!(legacy.tool_choice(), ToolChoice::Named("f".into()));
        assert_eq!(legacy.client_tools().len(), 1);
        assert_eq!(legacy.tools_text(), Some(r#"[{"name":"f","parameters":{}}]"#));
        assert!(!request(r#"{"tools":[],"functions":[]}"#).is_legacy());
    }

    #[test]
    fn bodies_without_a_json_object_are_refused_without_a_quote() {
        for text in ["", "[]", "canary", "{\"a\":canary}", "{\"a\":\"canary\"", "\"canary\"", "{} {}"] {
            let error = error(text);
            assert!(!error.message.contains("canary") && error.param.is_none(), "{text}: {error}");
        }
        assert!(ModelRequest::parse(Protocol::Chat, Bytes::from_static(b"{\"a\":\"\xff\"}")).is_err());
    }

    #[test]
    fn fields_of_the_wrong_type_are_named() {
        for (text, param) in [
            (r#"{"model":5}"#, "model"),
            (r#"{"messages":{}}"#, "messages"),
            (r#"{"tools":"f"}"#, "tools"),
            (r#"{"stream":"yes"}"#, "stream"),
            (r#"{"n":0}"#, "n"),
            (r#"{"n":1.5}"#, "n"),
            (r#"{"n":1e300}"#, "n"),
        ] {
            assert_eq!(error(text).param.as_deref(), Some(param), "{text}");
        }
        assert_eq!(request(r#"{"n":3.0}"#).choice_count(), 3);
    }

    #[test]
    fn deep_nesting_is_passed_on_without_recursion() {
        let text = format!("{{\"x\":{}{}}}", "[".repeat(200_000), "]".repeat(200_000));
        assert_eq!(request(&text).to_bytes(), text);
    }
}
