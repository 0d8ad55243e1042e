//! Descriptions of the repairs of an answer.

use serde_json::Value;

use callwright_common::text::excerpt;
use callwright_judge::repair::JudgedMessage;
use callwright_types::{Repair, RepairKind};

/// Maximum number of characters of a quoted name or value.
const MAX_QUOTED: usize = 200;

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
    excerpt(&value.to_string(), MAX_QUOTED)
}
