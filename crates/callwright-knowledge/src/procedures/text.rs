//! Text form of a procedure.

use callwright_types::memory::ProcedureInput;
use callwright_types::{Procedure, ProcedureDraft};

/// Procedure as text for models and people.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wording<'a> {
    /// Inputs.
    pub input: &'a [ProcedureInput],
    /// Description of the result.
    pub output: &'a str,
    /// Steps.
    pub steps: &'a [String],
}

impl<'a> Wording<'a> {
    /// Returns the wording of a procedure.
    pub fn of(procedure: &'a Procedure) -> Self {
        Self { input: &procedure.input, output: &procedure.output, steps: &procedure.steps }
    }

    /// Returns the wording of a draft.
    pub fn of_draft(draft: &'a ProcedureDraft) -> Self {
        Self { input: &draft.input, output: &draft.output, steps: &draft.steps }
    }

    /// Returns the inputs, each with its description.
    pub fn needs(self) -> impl Iterator<Item = String> + 'a {
        self.input.iter().map(|ProcedureInput { name, description }| match description.as_str() {
            "" => name.clone(),
            about => format!("{name} ({about})"),
        })
    }
}

/// Returns the text to embed for a procedure: output, input and steps (AAG, section 4.3).
pub fn embedded_text(procedure: &Procedure) -> String {
    let wording = Wording::of(procedure);
    let needs: Vec<String> = wording.needs().collect();
    format!("{}\nusing {}\n{}", wording.output, needs.join(", "), wording.steps.join("\n"))
}
