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

/// Returns the body of a request for one text. Without `temperature`, the model's default applies. `form` is a JSON
/// Schema for strict mode that the text, a JSON, must match.
pub fn text_request(model: &str, messages: &[(Role, String)], temperature: Option<f64>, form: Option<&Value>) -> Bytes {
    let messages: Vec<Value> =
        messages.iter().map(|(role, content)| json!({"role": role, "content": content})).collect();
    let mut request = object([("model", raw(model)), ("messages", raw(&messages))]);
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
        assert_eq!(
            text_request("m", &messages, Some(0.0), None),
            r#"{"model":"m","messages":[{"role":"system","content":"Be \"brief\"."},{"role":"user","content":"Hi"}],"temperature":0.0,"stream":false}"#
        );
        assert_eq!(text_request("m", &[], None, None), r#"{"model":"m","messages":[],"stream":false}"#);
        let form = serde_json::json!({"type": "object"});
        assert_eq!(
            text_request("m", &[], None, Some(&form)),
            r#"{"model":"m","messages":[],"response_format":{"type":"json_schema","json_schema":{"name":"answer","strict":true,"schema":{"type":"object"}}},"stream":false}"#
        );
    }
}
