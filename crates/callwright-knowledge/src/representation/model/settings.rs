//! Settings of requests to a model.

/// Settings of requests to a model. The defaults are those of `callwright learn representations`.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelSettings {
    /// Maximum number of samples per request, evenly spaced over the list. More samples cost more, and models neglect
    /// the middle of long lists.
    pub samples: usize,
    /// Maximum number of characters of a sample; it is truncated between words.
    pub sample_chars: usize,
    /// Maximum number of characters of a tool's description.
    pub description_chars: usize,
    /// Maximum share of its sample's words in a case. Cases are phrases, because whole samples would disclose user
    /// text.
    pub case_share: f32,
    /// Maximum number of cases kept per pattern.
    pub cases: usize,
    /// Maximum number of attempts if the provider is busy (status 408, 409, 429, 5xx) or the exchange fails.
    pub tries: u32,
    /// Maximum wait before a retry, in seconds, regardless of the provider's `Retry-After`.
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
