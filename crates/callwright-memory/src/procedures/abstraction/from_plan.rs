//! Abstracts a completed plan.

use serde_json::Value;

use super::input::ProcedureTool;
use super::origins::{AbstractedCall, ArgumentValueOrigin, constant, label};
use super::schema::ValueSchema;
use super::vocabulary::MemberVocabulary;
use callwright_common::text::is_digits;
use callwright_types::Plan;
use callwright_types::plan::{Item, Reference, Source};

/// Returns the calls of a plan and the positions of its goals; `None` if a tool is unknown.
pub(super) fn steps<'a>(plan: &Plan, tools: &[ProcedureTool<'a>]) -> Option<(Vec<AbstractedCall<'a>>, Vec<usize>)> {
    let vocabulary = MemberVocabulary::new(tools);
    let mut steps = Vec::new();
    for node in plan.nodes() {
        let tool = tools.iter().find(|tool| tool.name == node.tool)?;
        let parameters = ValueSchema::new(tool.parameters);
        let documented =
            node.arguments.iter().filter_map(|argument| Some((parameters.member(&argument.name)?, argument)));
        let arguments = documented.map(|(parameter, argument)| {
            let origin = match origin(&argument.source, &parameter, &vocabulary) {
                ArgumentValueOrigin::Known(source) => ArgumentValueOrigin::Known(
                    source.relabelled(|known| label(position(plan, known).unwrap_or(usize::MAX))),
                ),
                input => input,
            };
            (argument.name.clone(), origin)
        });
        steps.push(AbstractedCall { tool: *tool, arguments: arguments.collect() });
    }
    let finals: Option<Vec<usize>> = plan.finals().iter().map(|label| position(plan, label)).collect();
    Some((steps, finals?))
}

fn position(plan: &Plan, label: &str) -> Option<usize> {
    plan.nodes().iter().position(|node| node.label == label)
}

fn origin(source: &Source, schema: &ValueSchema<'_>, vocabulary: &MemberVocabulary) -> ArgumentValueOrigin {
    match source {
        Source::Value { value, words }
            if schema.has_fixed_value(value) || words.is_empty() && schema.has_enum_value(value) =>
        {
            ArgumentValueOrigin::Known(constant(value))
        }
        Source::Value { value, .. } => ArgumentValueOrigin::Input(Some(value.clone())),
        Source::Output(reference) if vocabulary.allows(&reference.output) => {
            ArgumentValueOrigin::Known(Source::Output(generalized(reference)))
        }
        Source::Composed { value, outputs }
            if is_general(value, schema) && outputs.iter().all(|reference| vocabulary.allows(&reference.output)) =>
        {
            ArgumentValueOrigin::Known(Source::Composed {
                value: value.clone(),
                outputs: outputs.iter().map(generalized).collect(),
            })
        }
        Source::Output(_) | Source::Composed { .. } | Source::Missing { .. } => ArgumentValueOrigin::Input(None),
    }
}

/// Generalizes an item index, which is specific to one request. Index 0 is kept, because it often is the best match.
fn generalized(reference: &Reference) -> Reference {
    let item = match reference.item {
        Item::Index(index) if index > 0 => Item::Chosen,
        item => item,
    };
    Reference { item, ..reference.clone() }
}

/// Whether a template consists of outputs and schema constants only.
fn is_general(template: &Value, schema: &ValueSchema<'_>) -> bool {
    match template {
        Value::String(text) if is_output(text) => true,
        Value::Array(items) => schema.items().is_some_and(|inner| items.iter().all(|item| is_general(item, &inner))),
        Value::Object(members) => {
            members.iter().all(|(name, member)| schema.member(name).is_some_and(|inner| is_general(member, &inner)))
        }
        scalar => schema.has_fixed_value(scalar),
    }
}

/// Whether the text is a placeholder: `{1}`, `{2}`, ...
fn is_output(text: &str) -> bool {
    let number = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    number.is_some_and(is_digits)
}
