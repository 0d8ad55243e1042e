//! The stable codes of the fault table (AutoFeedback, section 2.2 and table 2), and the faults found in calls.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use strum::{IntoStaticStr, VariantArray};

use crate::label::{Label, array};
use callwright_common::json::Pointer;

/// A kind of fault. Codes are stable: they are metric labels, template names and API values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum FaultCode {
    /// The answer was meant as a call but contains no parsable one.
    NoCall,
    /// The tool exists, but retrieval is confident that another one serves the request.
    ToolNotRelevant,
    /// The name differs from an offered tool's only in case, separators or namespace.
    ToolNameLiteral,
    /// Unknown tool; one offered tool is close in meaning.
    ToolNameSemantic,
    /// Unknown tool; no offered tool is close in meaning.
    ToolUnknown,
    /// The parameter belongs to another tool.
    ParameterOfOtherTool,
    /// The name differs from a parameter's only in case and separators.
    ParameterLiteral,
    /// Unknown parameter; one parameter of the tool is close in meaning.
    ParameterSemantic,
    /// A required parameter is absent.
    ParameterMissing,
    /// Unknown parameter to which none of the above applies.
    ParameterUnknown,
    /// The value's type does not match the schema.
    TypeMismatch,
    /// A violated constraint: enum, range, length, pattern, format or uniqueness.
    Constraint,
    /// A placeholder such as `<city>` that does not occur in the conversation.
    Placeholder,
    /// The plan requires a value of another call's output, and the argument has a different one.
    WrongSource,
    /// The same call for the third time, with the same result each time and no new information in between.
    Circle,
    /// The same call with the same arguments, without new information since.
    RepeatedCall,
    /// Tools are offered, and the answer has neither content nor a call.
    NoAnswer,
    /// The answer announces a call and ends without one.
    CallAnnounced,
}

impl FaultCode {
    /// All codes, in the order of evaluation.
    pub const ALL: [Self; 18] = array(<Self as VariantArray>::VARIANTS);

    /// All short codes.
    pub const CODES: [&str; 18] = {
        let mut codes = [""; 18];
        let mut index = 0;
        while index < Self::ALL.len() {
            codes[index] = Self::ALL[index].code();
            index += 1;
        }
        codes
    };

    /// Returns the short code, which is the metric label and API value.
    pub const fn code(self) -> &'static str {
        match self {
            Self::NoCall => "E1",
            Self::ToolNotRelevant => "E2.1",
            Self::ToolNameLiteral => "E2.2",
            Self::ToolNameSemantic => "E2.3",
            Self::ToolUnknown => "E2",
            Self::ParameterOfOtherTool => "E3.1",
            Self::ParameterLiteral => "E3.2",
            Self::ParameterSemantic => "E3.3",
            Self::ParameterMissing => "E3.4",
            Self::ParameterUnknown => "E3",
            Self::TypeMismatch => "E4.1",
            Self::Constraint => "E4.2",
            Self::Placeholder => "E4.3",
            Self::WrongSource => "E4.4",
            Self::Circle => "E5.1",
            Self::RepeatedCall => "E5",
            Self::NoAnswer => "E6",
            Self::CallAnnounced => "E6.1",
        }
    }

    /// Returns the readable name, which is the name of the template.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the level of evaluation, 1 to 6. A scan stops at the first level with a fault.
    pub fn level(self) -> u8 {
        self.code().as_bytes().get(1).map_or(0, |digit| digit - b'0')
    }

    /// Whether the fault concerns a call, and not an answer without one.
    pub const fn is_of_call(self) -> bool {
        !matches!(self, Self::NoAnswer | Self::CallAnnounced)
    }

    /// Returns a description of the fault in two or three words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::NoCall => "call as text",
            Self::ToolNotRelevant => "wrong tool",
            Self::ToolNameLiteral => "tool name spelling",
            Self::ToolNameSemantic | Self::ToolUnknown => "unknown tool",
            Self::ParameterOfOtherTool => "parameter of another tool",
            Self::ParameterLiteral => "parameter spelling",
            Self::ParameterSemantic | Self::ParameterUnknown => "unknown parameter",
            Self::ParameterMissing => "missing parameter",
            Self::TypeMismatch => "wrong type",
            Self::Constraint => "value not allowed",
            Self::Placeholder => "placeholder value",
            Self::WrongSource => "value from another answer",
            Self::Circle | Self::RepeatedCall => "repeated call",
            Self::NoAnswer | Self::CallAnnounced => "no call",
        }
    }
}

impl Label for FaultCode {
    const ALL: &'static [Self] = &Self::ALL;

    fn index(self) -> usize {
        self as usize
    }

    fn label(self) -> &'static str {
        self.code()
    }
}

impl fmt::Display for FaultCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

/// Error for a text that is neither a code nor a name of the fault table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a fault code; codes are E1, E2, E2.1 ... E6, names are no_call, tool_unknown ... no_answer")]
pub struct UnknownFaultCode(pub String);

impl FromStr for FaultCode {
    type Err = UnknownFaultCode;

    /// Parses the short code (`E2.1`) or the name (`tool_not_relevant`).
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|fault| fault.code().eq_ignore_ascii_case(text) || fault.name() == text)
            .ok_or_else(|| UnknownFaultCode(text.to_owned()))
    }
}

impl Serialize for FaultCode {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}

impl<'de> Deserialize<'de> for FaultCode {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// The E1 reasons for an answer that is either a call or a text about one, and for one with more calls than can be read.
const UNSURE: [&str; 2] = ["unsure", "unfinished"];

/// One fault found in a call: code, place, facts, suggestion.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Diagnosis {
    pub code: FaultCode,
    /// Index of the faulty call among the calls of the answer.
    pub call: usize,
    /// JSON Pointer into the call's arguments (RFC 6901); empty for the call as a whole.
    pub path: Pointer,
    /// One human-readable line: what is wrong and where.
    pub message: String,
    /// Facts that the fault's rule established, under the names that the feedback template uses.
    pub facts: Value,
    /// The name or value that would fix the fault, if the scan is confident enough to suggest one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub suggestion: Option<String>,
}

impl Diagnosis {
    /// Creates the diagnosis of a call as a whole.
    pub fn new(code: FaultCode, call: usize, message: impl Into<String>, facts: Value) -> Self {
        Self { code, call, path: Pointer::root(), message: message.into(), facts, suggestion: None }
    }

    /// Returns the reason why no call could be parsed from an answer (E1). `None` for any other fault, and for
    /// arguments that are not an object.
    pub fn reason(&self) -> Option<&str> {
        let reason = self.facts.get("reason")?.as_str()?;
        (self.code == FaultCode::NoCall).then_some(reason)
    }

    /// Whether the answer is not known to be a call and is neither repaired nor refused (E1, reasons `unsure` and
    /// `unfinished`).
    pub fn is_unsure(&self) -> bool {
        self.reason().is_some_and(|reason| UNSURE.contains(&reason))
    }

    /// Whether the suggested parameter is only the one that is left (E3.3): its name is not like the given one.
    pub fn is_by_elimination(&self) -> bool {
        self.code == FaultCode::ParameterSemantic
            && self.facts.get("parameter").is_some_and(|parameter| !parameter.is_null())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_names_are_distinct_and_parse_back() {
        for fault in FaultCode::ALL {
            assert_eq!(fault.code().parse(), Ok(fault));
            assert_eq!(fault.name().parse(), Ok(fault));
        }
        assert!("E9".parse::<FaultCode>().is_err());
    }

    #[test]
    fn order_of_judgement_never_goes_back_a_level() {
        assert!(FaultCode::ALL.windows(2).all(|pair| pair[0].level() <= pair[1].level()));
    }
}
