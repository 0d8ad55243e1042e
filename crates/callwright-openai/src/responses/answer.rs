//! Complete answers.

use bytes::Bytes;
use http::StatusCode;
use serde_json::value::RawValue;

use crate::parts::{AnswerForm, Finish, PartKind};
use crate::{AnswerError, ErrorBody};
use callwright_common::json::RawObject;
use callwright_types::{Call, Usage};

/// Answers of this protocol.
#[derive(Debug)]
pub(crate) struct ResponsesAnswer;

impl AnswerForm for ResponsesAnswer {
    fn parts_key(&self) -> &'static str {
        unimplemented!()
    }
    fn read_part(&self, _part: &RawValue) -> PartKind {
        unimplemented!()
    }
    fn with_call(&self, _part: Option<&RawValue>, _call: &Call) -> Box<RawValue> {
        unimplemented!()
    }
    fn with_text(&self, _part: Option<&RawValue>, _text: &str) -> Box<RawValue> {
        unimplemented!()
    }
    fn finish_reason(&self, _fields: &RawObject) -> Option<String> {
        unimplemented!()
    }
    fn is_cut_off(&self, _reason: &str) -> bool {
        unimplemented!()
    }
    fn contradicts_calls(&self, _reason: &str) -> bool {
        unimplemented!()
    }
    fn set_finish(&self, _fields: &mut RawObject, _finish: Finish) {
        unimplemented!()
    }
    fn usage(&self, _fields: &RawObject) -> Option<Usage> {
        unimplemented!()
    }
    fn set_usage(&self, _fields: &mut RawObject, _usage: Usage) {
        unimplemented!()
    }
    fn minted(&self, _model: &str) -> RawObject {
        unimplemented!()
    }
    fn failure(&self, _fields: &RawObject) -> Option<AnswerError> {
        unimplemented!()
    }
    fn error_body(&self, _error: &ErrorBody, _status: StatusCode) -> Bytes {
        unimplemented!()
    }
}
