//! How plans are drawn, and when drawing ends.

/// How plans are drawn. The defaults are those of `callwright plan`.
#[derive(Debug, Clone, PartialEq)]
pub struct DrawSettings {
    /// Calls on the way from a goal to the first one, at most: a call this deep is not fed by others.
    pub depth: usize,
    /// Calls of a plan, at most.
    pub nodes: usize,
    /// Requests to the model for one plan, at most; being told what is wrong with an answer is one more.
    pub requests: u64,
    /// Tokens for one plan at most, of prompts and answers; of prompts that were not counted yet, an estimate.
    pub tokens: u64,
    /// Low, because the same question is to have the same answer (the paper's own, appendix A.4).
    pub temperature: f64,
    /// In which questions the arguments of a call are asked for.
    pub completion: Completion,
    /// Tools that are named for one argument.
    pub candidates: usize,
    /// Values of a tool's answer that are shown.
    pub outputs: usize,
    /// Arguments of a call that the model is asked for; required ones come first.
    pub arguments: usize,
    /// Characters of the conversation that are shown, the latest.
    pub conversation_chars: usize,
    /// Characters of a description that are shown.
    pub description_chars: usize,
    /// Bytes of a parameter's schema that are shown; of a longer one only type and description.
    pub schema_bytes: usize,
    /// Values that a choice among them is shown, the first.
    pub options: usize,
    /// Characters of each of them that are shown.
    pub option_chars: usize,
}

/// In which questions the arguments of a call are asked for (the paper's section 4.2.2). The others are there to be compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Completion {
    /// All in one.
    #[default]
    All,
    /// Each in its own, one after the other.
    OneByOne,
    /// First what the conversation says of them, with no tool in sight; then which tools find out the others. With the selection these are
    /// the three steps.
    ThreeSteps,
}

impl Default for DrawSettings {
    fn default() -> Self {
        Self {
            depth: 5,
            nodes: 16,
            requests: 40,
            tokens: 200_000,
            temperature: 0.1,
            completion: Completion::All,
            candidates: 8,
            outputs: 24,
            arguments: 64,
            conversation_chars: 16_000,
            description_chars: 400,
            schema_bytes: 2_000,
            options: 50,
            option_chars: 400,
        }
    }
}
