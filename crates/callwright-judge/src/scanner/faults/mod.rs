//! Fault table. Each fault has its own file with its facts, check and tests.

mod call_announced;
pub(super) mod case;
mod constraint;
mod no_answer;
mod no_call;
mod parameter_literal;
mod parameter_missing;
mod parameter_of_other_tool;
mod parameter_semantic;
mod parameter_unknown;
mod placeholder;
mod repeated_call;
mod tool_name_literal;
mod tool_name_semantic;
mod tool_not_relevant;
mod tool_unknown;
mod type_mismatch;
mod wrong_source;

use serde_json::Value;

use super::examination::UnknownMember;
use super::schema::Violation;
use super::tool_set::CompiledTool;
use callwright_types::{Diagnosis, FaultCode};
use case::{CallFreeAnswer, FaultCase};
pub(super) use parameter_semantic::fitting_parameter;

/// A fault code and its check.
pub(super) struct FaultEntry {
    pub(super) code: FaultCode,
    pub(super) check: Check,
}

/// Input of a check. A check returns a diagnosis if its fault is present.
pub(super) enum Check {
    /// Arguments text that is not a JSON object.
    Arguments(fn(&FaultCase<'_>, &serde_json::Error) -> Option<Diagnosis>),
    /// Name of a tool that is not offered.
    ToolName(fn(&FaultCase<'_>) -> Option<Diagnosis>),
    /// Member that the schema of its object does not define.
    Member(fn(&FaultCase<'_>, &CompiledTool, &UnknownMember<'_>) -> Option<Diagnosis>),
    /// Call with parsed arguments, and its context.
    Call(fn(&FaultCase<'_>, &CompiledTool, &Value) -> Vec<Diagnosis>),
    /// Schema violation.
    Value(fn(&FaultCase<'_>, &CompiledTool, &Value, &Violation) -> Option<Diagnosis>),
    /// Answer without a call.
    Answer(fn(&CallFreeAnswer<'_>) -> Option<Diagnosis>),
}

/// All faults. If several checks apply to the same input, the first diagnosis wins, so literal name matches come before
/// less certain matches.
pub(super) const TABLE: [FaultEntry; FaultCode::ALL.len()] = [
    FaultEntry { code: FaultCode::NoCall, check: Check::Arguments(no_call::check) },
    FaultEntry { code: FaultCode::ToolNotRelevant, check: Check::Call(tool_not_relevant::check) },
    FaultEntry { code: FaultCode::ToolNameLiteral, check: Check::ToolName(tool_name_literal::check) },
    FaultEntry { code: FaultCode::ToolNameSemantic, check: Check::ToolName(tool_name_semantic::check) },
    FaultEntry { code: FaultCode::ToolUnknown, check: Check::ToolName(tool_unknown::check) },
    FaultEntry { code: FaultCode::ParameterLiteral, check: Check::Member(parameter_literal::check) },
    FaultEntry { code: FaultCode::ParameterOfOtherTool, check: Check::Member(parameter_of_other_tool::check) },
    FaultEntry { code: FaultCode::ParameterSemantic, check: Check::Member(parameter_semantic::check) },
    FaultEntry { code: FaultCode::ParameterUnknown, check: Check::Member(parameter_unknown::check) },
    FaultEntry { code: FaultCode::ParameterMissing, check: Check::Value(parameter_missing::check) },
    FaultEntry { code: FaultCode::TypeMismatch, check: Check::Value(type_mismatch::check) },
    FaultEntry { code: FaultCode::Constraint, check: Check::Value(constraint::check) },
    FaultEntry { code: FaultCode::Placeholder, check: Check::Call(placeholder::check) },
    FaultEntry { code: FaultCode::WrongSource, check: Check::Call(wrong_source::check) },
    FaultEntry { code: FaultCode::Circle, check: Check::Call(repeated_call::circle::check) },
    FaultEntry { code: FaultCode::RepeatedCall, check: Check::Call(repeated_call::check) },
    FaultEntry { code: FaultCode::NoAnswer, check: Check::Answer(no_answer::check) },
    FaultEntry { code: FaultCode::CallAnnounced, check: Check::Answer(call_announced::check) },
];
