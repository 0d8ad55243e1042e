//! Repairs: changes to a call that lose nothing and require no model.

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
    /// A value in a different notation was converted to its schema's `format` without loss (E4.2).
    FormatNormalised,
}

impl RepairKind {
    /// All kinds, so that metrics can create all series at startup.
    pub const ALL: [RepairKind; 13] = [
        Self::Rescued,
        Self::ResidueRemoved,
        Self::ArgumentsMended,
        Self::FormChanged,
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

    /// Returns the metric label and API value.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Rescued => "rescued",
            Self::ResidueRemoved => "residue_removed",
            Self::ArgumentsMended => "arguments_mended",
            Self::FormChanged => "form_changed",
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

    /// Returns the code of the repaired fault.
    pub const fn fault(self) -> FaultCode {
        match self {
            Self::Rescued | Self::ResidueRemoved | Self::ArgumentsMended | Self::FormChanged => FaultCode::NoCall,
            Self::ToolRenamed => FaultCode::ToolNameLiteral,
            Self::ParameterRenamed => FaultCode::ParameterLiteral,
            Self::DefaultFilled => FaultCode::ParameterMissing,
            Self::ParameterDropped => FaultCode::ParameterUnknown,
            Self::TypeCoerced | Self::NullDropped => FaultCode::TypeMismatch,
            Self::EnumNormalised | Self::EmptyDropped | Self::FormatNormalised => FaultCode::Constraint,
        }
    }
}

/// One repair: the changed location, and the value before and after.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Repair {
    /// Kind of repair.
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
