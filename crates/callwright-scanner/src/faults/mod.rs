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

use super::{CompiledTool, UnknownMember, Violation};
use callwright_types::{Diagnosis, FaultCode};
use case::{CallFreeAnswer, FaultCase};
pub(super) use parameter_semantic::fitting_parameter;

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
pub(super) const TABLE: [(FaultCode, Check); FaultCode::ALL.len()] = [
    (FaultCode::NoCall, Check::Arguments(no_call::check)),
    (FaultCode::ToolNotRelevant, Check::Call(tool_not_relevant::check)),
    (FaultCode::ToolNameLiteral, Check::ToolName(tool_name_literal::check)),
    (FaultCode::ToolNameSemantic, Check::ToolName(tool_name_semantic::check)),
    (FaultCode::ToolUnknown, Check::ToolName(tool_unknown::check)),
    (FaultCode::ParameterLiteral, Check::Member(parameter_literal::check)),
    (FaultCode::ParameterOfOtherTool, Check::Member(parameter_of_other_tool::check)),
    (FaultCode::ParameterSemantic, Check::Member(parameter_semantic::check)),
    (FaultCode::ParameterUnknown, Check::Member(parameter_unknown::check)),
    (FaultCode::ParameterMissing, Check::Value(parameter_missing::check)),
    (FaultCode::TypeMismatch, Check::Value(type_mismatch::check)),
    (FaultCode::Constraint, Check::Value(constraint::check)),
    (FaultCode::Placeholder, Check::Call(placeholder::check)),
    (FaultCode::WrongSource, Check::Call(wrong_source::check)),
    (FaultCode::Circle, Check::Call(repeated_call::circle::check)),
    (FaultCode::RepeatedCall, Check::Call(repeated_call::check)),
    (FaultCode::NoAnswer, Check::Answer(no_answer::check)),
    (FaultCode::CallAnnounced, Check::Answer(call_announced::check)),
];
