//! How a turn's answer was judged.

use serde::{Deserialize, Serialize};

/// The verdict on an answer (DESIGN section 7). The names are metric labels and header values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// No call.
    Text,
    /// Calls, all right as they came.
    Clean,
    /// Calls that we changed without the model.
    Repaired,
    /// Calls that were right after feedback.
    Corrected,
    /// Calls with faults that were passed on, or whose limits were reached.
    Faulty,
    /// Not judged: mode `off`, an endpoint that is passed through, or an answer that takes longer to judge than is allowed.
    Unguarded,
}

impl Verdict {
    /// Every verdict, for metrics that want all series from the start.
    pub const ALL: [Verdict; 6] =
        [Self::Text, Self::Clean, Self::Repaired, Self::Corrected, Self::Faulty, Self::Unguarded];

    /// Metric label and header value.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Clean => "clean",
            Self::Repaired => "repaired",
            Self::Corrected => "corrected",
            Self::Faulty => "faulty",
            Self::Unguarded => "unguarded",
        }
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.label())
    }
}
