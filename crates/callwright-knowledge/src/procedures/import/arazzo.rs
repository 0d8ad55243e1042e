//! Parses Arazzo documents (Arazzo Specification 1.0.1).

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::workflow::{ImportError, ImportedStep, ImportedWorkflow, OperationName, WorkflowResult, input, label};
use callwright_common::json::Pointer;
use callwright_common::yaml::{Bounds, read as parse_yaml};
use callwright_types::plan::{Argument, Item, Reference, Source};

/// Limits on the expansion of a document.
const BOUNDS: Bounds = Bounds { depth: 32, events: 200_000 };

/// Argument for a body that is not an object of members.
const BODY: &str = "body";

#[derive(Debug, Deserialize)]
struct ArazzoDocument {
    #[serde(default)]
    workflows: Vec<ArazzoWorkflow>,
    #[serde(default)]
    components: ArazzoComponents,
}

#[derive(Debug, Default, Deserialize)]
struct ArazzoComponents {
    #[serde(default)]
    parameters: HashMap<String, ArazzoParameter>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ArazzoWorkflow {
    workflow_id: String,
    #[serde(default)]
    summary: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    parameters: Vec<ArazzoParameter>,
    #[serde(default)]
    steps: Vec<ArazzoStep>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ArazzoStep {
    step_id: String,
    operation_id: Option<String>,
    operation_path: Option<String>,
    #[serde(default)]
    parameters: Vec<ArazzoParameter>,
    request_body: Option<ArazzoBody>,
    #[serde(default)]
    outputs: HashMap<String, Value>,
}

/// A parameter, or a reference to a reusable one.
#[derive(Debug, Clone, Deserialize)]
struct ArazzoParameter {
    name: Option<String>,
    value: Option<Value>,
    reference: Option<String>,
}

#[derive(Debug, Deserialize)]
struct ArazzoBody {
    #[serde(default)]
    payload: Value,
}

/// Whether the text has a top-level `arazzo` key.
pub(super) fn is_arazzo(text: &str) -> bool {
    let is_yaml = text.lines().any(|line| {
        let key = line.trim_end().split_once(':').map_or("", |(key, _)| key);
        ["arazzo", "\"arazzo\"", "'arazzo'"].contains(&key)
    });
    is_yaml || text.trim_start().starts_with('{') && text.contains("\"arazzo\"")
}

/// Returns the workflows of a document; those that are not supported as errors with their names.
pub(super) fn parse(text: &str) -> Result<Vec<WorkflowResult>, ImportError> {
    let document: ArazzoDocument = parse_yaml(text, BOUNDS)
        .map_err(|problem| ImportError::Syntax { line: problem.line, message: problem.message })?;
    let mut workflows = Vec::with_capacity(document.workflows.len());
    for workflow in &document.workflows {
        let parsed = WorkflowParser { workflow, components: &document.components }.parse();
        workflows.push(parsed.map_err(|error| (workflow.workflow_id.clone(), error)));
    }
    Ok(workflows)
}

struct WorkflowParser<'a> {
    workflow: &'a ArazzoWorkflow,
    components: &'a ArazzoComponents,
}

impl WorkflowParser<'_> {
    fn parse(&self) -> Result<ImportedWorkflow, ImportError> {
        let mut steps = Vec::with_capacity(self.workflow.steps.len());
        for (index, step) in self.workflow.steps.iter().enumerate() {
            steps.push(self.step(index, step)?);
        }
        let Self { workflow: ArazzoWorkflow { workflow_id, summary, description, .. }, .. } = self;
        let summary = if summary.trim().is_empty() { description } else { summary };
        Ok(ImportedWorkflow { name: workflow_id.clone(), summary: summary.trim().to_owned(), steps })
    }

    fn step(&self, index: usize, step: &ArazzoStep) -> Result<ImportedStep, ImportError> {
        let operation = operation(step).ok_or_else(|| ImportError::Step {
            step: step.step_id.clone(),
            problem: "names no operation; steps that call workflows are not supported, copy their steps".to_owned(),
        })?;
        let mut arguments: Vec<Argument> = Vec::new();
        // The parameters of the step override those of the workflow.
        for parameter in step.parameters.iter().chain(&self.workflow.parameters) {
            let Some((name, value)) = self.parameter(parameter) else { continue };
            if arguments.iter().all(|existing| existing.name != name) {
                arguments.push(Argument { name, source: self.source(index, &value) });
            }
        }
        match step.request_body.as_ref().map(|body| &body.payload) {
            Some(Value::Object(members)) => {
                for (name, value) in members {
                    arguments.push(Argument { name: name.clone(), source: self.source(index, value) });
                }
            }
            None | Some(Value::Null) => {}
            Some(value) => {
                arguments.push(Argument { name: BODY.to_owned(), source: self.source(index, value) });
            }
        }
        Ok(ImportedStep { label: label(index + 1), operation, arguments })
    }

    /// Returns name and value of a parameter; follows a reference to a reusable one, whose value it may override.
    fn parameter(&self, parameter: &ArazzoParameter) -> Option<(String, Value)> {
        let reusable = parameter
            .reference
            .as_deref()
            .and_then(|reference| self.components.parameters.get(reference.strip_prefix("$components.parameters.")?));
        let name = parameter.name.clone().or_else(|| reusable?.name.clone())?;
        let value = parameter.value.clone().or_else(|| reusable?.value.clone())?;
        Some((name, value))
    }

    /// Returns the source of a value in the step at `index`.
    fn source(&self, index: usize, value: &Value) -> Source {
        let Some(text) = value.as_str() else { return self.composed(index, value) };
        let expression = text.strip_prefix('{').and_then(|inner| inner.strip_suffix('}')).unwrap_or(text);
        match expression.strip_prefix("$inputs.") {
            Some(name) => input(name),
            None if expression.starts_with('$') => match self.output(index, expression) {
                Some(reference) => Source::Output(reference),
                None => input(expression.trim_start_matches('$')),
            },
            None => Source::Value { value: value.clone(), words: String::new() },
        }
    }

    /// Returns the source of an object or list. One without outputs of steps is a value.
    fn composed(&self, index: usize, value: &Value) -> Source {
        let mut outputs = Vec::new();
        let template = self.template(index, value, &mut outputs);
        match outputs.is_empty() {
            true => Source::Value { value: value.clone(), words: String::new() },
            false => Source::Composed { value: template, outputs },
        }
    }

    fn template(&self, index: usize, value: &Value, outputs: &mut Vec<Reference>) -> Value {
        match value {
            Value::String(text) => match self.output(index, text) {
                Some(reference) => {
                    outputs.push(reference);
                    Value::String(format!("{{{}}}", outputs.len()))
                }
                None => value.clone(),
            },
            Value::Array(items) => items.iter().map(|item| self.template(index, item, outputs)).collect(),
            Value::Object(members) => {
                let mut template = Map::new();
                for (name, member) in members {
                    template.insert(name.clone(), self.template(index, member, outputs));
                }
                Value::Object(template)
            }
            other => other.clone(),
        }
    }

    /// Returns the output of an earlier step: `$steps.STEP.outputs.NAME`, or a part of it by a JSON Pointer.
    fn output(&self, index: usize, expression: &str) -> Option<Reference> {
        let (step, name) = expression.strip_prefix("$steps.")?.split_once(".outputs.")?;
        let (name, part) = name.split_once('#').unwrap_or((name, ""));
        let earlier = self.workflow.steps.get(..index)?;
        let position = earlier.iter().position(|existing| existing.step_id == step)?;
        let expression = earlier.get(position)?.outputs.get(name)?.as_str()?;
        let body = expression.strip_prefix("$response.body")?;
        let pointer = format!("{}{part}", body.strip_prefix('#').unwrap_or(body));
        Some(reference(label(position + 1), &pointer))
    }
}

/// Returns a reference to a value in the answer of a step. The first index of an array selects the item.
fn reference(node: String, pointer: &str) -> Reference {
    let mut output = Pointer::root();
    let mut item = Item::Whole;
    for token in Pointer::from(pointer).tokens() {
        match token.parse::<usize>() {
            Ok(number) => {
                if item == Item::Whole {
                    item = Item::Index(number);
                }
                output = output.item(0);
            }
            Err(_) => output = output.child(&token),
        }
    }
    Reference { node, output, item }
}

fn operation(step: &ArazzoStep) -> Option<OperationName> {
    if let Some(id) = &step.operation_id {
        // `$sourceDescriptions.NAME.operationId`
        let qualified = id.strip_prefix("$sourceDescriptions.").and_then(|rest| rest.split_once('.'));
        return Some(OperationName::Id(qualified.map_or_else(|| id.clone(), |(_, id)| id.to_owned())));
    }
    // `{$sourceDescriptions.NAME.url}#/paths/~1pets~1{id}/get`
    let (_, pointer) = step.operation_path.as_ref()?.split_once('#')?;
    let tokens: Vec<String> = Pointer::from(pointer).tokens();
    let [.., path, method] = tokens.as_slice() else { return None };
    Some(OperationName::Path(method.to_uppercase(), path.clone()))
}
