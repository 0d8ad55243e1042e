//! Rejects words as the value of a key: "Jack" is no `person_id`.
//!
//! Planning models fill keys with the words of the request although a tool returns the key (paper, section 4.2.2). Such
//! an answer is reported once; a model that insists on it gets no plan.

use std::collections::HashMap;

use serde_json::Value;

use super::QUOTED_CHARS;
use super::accept::{AnswerContext, AnswerConversion, RequestedArgument, quoted};
use crate::planner::keys::KeyArgument;
use crate::planner::tools::PlanTool;
use callwright_common::text::excerpt;
use callwright_types::plan::{Reference, Source};

impl AnswerContext<'_> {
    /// Rejects a source of a key that yields words instead of the key: a literal that is no key of the conversation, an
    /// output that is no key, or a text with spaces around an output.
    pub(super) fn check_key(
        &self,
        requested: &RequestedArgument,
        source: &Source,
        conversion: &mut AnswerConversion<'_>,
    ) -> Result<(), String> {
        let Some(key) = &requested.key else { return Ok(()) };
        let fault = match source {
            Source::Value { value, .. } if key.may_be(value, self.given_keys) => None,
            Source::Value { value, .. } => {
                Some(no_key(key, requested, &excerpt(&value.to_string(), QUOTED_CHARS), self.suppliers))
            }
            Source::Output(reference) => {
                let supplier = self.supplier(reference, conversion);
                let better = supplier.and_then(|supplier| key.better_output(supplier, reference.output.as_str()));
                let output = quoted(reference.output.as_str());
                better.map(|better| format!("the output `{output}` is no key; use the output `{}`", quoted(better)))
            }
            Source::Composed { value: Value::String(template), .. } if template.contains(char::is_whitespace) => {
                Some(no_key(key, requested, &excerpt(template, QUOTED_CHARS), self.suppliers))
            }
            Source::Composed { .. } | Source::Missing { .. } => None,
        };
        let Some(fault) = fault else { return Ok(()) };
        conversion.guessed_key.get_or_insert_with(|| requested.name.clone());
        Err(fault)
    }

    /// Returns the tool of a referenced call: one of the plan, or a new one.
    pub(super) fn supplier(&self, reference: &Reference, conversion: &AnswerConversion<'_>) -> Option<&PlanTool> {
        let planned = self.draft.at(&reference.node).and_then(|at| self.draft.get(at)).map(|node| &node.tool);
        planned.or_else(|| {
            let new =
                (0..conversion.used.len()).find(|number| self.draft.label(self.draft.len() + number) == reference.node);
            self.suppliers.get(&conversion.used.get(new?)?.tool).map(|(_, tool)| tool)
        })
    }
}

/// Returns the fault of a value that cannot be the key, with the tools that supply the key.
fn no_key(
    key: &KeyArgument,
    requested: &RequestedArgument,
    value: &str,
    suppliers: &HashMap<String, (usize, PlanTool)>,
) -> String {
    let mut names: Vec<&str> = match key.producer() {
        Some(producer) => vec![producer],
        None => suppliers
            .iter()
            .filter(|(_, (position, _))| requested.suppliers.contains(position))
            .map(|(name, _)| name.as_str())
            .collect(),
    };
    names.sort_unstable();
    let names: Vec<String> = names.into_iter().map(|name| format!("`{}`", quoted(name))).collect();
    let from = names.join(" or ");
    format!("it is a key, and {value} is no key of the conversation; its source is an output of {from}, or `ask`")
}
