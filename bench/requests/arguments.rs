//! Generates arguments for a call that the scan accepts.

use callwright_judge::scanner::{CheckedCall, ToolSet, scan};
use callwright_openapi::Operation;
use callwright_types::rules::ScanRules;
use callwright_types::{Call, Diagnosis};

use super::generator::Generator;

/// Number of attempts to generate arguments of one kind.
const TRIES: usize = 24;

/// Selection of properties and values for arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Only required properties.
    Minimal,
    /// All properties.
    Full,
    /// Required properties and some optional ones.
    Mixed,
    /// All properties, with boundary values: empty, longest, smallest, largest, special characters.
    Edge,
    /// Boundary values for required and some optional properties.
    MixedEdge,
}

/// Kinds of arguments for each operation, in order.
pub(crate) const KINDS: [Kind; 6] = [Kind::Minimal, Kind::Full, Kind::Mixed, Kind::Mixed, Kind::Edge, Kind::MixedEdge];

impl Kind {
    /// Returns the probability of an optional property.
    pub(crate) fn optional(self) -> f64 {
        match self {
            Self::Minimal => 0.0,
            Self::Full | Self::Edge => 1.0,
            Self::Mixed | Self::MixedEdge => 0.5,
        }
    }

    /// Returns the probability of a boundary value.
    pub(crate) fn edge(self) -> f64 {
        match self {
            Self::Edge | Self::MixedEdge => 0.5,
            _ => 0.0,
        }
    }
}

/// Returns a valid call of the operation's tool, or the reason of the last failure.
pub(crate) fn checked(
    operation: &Operation,
    tool_set: &ToolSet,
    kind: Kind,
    random: &mut fastrand::Rng,
) -> Result<CheckedCall, String> {
    let mut why = String::new();
    for _ in 0..TRIES {
        let Some(arguments) = Generator::new(&operation.tool.parameters, kind, random).arguments() else {
            "no value can be made".clone_into(&mut why);
            continue;
        };
        let call = Call { id: "call".to_owned(), name: operation.tool.name.clone(), arguments: arguments.to_string() };
        match scan(&call, 0, tool_set, &ScanRules::default()) {
            Ok(checked) => return Ok(checked),
            Err(diagnoses) => {
                why = diagnoses.first().map(|Diagnosis { message, .. }| message.clone()).unwrap_or_default();
            }
        }
    }
    Err(why)
}
