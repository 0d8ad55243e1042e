//! A request of our own that asks for a text.

use bytes::Bytes;
use serde::Serialize;

use crate::domain::json::raw;

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
    stream: bool,
}

#[derive(Serialize)]
struct Message<'a> {
    role: Role,
    content: &'a str,
}

/// The body of a request for one text; without a temperature, at the model's own.
pub fn text_request(model: &str, messages: &[(Role, String)], temperature: Option<f64>) -> Bytes {
    let messages = messages.iter().map(|(role, content)| Message { role: *role, content }).collect();
    raw(&Request { model, messages, temperature, stream: false }).get().as_bytes().to_vec().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_says_who_says_what() {
        let messages = [(Role::System, "Be \"brief\".".to_owned()), (Role::User, "Hi".to_owned())];
        assert_eq!(
            text_request("m", &messages, Some(0.0)),
            r#"{"model":"m","messages":[{"role":"system","content":"Be \"brief\"."},{"role":"user","content":"Hi"}],"temperature":0.0,"stream":false}"#
        );
        assert_eq!(text_request("m", &[], None), r#"{"model":"m","messages":[],"stream":false}"#);
    }
}
