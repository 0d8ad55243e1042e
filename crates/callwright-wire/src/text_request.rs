//! The proxy's own requests for a text completion.

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Value, json};

use super::fields::object;
use callwright_common::json::raw;

/// Author of a message in the proxy's own request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Instructions for the model.
    System,
    /// Input for the model.
    User,
    /// Earlier response of the model.
    Assistant,
}

/// Request for one text.
#[derive(Debug, Clone, Copy)]
pub struct TextRequest<'a> {
    /// Name of the model.
    pub model: &'a str,
    /// Texts with their authors, in order.
    pub messages: &'a [(Role, String)],
    /// Sampling temperature; without it, the model's default applies.
    pub temperature: Option<f64>,
    /// JSON Schema for strict mode that the text, a JSON, must match.
    pub form: Option<&'a Value>,
    /// Maximum length of the text.
    pub limit: AnswerLimit,
}

/// Maximum number of tokens of the text, under the member that the provider accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerLimit {
    /// `max_tokens`, which nearly all providers accept.
    Tokens(u64),
    /// `max_completion_tokens`, which reasoning models require.
    CompletionTokens(u64),
}

/// Returns the body of a request.
pub fn text_request(request: &TextRequest<'_>) -> Bytes {
    let TextRequest { model, messages, temperature, form, limit } = *request;
    let messages: Vec<Value> =
        messages.iter().map(|(role, content)| json!({"role": role, "content": content})).collect();
    let mut request = object([("model", raw(model)), ("messages", raw(&messages))]);
    match limit {
        AnswerLimit::Tokens(most) => request.set("max_tokens", raw(&most)),
        AnswerLimit::CompletionTokens(most) => request.set("max_completion_tokens", raw(&most)),
    }
    if let Some(temperature) = temperature {
        request.set("temperature", raw(&temperature));
    }
    if let Some(schema) = form {
        let schema = json!({"name": "answer", "strict": true, "schema": schema});
        request.set("response_format", raw(&json!({"type": "json_schema", "json_schema": schema})));
    }
    request.set("stream", raw(&false));
    request.to_raw().get().as_bytes().to_vec().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_says_who_says_what() {
        let messages = [(Role::System, "Be \"brief\".".to_owned()), (Role::User, "Hi".to_owned())];
        let limit = AnswerLimit::Tokens(9);
        let request = TextRequest { model: "m", messages: &messages, temperature: Some(0.0), form: None, limit };
        assert_eq!(
            text_request(&request),
            r#"{"model":"m","messages":[{"role":"system","content":"Be \"brief\"."},{"role":"user","content":"Hi"}],"max_tokens":9,"temperature":0.0,"stream":false}"#
        );
        let limit = AnswerLimit::CompletionTokens(9);
        let plain = TextRequest { messages: &[], temperature: None, limit, ..request };
        assert_eq!(text_request(&plain), r#"{"model":"m","messages":[],"max_completion_tokens":9,"stream":false}"#);
        let form = serde_json::json!({"type": "object"});
        assert_eq!(
            text_request(&TextRequest { form: Some(&form), ..plain }),
            r#"{"model":"m","messages":[],"max_completion_tokens":9,"response_format":{"type":"json_schema","json_schema":{"name":"answer","strict":true,"schema":{"type":"object"}}},"stream":false}"#
        );
    }
}
