//! Text form of a procedure.

use callwright_types::memory::ProcedureInput;
use callwright_types::{Procedure, ProcedureDraft};

/// Procedure as text for models and people.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProcedureText<'a> {
    pub input: &'a [ProcedureInput],
    /// Description of the result.
    pub output: &'a str,
    pub steps: &'a [String],
}

impl<'a> From<&'a Procedure> for ProcedureText<'a> {
    fn from(procedure: &'a Procedure) -> Self {
        Self { input: &procedure.input, output: &procedure.output, steps: &procedure.steps }
    }
}

impl<'a> From<&'a ProcedureDraft> for ProcedureText<'a> {
    fn from(draft: &'a ProcedureDraft) -> Self {
        Self { input: &draft.input, output: &draft.output, steps: &draft.steps }
    }
}

impl<'a> ProcedureText<'a> {
    /// Returns the inputs, each with its description.
    pub fn input_lines(self) -> impl Iterator<Item = String> + 'a {
        self.input.iter().map(|ProcedureInput { name, description }| match description.as_str() {
            "" => name.clone(),
            about => format!("{name} ({about})"),
        })
    }
}

/// Returns the text to embed for a procedure: output, input and steps (AAG, section 4.3).
pub fn embedded_text(procedure: &Procedure) -> String {
    let text = ProcedureText::from(procedure);
    let inputs: Vec<String> = text.input_lines().collect();
    format!("{}\nusing {}\n{}", text.output, inputs.join(", "), text.steps.join("\n"))
}
