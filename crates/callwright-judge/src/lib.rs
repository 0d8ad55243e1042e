//! Judges the tool calls of a model: validates them against their JSON Schema, repairs them, rescues calls that were
//! written as text, and explains the remaining faults to the model.
//!
//! [`judge_message`] is the entry. It takes one answer of a model ([`Spoken`]), the offered tools ([`ToolSet`]), the rules
//! ([`ScanRules`], [`RepairRules`]) and optional facts ([`Context`]), and returns a [`JudgedMessage`]: its calls
//! ([`JudgedCall`]), their repairs and faults ([`Diagnosis`]), and the [`Verdict`].
//!
//! The crate needs no proxy and no network. It never calls a model, and never executes a call.
//!
//! - **Scan**: finds the faults of a call ([`FaultCode`]): an unknown tool, a wrong or missing parameter, a value that
//!   violates the schema, a placeholder, a repeated call. A [`CheckedCall`] is a call that passed the scan.
//! - **Repair**: changes a faulty call where the change loses nothing: names in another spelling, `"3"` for a number,
//!   malformed JSON, a `null` for an optional parameter.
//! - **Rescue**: converts calls that the model wrote into its text, in the notations of the common model families, as
//!   code or as JSON.
//! - **Feedback**: renders messages that describe the faults to the model, with an example that matches the schema.
//!
//! The time is linear in the answer for any text. A [`JudgementBudget`](scanner::JudgementBudget) bounds it further.
//!
//! # Example
//!
//! ```
//! use std::sync::Arc;
//!
//! use callwright_judge::{
//!     Call, Context, Evidence, Owner, RepairRules, ScanRules, Situation, Spoken, Tool, ToolKind, ToolSet, Validators,
//!     Verdict, feedback, judge_message,
//! };
//!
//! let tool = Tool {
//!     name: "get_weather".to_owned(),
//!     description: "Returns the forecast for a city.".to_owned(),
//!     parameters: Arc::new(serde_json::json!({
//!         "type": "object",
//!         "properties": { "city": { "type": "string" }, "days": { "type": "integer", "minimum": 1 } },
//!         "required": ["city"],
//!     })),
//!     kind: ToolKind::Function,
//!     reads: None,
//!     owner: Owner::Client,
//!     namespace: None,
//! };
//! let tools = ToolSet::compile(vec![Arc::new(tool)], &Validators::default());
//! let (scan, repair, context) = (ScanRules::default(), RepairRules::default(), Context::default());
//! let situation = Situation::with(Evidence::Alone);
//!
//! // A native call with the wrong spelling of two names and a string for a number: repaired without the model.
//! let arguments = r#"{"City": "Oslo", "days": "3"}"#.to_owned();
//! let calls = [Call { id: "call_1".to_owned(), name: "getWeather".to_owned(), arguments }];
//! let answer = Spoken { text: None, calls: &calls, situation };
//! let judged = judge_message(&answer, &tools, &scan, &repair, &context);
//! assert_eq!(judged.verdict(), Verdict::Repaired);
//! assert_eq!(judged.calls[0].repaired.name, "get_weather");
//! assert_eq!(judged.calls[0].repaired.arguments, r#"{"city":"Oslo","days":3}"#);
//!
//! // A call as text, with a value that only the model can correct: feedback for the next request.
//! let text = r#"<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo", "days": 0}}</tool_call>"#;
//! let answer = Spoken { text: Some(text), calls: &[], situation };
//! let judged = judge_message(&answer, &tools, &scan, &repair, &context);
//! assert_eq!(judged.verdict(), Verdict::Faulty);
//! let call = &judged.calls[0];
//! let faults = call.result.as_ref().unwrap_err();
//! assert_eq!((faults[0].code.code(), faults[0].path.as_str()), ("E4.2", "/days"));
//! let message = feedback::faulty_call(&call.repaired, faults, &tools);
//! assert!(message.contains("must be at least 1"));
//! ```
//!
//! # Where to look next
//!
//! - [`JudgedMessage::or_no_answer`]: the judgement of an answer that is empty.
//! - [`scanner`]: validation alone ([`scanner::scan`]), and its optional inputs: the conversation, the relevance of the
//!   tools, the semantic similarity of names, a budget ([`Context`]).
//! - [`repair`]: repair of one call ([`repair::repair_call`], [`repair::judge`]).
//! - [`repair::rescue`]: calls in text ([`repair::rescue::rescue`]) and streamed text ([`repair::rescue::hold`]).
//! - [`feedback`]: all messages.
//! - [`ScanRules`] and [`RepairRules`]: which faults reject a call, and which repairs are allowed.

#![warn(missing_docs)]

pub use callwright_scanner as scanner;
pub use callwright_scanner::{CheckedCall, Context, ToolSet, Validators};
pub use callwright_types::rules::{Evidence, RepairRules, ScanRules};
pub use callwright_types::{Call, Diagnosis, FaultCode, Owner, Repair, RepairKind, Tool, ToolKind, Verdict};
pub use repair::rescue::Situation;
pub use repair::{JudgedCall, JudgedMessage, Spoken, judge_message};

pub mod feedback;
#[cfg(test)]
mod generated;
pub mod repair;
