//! A request of our own that asks for a text.

use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;

use callwright_common::json::raw;

/// Who says a message of a request of our own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// What the model is to do.
    System,
    /// What it is to do it with.
    User,
    /// What it answered.
    Assistant,
}

#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    messages: Vec<Message<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<ResponseFormat<'a>>,
    stream: bool,
}

/// Structured outputs: the text is a JSON that fits a schema.
#[derive(Serialize)]
struct ResponseFormat<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    json_schema: JsonSchema<'a>,
}

#[derive(Serialize)]
struct JsonSchema<'a> {
    name: &'static str,
    strict: bool,
    schema: &'a Value,
}

#[derive(Serialize)]
struct Message<'a> {
    role: Role,
    content: &'a str,
}

/// The body of a request for one text; without a temperature, at the model's own. With a form, a JSON Schema of strict form, the text is to
/// be a JSON that fits it.
pub fn text_request(model: &str, messages: &[(Role, String)], temperature: Option<f64>, form: Option<&Value>) -> Bytes {
    let messages = messages.iter().map(|(role, content)| Message { role: *role, content }).collect();
    let format = |schema| ResponseFormat {
        kind: "json_schema",
        json_schema: JsonSchema { name: "answer", strict: true, schema },
    };
    let request = Request { model, messages, temperature, response_format: form.map(format), stream: false };
    raw(&request).get().as_bytes().to_vec().into()
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
