//! Errors on the wire: what a client reads, and what goes wrong when a request or an answer is read.

use bytes::Bytes;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

/// The body of an OpenAI error answer. It serialises as `{"error": {"message", "type", "param", "code"}}`; absent members
/// are `null`, as OpenAI sends them (API reference, "Error codes").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorBody {
    /// What happened and what to do about it, for a person.
    pub message: String,
    /// The class, on the wire `type`: `invalid_request_error`, `upstream_error` and so on.
    pub kind: String,
    /// The field of the request that is at fault.
    pub param: Option<String>,
    /// A stable name of the error, for programs.
    pub code: Option<String>,
}

impl ErrorBody {
    /// The JSON text.
    pub fn to_bytes(&self) -> Bytes {
        callwright_common::json::raw(self).get().as_bytes().to_vec().into()
    }
}

impl Serialize for ErrorBody {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Inner<'a> {
            message: &'a str,
            r#type: &'a str,
            param: Option<&'a str>,
            code: Option<&'a str>,
        }
        let mut outer = serializer.serialize_struct("ErrorBody", 1)?;
        let inner = Inner {
            message: &self.message,
            r#type: &self.kind,
            param: self.param.as_deref(),
            code: self.code.as_deref(),
        };
        outer.serialize_field("error", &inner)?;
        outer.end()
    }
}

/// A request body that cannot be read. The client gets it as status 400, type `invalid_request_error`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RequestError {
    /// What is wrong and how to mend it.
    pub message: String,
    /// The field at fault.
    pub param: Option<String>,
    /// A stable name of the error, where there is one.
    pub code: Option<String>,
}

impl From<RequestError> for ErrorBody {
    fn from(error: RequestError) -> Self {
        let RequestError { message, param, code } = error;
        Self { message, kind: "invalid_request_error".to_owned(), param, code }
    }
}

/// An upstream's answer that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct AnswerError {
    /// What is wrong with it; never quotes the answer's text.
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
