//! Arguments for a call that the scan finds clean.

use callwright_judge::scanner::{CheckedCall, Toolbook, scan};
use callwright_openapi::Operation;
use callwright_types::rules::ScanRules;
use callwright_types::{Call, Diagnosis};

use crate::generator::Generator;

/// How often arguments of one kind are generated before it is said that there are none.
const TRIES: usize = 24;

/// What arguments are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// What is required.
    Minimal,
    /// Everything.
    Full,
    /// What is required and some of the rest.
    Mixed,
    /// Everything, with the values at which things go wrong: empty, longest, least, most, characters with a meaning.
    Edge,
    /// The same, of some of the properties.
    MixedEdge,
}

/// In this order for each operation.
pub(crate) const KINDS: [Kind; 6] = [Kind::Minimal, Kind::Full, Kind::Mixed, Kind::Mixed, Kind::Edge, Kind::MixedEdge];

impl Kind {
    /// How likely is it that an optional property is there?
    pub(crate) fn optional(self) -> f64 {
        match self {
            Self::Minimal => 0.0,
            Self::Full | Self::Edge => 1.0,
            Self::Mixed | Self::MixedEdge => 0.5,
        }
    }

    /// How likely is it that a value is one at the edge?
    pub(crate) fn edge(self) -> f64 {
        match self {
            Self::Edge | Self::MixedEdge => 0.5,
            _ => 0.0,
        }
    }
}

/// A clean call of the operation's tool; the reason of the last failure where none was found.
pub(crate) fn checked(
    operation: &Operation,
    toolbook: &Toolbook,
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
        match scan(&call, 0, toolbook, &ScanRules::default()) {
            Ok(checked) => return Ok(checked),
            Err(diagnoses) => {
                why = diagnoses.first().map(|Diagnosis { message, .. }| message.clone()).unwrap_or_default();
            }
        }
    }
    Err(why)
}
