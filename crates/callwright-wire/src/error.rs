//! Errors on the wire: the error body for clients, and errors from parsing requests and responses.

use bytes::Bytes;
use serde_json::json;

/// Error code with which a server of Messages refuses a `thread`; clients may repeat the request without one.
pub const THREAD_UNSUPPORTED: &str = "thread_unsupported_request";

/// Body of an OpenAI error response. It is written as `{"error": {"message", "type", "param", "code"}}`; absent
/// members are `null`, as in OpenAI's responses (API reference, "Error codes").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorBody {
    /// Human-readable description of the error and its remedy.
    pub message: String,
    /// Error class, `type` on the wire: `invalid_request_error`, `upstream_error` and so on.
    pub kind: String,
    /// Request field that caused the error.
    pub param: Option<String>,
    /// Stable identifier of the error, for programs.
    pub code: Option<String>,
}

impl ErrorBody {
    /// Creates an error that no field of the request caused.
    pub fn new(kind: &str, code: &str, message: impl Into<String>) -> Self {
        Self { message: message.into(), kind: kind.to_owned(), param: None, code: Some(code.to_owned()) }
    }

    /// Returns the JSON text.
    pub fn to_bytes(&self) -> Bytes {
        let Self { message, kind, param, code } = self;
        json!({"error": {"message": message, "type": kind, "param": param, "code": code}}).to_string().into()
    }
}

/// Error for an invalid request body. The client receives status 400 with type `invalid_request_error`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RequestError {
    /// Description of the error and its remedy.
    pub message: String,
    /// Request field that caused the error.
    pub param: Option<String>,
    /// Stable identifier of the error, if it has one.
    pub code: Option<String>,
}

impl RequestError {
    /// Creates an error that the field `param` of the request caused.
    pub fn new(param: &str, code: &str, message: impl Into<String>) -> Self {
        Self { message: message.into(), param: Some(param.to_owned()), code: Some(code.to_owned()) }
    }
}

impl From<RequestError> for ErrorBody {
    fn from(error: RequestError) -> Self {
        let RequestError { message, param, code } = error;
        Self { message, kind: "invalid_request_error".to_owned(), param, code }
    }
}

/// Error for an upstream response that cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct AnswerError {
    /// Description of the error; never quotes the response's text.
    pub message: String,
}

impl AnswerError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_body_has_the_four_members_clients_read() {
        let error = RequestError { message: "no".into(), param: Some("model".into()), code: None };
        let text = ErrorBody::from(error).to_bytes();
        assert_eq!(
            text.as_ref(),
            br#"{"error":{"message":"no","type":"invalid_request_error","param":"model","code":null}}"#
        );
    }
}
