//! What a call would send, without sending it.

use bytes::Bytes;
use http::{HeaderMap, Method};
use url::Url;

use super::executor::vouched_for;
use super::idempotency::{new_key, with_key};
use super::intent::intent_key;
use super::request::{self, Request};
use callwright_judge::scanner::CheckedCall;
use callwright_openapi::Operation;
use callwright_types::Outcome;

/// The request of a call as it would leave, but for its credentials.
#[derive(Debug, Clone)]
pub struct Preview {
    /// The method.
    pub method: Method,
    /// The whole address: the server's, the path and the query.
    pub url: Url,
    /// The header fields that the call and its body make; the connection adds its own.
    pub headers: HeaderMap,
    /// The body, where there is one.
    pub body: Option<Bytes>,
}

/// The request that [`super::Executor::execute`] makes of `call`, by the same code. An operation that documents an idempotency key has one,
/// which no real execution uses.
///
/// # Errors
/// [`Outcome::Refused`] where the arguments cannot be written safely, the operation has no usable server, or the call is of another tool.
pub fn preview(call: &CheckedCall, operation: &Operation) -> Result<Preview, Outcome> {
    vouched_for(call, operation)?;
    let Request { method, url, headers, body } = match &operation.idempotency_key {
        Some(wanted) => {
            let execution = intent_key(None, "", operation.own_name(), call.arguments());
            let key = new_key(&execution, "", 0, wanted);
            request::build(operation, &with_key(call.arguments(), wanted, &key))?
        }
        None => request::build(operation, call.arguments())?,
    };
    Ok(Preview { method, url, headers, body })
}
