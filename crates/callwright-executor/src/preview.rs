//! Preview of the request of a call, without sending it.

use bytes::Bytes;
use http::{HeaderMap, Method};
use url::Url;

use super::executor::vouched_for;
use super::idempotency::{new_key, with_key};
use super::intent::intent_key;
use super::request::{self, ApiRequest};
use callwright_judge::scanner::CheckedCall;
use callwright_openapi::Operation;
use callwright_types::Outcome;

/// Request of a call as it would be sent, without credentials.
#[derive(Debug, Clone)]
pub struct Preview {
    /// HTTP method.
    pub method: Method,
    /// Complete URL: server, path and query.
    pub url: Url,
    /// Header fields that result from the call and its body; the connection adds its own.
    pub headers: HeaderMap,
    /// Body, if any.
    pub body: Option<Bytes>,
}

/// Builds the same request for `call` as [`super::Executor::execute`], with the same code. If the operation documents
/// an idempotency key, the request contains one that no real execution uses.
///
/// # Errors
/// [`Outcome::Refused`] if the arguments cannot be encoded safely, the operation has no usable server, or the call
/// belongs to another tool.
pub fn preview(call: &CheckedCall, operation: &Operation) -> Result<Preview, Outcome> {
    vouched_for(call, operation)?;
    let ApiRequest { method, url, headers, body } = match &operation.idempotency_key {
        Some(parameter) => {
            let execution = intent_key(None, "", operation.own_name(), call.arguments());
            let key = new_key(&execution, "", 0, parameter);
            request::build(operation, &with_key(call.arguments(), parameter, &key))?
        }
        None => request::build(operation, call.arguments())?,
    };
    Ok(Preview { method, url, headers, body })
}
