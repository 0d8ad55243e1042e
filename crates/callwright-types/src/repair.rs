//! Repairs: changes to a call that lose nothing and require no model.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use strum::{IntoStaticStr, VariantArray};

use super::FaultCode;
use callwright_common::json::Pointer;
use callwright_common::limits::NAME_LENGTH;
use callwright_common::text::beginning;

/// The kinds of repair. The names are metric label values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum RepairKind {
    /// A call was found in text (E1).
    Rescued,
    /// Marks of a chat template, or a copy of the call, were removed from the text beside a native call (E1).
    ResidueRemoved,
    /// The arguments' text was not valid JSON, and exactly one object can have been meant (E1).
    ArgumentsMended,
    /// The call had the form of another kind of tool: that of a function for a custom tool, or the reverse (E1).
    FormChanged,
    /// The tool was renamed to the only offered tool whose name differs in case, separators or namespace (E2.2).
    ToolRenamed,
    /// A parameter was renamed to the only one whose name differs in case and separators (E3.2).
    ParameterRenamed,
    /// Arguments were moved one level up or down, where only that fits the schema (E3).
    ArgumentsRegrouped,
    /// A required parameter was set to the schema's default (E3.4).
    DefaultFilled,
    /// An unknown parameter was removed as required by policy (E3).
    ParameterDropped,
    /// A value's type was converted without loss (E4.1).
    TypeCoerced,
    /// A `null` for an optional parameter was removed (E4.1).
    NullDropped,
    /// An enum value differed only in case or separators (E4.2).
    EnumNormalised,
    /// An empty string for an optional parameter with enumerated values was removed (E4.2).
    EmptyDropped,
    /// A string that held the end of its own parameter and other parameters was taken apart (E4.2).
    ParameterSeparated,
    /// A value in a different notation was converted to its schema's `format` without loss (E4.2).
    FormatNormalised,
    /// A call was written in the form of its protocol: it had no id, shared one with another call, had no type, or had
    /// arguments that are not a text (E1).
    FormCompleted,
}

impl RepairKind {
    /// Returns the code of the repaired fault.
    pub const fn fault(self) -> FaultCode {
        match self {
            Self::Rescued | Self::ResidueRemoved | Self::ArgumentsMended | Self::FormChanged | Self::FormCompleted => {
                FaultCode::NoCall
            }
            Self::ToolRenamed => FaultCode::ToolNameLiteral,
            Self::ParameterRenamed => FaultCode::ParameterLiteral,
            Self::DefaultFilled => FaultCode::ParameterMissing,
            Self::ParameterDropped | Self::ArgumentsRegrouped => FaultCode::ParameterUnknown,
            Self::TypeCoerced | Self::NullDropped => FaultCode::TypeMismatch,
            Self::EnumNormalised | Self::EmptyDropped | Self::ParameterSeparated | Self::FormatNormalised => {
                FaultCode::Constraint
            }
        }
    }

    /// Whether the repair is about a name or a notation, and not about a value.
    pub const fn is_of_name(self) -> bool {
        matches!(
            self,
            Self::Rescued | Self::ResidueRemoved | Self::ToolRenamed | Self::ParameterRenamed | Self::FormChanged
        )
    }
}

/// One repair: the changed location, and the value before and after.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Repair {
    pub kind: RepairKind,
    /// Index of the call among the calls of the answer.
    pub call: usize,
    /// JSON Pointer into the call's arguments (RFC 6901) after the repair; empty for the call as a whole.
    pub path: Pointer,
    /// Name or value before the repair (`null` if there was none).
    pub from: Value,
    /// Name or value after the repair (`null` if it was removed).
    pub to: Value,
}

impl Repair {
    /// Creates a repair of the call at this index as a whole.
    pub fn of_call(kind: RepairKind, call: usize, from: impl Into<Value>, to: impl Into<Value>) -> Self {
        Self { kind, call, path: Pointer::root(), from: from.into(), to: to.into() }
    }
}

/// Record of a repair in a trace. Names, locations and types are words of a schema and always stored; values only if
/// bodies are recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RepairNote {
    pub kind: RepairKind,
    /// Index of the call among the calls of the answer.
    pub call: usize,
    /// JSON Pointer into the call's arguments (RFC 6901) after the repair; empty for the call as a whole.
    pub path: Pointer,
    /// Name or value before the repair; `null` if there was none or it is not stored.
    #[serde(default)]
    pub from: Value,
    /// Name or value after the repair; `null` if it was removed or is not stored.
    #[serde(default)]
    pub to: Value,
    /// Type of the value before the repair; absent for names and for a value that did not exist.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub from_type: Option<ValueType>,
    /// Type of the value after the repair; absent for names and for a value that was removed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub to_type: Option<ValueType>,
}

impl From<&Repair> for RepairNote {
    fn from(repair: &Repair) -> Self {
        let Repair { kind, call, ref path, ref from, ref to } = *repair;
        let is_value = !kind.is_of_name() && kind != RepairKind::FormCompleted;
        let had_value = is_value && kind != RepairKind::DefaultFilled;
        let has_value = is_value
            && !matches!(kind, RepairKind::ParameterDropped | RepairKind::NullDropped | RepairKind::EmptyDropped);
        Self {
            kind,
            call,
            path: path.clone(),
            from: from.clone(),
            to: to.clone(),
            from_type: had_value.then(|| ValueType::of_value(from)),
            to_type: has_value.then(|| ValueType::of_value(to)),
        }
    }
}

impl RepairNote {
    /// Creates a note about a call as a whole, without names and values.
    pub fn of_call(kind: RepairKind, call: usize) -> Self {
        let (path, from, to) = (Pointer::root(), Value::Null, Value::Null);
        Self { kind, call, path, from, to, from_type: None, to_type: None }
    }

    /// Removes values. A name is kept without what a model wrote behind it.
    pub fn redact(&mut self) {
        for side in [&mut self.from, &mut self.to] {
            *side = match side.as_str() {
                // Marks of a notation, which no user wrote.
                Some(_) if self.kind == RepairKind::ResidueRemoved => continue,
                Some(name) if self.kind.is_of_name() => Value::from(plain_name(name)),
                _ => Value::Null,
            };
        }
    }

    /// Returns the change: names if the repair is about a name, values if they are stored, else their types. `None` if
    /// none of them is stored.
    pub fn change(&self) -> Option<String> {
        let is_known = self.from_type.is_some() || self.to_type.is_some() || !self.from.is_null() || !self.to.is_null();
        is_known.then(|| format!("{} → {}", side(&self.from, self.from_type), side(&self.to, self.to_type)))
    }
}

/// Returns one side of a change.
fn side(value: &Value, value_type: Option<ValueType>) -> String {
    match (value, value_type) {
        (Value::Null, Some(value_type)) => value_type.label().to_owned(),
        (Value::Null, None) => "nothing".to_owned(),
        (Value::String(name), None) => name.clone(),
        (value, _) => value.to_string(),
    }
}

/// Returns the beginning of a name up to a character that names do not have. Models glue arguments and template tokens
/// to names.
fn plain_name(name: &str) -> String {
    let is_part = |character: char| character.is_alphanumeric() || "_-.:/ $@#[]".contains(character);
    let plain = beginning(name, NAME_LENGTH).split(|letter| !is_part(letter)).next().unwrap_or_default();
    let mark = if plain.len() < name.len() { "…" } else { "" };
    format!("{plain}{mark}")
}

/// JSON type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum ValueType {
    /// `null`.
    Null,
    /// `true` or `false`.
    Boolean,
    /// A whole number.
    Integer,
    Number,
    /// A text.
    String,
    /// A list.
    Array,
    Object,
}

crate::labels!(RepairKind, ValueType);

impl ValueType {
    /// Returns the type of a value.
    pub fn of_value(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Boolean,
            Value::Number(number) if number.is_i64() || number.is_u64() => Self::Integer,
            Value::Number(_) => Self::Number,
            Value::String(_) => Self::String,
            Value::Array(_) => Self::Array,
            Value::Object(_) => Self::Object,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn note(kind: RepairKind, from: Value, to: Value) -> RepairNote {
        RepairNote::from(&Repair { kind, call: 0, path: Pointer::from("/days"), from, to })
    }

    #[test]
    fn a_redacted_repair_has_names_and_types_but_no_values() {
        let cases = [
            (RepairKind::ToolRenamed, json!("getForecast"), json!("get_forecast"), "getForecast → get_forecast"),
            (RepairKind::ToolRenamed, json!("f(city=\"canary\")"), json!("f"), "f… → f"),
            (RepairKind::ParameterRenamed, json!("Days"), json!("days"), "Days → days"),
            (RepairKind::Rescued, json!("tool_call"), json!("f"), "tool_call → f"),
            (RepairKind::TypeCoerced, json!("3"), json!(3), "string → integer"),
            (RepairKind::TypeCoerced, json!("canary"), json!(["canary"]), "string → array"),
            (RepairKind::DefaultFilled, json!(null), json!(1.5), "nothing → number"),
            (RepairKind::NullDropped, json!(null), json!(null), "null → nothing"),
            (RepairKind::ParameterDropped, json!("canary"), json!(null), "string → nothing"),
        ];
        for (kind, from, to, expected) in cases {
            let mut note = note(kind, from, to);
            note.redact();
            assert_eq!(note.change().as_deref(), Some(expected));
            assert!(!serde_json::to_string(&note).unwrap().contains("canary"), "{note:?}");
        }
        assert_eq!(note(RepairKind::TypeCoerced, json!("3"), json!(3)).change().as_deref(), Some("\"3\" → 3"));
    }

    #[test]
    fn a_note_of_an_earlier_version_still_reads() {
        let old = json!({"kind": "type_coerced", "call": 0, "path": "/n", "from": null, "to": null});
        let note: RepairNote = serde_json::from_value(old).unwrap();
        assert_eq!((note.from_type, note.change()), (None, None));
    }

    #[test]
    fn a_long_name_is_cut() {
        let long = "x".repeat(1_000);
        let mut note = note(RepairKind::ToolRenamed, json!(long), json!("x"));
        note.redact();
        assert_eq!(note.from.as_str().unwrap().chars().count(), NAME_LENGTH + 1);
    }
}
