//! Output line with the verdict on an answer.

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use callwright_common::json::{Pointer, raw};
use callwright_common::limits::WORD_CHARS;
use callwright_common::text::excerpt;
use callwright_judge::repair::{JudgedCall, JudgedMessage};
use callwright_types::{Diagnosis, FaultCode, Repair, RepairKind, Verdict};

/// Members of the line, in order.
#[derive(Serialize)]
struct VerdictLine<'a> {
    id: &'a RawValue,
    verdict: Verdict,
    calls: Vec<FinalCall<'a>>,
    diagnoses: Vec<VerdictFinding<'a>>,
    /// Faults that policy only notes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    advice: Vec<VerdictFinding<'a>>,
    actions: Vec<String>,
}

/// Call after repair.
#[derive(Serialize)]
struct FinalCall<'a> {
    name: &'a str,
    arguments: Box<RawValue>,
}

/// Diagnosis without the members for feedback.
#[derive(Serialize)]
struct VerdictFinding<'a> {
    code: FaultCode,
    call: usize,
    path: &'a Pointer,
    message: &'a str,
    /// Reason why no call could be read (E1): `unreadable`, `cut_off`, `unknown_tool`, `arguments`, `expression`,
    /// `unsure`.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

impl<'a> VerdictFinding<'a> {
    fn of(found: &'a Diagnosis) -> Self {
        let reason = found.reason();
        Self { code: found.code, call: found.call, path: &found.path, message: &found.message, reason }
    }
}

/// Returns the line of the output for the answer with this id.
pub(super) fn verdict_line(id: &RawValue, judged: &JudgedMessage) -> Box<RawValue> {
    raw(&VerdictLine {
        id,
        verdict: judged.verdict(),
        calls: judged
            .calls
            .iter()
            .map(|call| FinalCall { name: &call.repaired.name, arguments: arguments(call) })
            .collect(),
        diagnoses: judged.diagnoses().map(VerdictFinding::of).collect(),
        advice: judged.advice().map(VerdictFinding::of).collect(),
        actions: actions(judged),
    })
}

/// Returns the arguments as an object with numbers as written, or as a string if their text is not an object.
fn arguments(call: &JudgedCall) -> Box<RawValue> {
    let text = &call.repaired.arguments;
    let is_object = match &call.result {
        Ok(checked) => !checked.is_free_text(),
        Err(_) => serde_json::from_str::<Value>(text).is_ok_and(|value| value.is_object()),
    };
    // JSON has line breaks between tokens only: those in strings are escaped.
    let object = if is_object { RawValue::from_string(text.trim().replace(['\n', '\r'], " ")).ok() } else { None };
    object.unwrap_or_else(|| raw(text))
}

/// Returns one line for each repair, with the call number if there are several calls.
pub(super) fn actions(judged: &JudgedMessage) -> Vec<String> {
    let is_one = judged.calls.len() == 1;
    let repairs = judged.calls.iter().enumerate().flat_map(|(index, call)| {
        call.repairs
            .iter()
            .map(move |repair| if is_one { action(repair) } else { format!("call {index}: {}", action(repair)) })
    });
    repairs.collect()
}

fn action(repair: &Repair) -> String {
    let Repair { kind, path, from, to, .. } = repair;
    let (location, from, to) = (if path.is_root() { "arguments" } else { path.as_str() }, quoted(from), quoted(to));
    match kind {
        RepairKind::Rescued => format!("rescued {to} from {}", from.trim_matches('"')),
        RepairKind::ResidueRemoved => format!("removed {from} from the text"),
        RepairKind::ArgumentsRegrouped => format!("{location}: regrouped {from} as {to}"),
        RepairKind::ParameterSeparated => format!("{location}: separated from the string, {to}"),
        RepairKind::ArgumentsMended => format!("{location}: read {from} as {to}"),
        RepairKind::FormChanged => format!("changed the form of the call from {from} to {to}"),
        RepairKind::ToolRenamed => format!("renamed tool {from} to {to}"),
        RepairKind::ParameterRenamed => format!("{location}: renamed {from} to {to}"),
        RepairKind::DefaultFilled => format!("{location}: filled the default {to}"),
        RepairKind::ParameterDropped => format!("{location}: dropped {from}"),
        RepairKind::TypeCoerced | RepairKind::EnumNormalised | RepairKind::FormatNormalised => {
            format!("{location}: {from} became {to}")
        }
        RepairKind::EmptyDropped => format!("{location}: dropped the empty string"),
        RepairKind::FormCompleted => format!("{location}: completed the form of the call"),
        RepairKind::NullDropped => format!("{location}: dropped null"),
    }
}

fn quoted(value: &Value) -> String {
    excerpt(&value.to_string(), WORD_CHARS)
}
