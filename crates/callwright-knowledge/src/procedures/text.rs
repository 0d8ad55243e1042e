//! A procedure as one text.

use callwright_types::memory::ProcedureInput;
use callwright_types::{Procedure, ProcedureDraft};

/// A procedure as it is read, by models and people.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wording<'a> {
    /// What it needs.
    pub input: &'a [ProcedureInput],
    /// What it gives.
    pub output: &'a str,
    /// Its steps.
    pub steps: &'a [String],
}

impl<'a> Wording<'a> {
    /// The words of a procedure.
    pub fn of(procedure: &'a Procedure) -> Self {
        Self { input: &procedure.input, output: &procedure.output, steps: &procedure.steps }
    }

    /// The words of a draft.
    pub fn of_draft(draft: &'a ProcedureDraft) -> Self {
        Self { input: &draft.input, output: &draft.output, steps: &draft.steps }
    }

    /// What it needs, each input in a text.
    pub fn needs(self) -> impl Iterator<Item = String> + 'a {
        self.input.iter().map(|ProcedureInput { name, description }| match description.as_str() {
            "" => name.clone(),
            about => format!("{name} ({about})"),
        })
    }
}

/// The text whose vector stands for a procedure: output, input and steps in one (AAG, section 4.3).
pub fn embedded_text(procedure: &Procedure) -> String {
    let wording = Wording::of(procedure);
    let needs: Vec<String> = wording.needs().collect();
    format!("{}\nusing {}\n{}", wording.output, needs.join(", "), wording.steps.join("\n"))
}
