//! A change to a call that loses nothing and needs no model.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::FaultCode;
use callwright_common::json::Pointer;

/// The kinds of repair. The names are metric label values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RepairKind {
    /// A call was found in text (E1).
    Rescued,
    /// The arguments' text was not JSON, and exactly one object can be meant (E1).
    ArgumentsMended,
    /// The tool was renamed to the one offered tool of the same literal name (E2.2).
    ToolRenamed,
    /// A parameter was renamed to the one of the same literal name (E3.2).
    ParameterRenamed,
    /// A required parameter got the schema's default (E3.4).
    DefaultFilled,
    /// An unknown parameter was dropped because policy says so (E3).
    ParameterDropped,
    /// A value changed its type without losing anything (E4.1).
    TypeCoerced,
    /// A `null` for an optional parameter became absent (E4.1).
    NullDropped,
    /// An enum value differed only in case or separators (E4.2).
    EnumNormalised,
    /// An empty string for an optional parameter that lists its values became absent (E4.2).
    EmptyDropped,
    /// A value was written in another form than its schema's `format`, and says the same (E4.2).
    FormatNormalised,
}

impl RepairKind {
    /// Every kind, for metrics that want all series from the start.
    pub const ALL: [RepairKind; 11] = [
        Self::Rescued,
        Self::ArgumentsMended,
        Self::ToolRenamed,
        Self::ParameterRenamed,
        Self::DefaultFilled,
        Self::ParameterDropped,
        Self::TypeCoerced,
        Self::NullDropped,
        Self::EnumNormalised,
        Self::EmptyDropped,
        Self::FormatNormalised,
    ];

    /// Metric label and API value.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Rescued => "rescued",
            Self::ArgumentsMended => "arguments_mended",
            Self::ToolRenamed => "tool_renamed",
            Self::ParameterRenamed => "parameter_renamed",
            Self::DefaultFilled => "default_filled",
            Self::ParameterDropped => "parameter_dropped",
            Self::TypeCoerced => "type_coerced",
            Self::NullDropped => "null_dropped",
            Self::EnumNormalised => "enum_normalised",
            Self::EmptyDropped => "empty_dropped",
            Self::FormatNormalised => "format_normalised",
        }
    }

    /// The fault that it mends.
    pub const fn fault(self) -> FaultCode {
        match self {
            Self::Rescued | Self::ArgumentsMended => FaultCode::NoCall,
            Self::ToolRenamed => FaultCode::ToolNameLiteral,
            Self::ParameterRenamed => FaultCode::ParameterLiteral,
            Self::DefaultFilled => FaultCode::ParameterMissing,
            Self::ParameterDropped => FaultCode::ParameterUnknown,
            Self::TypeCoerced | Self::NullDropped => FaultCode::TypeMismatch,
            Self::EnumNormalised | Self::EmptyDropped | Self::FormatNormalised => FaultCode::Constraint,
        }
    }
}

/// One repair: what was changed where, from what to what.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Repair {
    /// The kind.
    pub kind: RepairKind,
    /// Index of the call among the calls of the answer.
    pub call: usize,
    /// Place inside the call's arguments (RFC 6901) after the repair; empty for the call as a whole.
    pub path: Pointer,
    /// The name or value before (`null` where there was none).
    pub from: Value,
    /// The name or value after (`null` where there is none any more).
    pub to: Value,
}
