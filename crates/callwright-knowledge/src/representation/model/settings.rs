//! How a model is asked.

/// How a model is asked. The defaults are those of `callwright learn representations`.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelSettings {
    /// Samples that one request shows at most; of more, some from everywhere. More cost more, and models read the middle of long lists
    /// badly.
    pub samples: usize,
    /// Characters of a sample that are shown; the rest is cut off between words.
    pub sample_chars: usize,
    /// Characters of a tool's own description that are shown.
    pub description_chars: usize,
    /// Largest share of its sample's words that a case may hold: a case is a phrase, and samples leak what users wrote.
    pub case_share: f32,
    /// Cases of a pattern that are kept.
    pub cases: usize,
    /// Times that a request is made where the provider is busy (status 408, 409, 429, 5xx) or the exchange breaks.
    pub tries: u32,
    /// Longest wait in seconds before the next try, whatever the provider asks for.
    pub max_wait_seconds: u64,
}

impl Default for ModelSettings {
    fn default() -> Self {
        Self {
            samples: 40,
            sample_chars: 400,
            description_chars: 2000,
            case_share: 0.6,
            cases: 3,
            tries: 4,
            max_wait_seconds: 60,
        }
    }
}
