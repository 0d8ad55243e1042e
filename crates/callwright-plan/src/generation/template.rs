//! Completes a template: one request obtains all of its inputs.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::accept::{grounded_value, missing, question_source};
use super::answer::value_schema;
use super::converse::{CheckedAnswer, converse};
use super::error::GenerationError;
use super::fitting::ToolParameters;
use super::generate::{PlanGeneration, PlanInputs};
use super::grounding::GroundingTexts;
use super::prompt_data::prompt_schema;
use super::prompts::{ConversationData, DATA};
use crate::keys::{ConversationKeys, KeyArgument, KeySources};
use crate::tools::PlanTool;
use callwright_common::limits::WORD_CHARS;
use callwright_common::text::{beginning, excerpt};
use callwright_prompt::{Question, parse};
use callwright_types::Plan;
use callwright_types::plan::{Argument, Node, Source};

/// Input of a template with the arguments that need it.
struct TemplateInput<'t> {
    name: &'t str,
    uses: Vec<TemplateInputUse<'t>>,
}

/// Argument that takes an input.
struct TemplateInputUse<'t> {
    label: &'t str,
    argument: &'t str,
    tool: PlanTool,
    required: bool,
    /// Key that the argument is, if a tool evidently supplies it.
    key: Option<KeyArgument>,
}

/// Texts of the conversation and the memory, for the validation of values.
#[derive(Clone, Copy)]
struct GivenTexts<'a> {
    grounding: &'a GroundingTexts,
    keys: &'a ConversationKeys,
}

/// Sources of the arguments that take inputs, by call label and argument name. Omitted arguments have no entry.
type InputSources = HashMap<(String, String), Source>;

impl PlanGeneration<'_> {
    /// Completes a template with inputs from the conversation. Returns `None` if the model reports that the template
    /// does not fit, its answers are unusable, a tool is unavailable, or the plan exceeds the limits.
    ///
    /// # Errors
    /// [`GenerationError`]: the model does not answer, or a limit is reached.
    pub(super) async fn fill(&mut self, template: &Plan) -> Result<Option<Plan>, GenerationError> {
        let Some(tools) = self.tools_of(template) else { return Ok(None) };
        let inputs = self.template_inputs(template, &tools);
        let question = self.question(template, &tools, &inputs);
        let given = GivenTexts { grounding: &self.grounding, keys: &self.given_keys };
        let checked = converse(&mut self.requester.model, question, |text| validate(text, &inputs, given)).await?;
        let Some(Some(filled)) = checked.taken else {
            self.notes.push("the known plan does not fit the request".to_owned());
            return Ok(None);
        };
        self.notes.extend(checked.faults);
        Ok(completed_plan(template, &filled))
    }

    /// Returns the tools of the template's calls in order, if all are available and the plan is within the limits.
    fn tools_of(&self, template: &Plan) -> Option<Vec<PlanTool>> {
        let nodes = template.nodes();
        if nodes.is_empty() || nodes.len() > self.settings.nodes || depth(template) > self.settings.depth {
            return None;
        }
        let tools: Option<Vec<(usize, PlanTool)>> = nodes.iter().map(|node| self.tool_of(&node.tool)).collect();
        let tools = tools?;
        // Only offered tools may end a plan.
        let ends = nodes.iter().zip(&tools).filter(|(node, _)| template.finals().contains(&node.label));
        let is_offered = ends.map(|(_, (position, _))| position).all(|at| self.inputs.offered.contains(at));
        is_offered.then(|| tools.into_iter().map(|(_, tool)| tool).collect())
    }

    /// Returns the inputs of a template. Missing arguments with the same name share one input.
    fn template_inputs<'t>(&self, template: &'t Plan, tools: &[PlanTool]) -> Vec<TemplateInput<'t>> {
        let PlanInputs { tools: all, producers, scores, .. } = *self.inputs;
        let sources = KeySources { tools: all, producers, scores };
        let mut inputs: Vec<TemplateInput<'t>> = Vec::new();
        for (node, tool) in template.nodes().iter().zip(tools) {
            for argument in &node.arguments {
                let Source::Missing { question } = &argument.source else { continue };
                let parameter = tool.tool.parameter(&argument.name);
                let position = self.tool_of(&node.tool).map(|(position, _)| position);
                let key = position
                    .zip(parameter.as_ref())
                    .and_then(|(position, parameter)| KeyArgument::new(&sources, (position, tool), parameter, false));
                let input_use = TemplateInputUse {
                    label: &node.label,
                    argument: &argument.name,
                    tool: tool.clone(),
                    required: parameter.is_some_and(|parameter| parameter.required),
                    key,
                };
                match inputs.iter_mut().find(|input| input.name == question) {
                    Some(input) => input.uses.push(input_use),
                    None => inputs.push(TemplateInput { name: question, uses: vec![input_use] }),
                }
            }
        }
        inputs
    }

    fn question(&self, template: &Plan, tools: &[PlanTool], inputs: &[TemplateInput<'_>]) -> Question<TemplateAnswer> {
        let system = format!(
            "A plan of calls of tools is known, `known`, that served requests like the user's last message. Determine whether it fulfils the \
             current request, and the sources of its inputs.\n\n{DATA}\n\n\
             Rules:\n\
             1. `fits` is true only if `known.goals` are everything that the user requests and nothing else, and if no step does anything that \
             the user did not request. Otherwise `fits` is false and `inputs` is []: a new plan is generated then.\n\
             2. `inputs` has every input that is `required`, and others only if the request states them. Each has one `source`:\n\
             `value`: the conversation or the memory contains it. `value` is the value in the form of `schema` (an object as a JSON text). \
             `words` are the words that support it, copied exactly from one text. Never invent a value. A name is no value of an id.\n\
             `ask`: neither contains it. `question` is the question to the user.\n\n\
             Example: `known` waters a plant, its inputs are `name` and `litres`, and the user writes \"Water the fern\". The answer is {{\"fits\": \
             true, \"inputs\": [{{\"name\": \"name\", \"source\": \"value\", \"value\": \"fern\", \"words\": \"fern\", \"question\": null}}, \
             {{\"name\": \"litres\", \"source\": \"ask\", \"value\": null, \"words\": null, \"question\": \"How many litres?\"}}]}}\n\n\
             Answer with one JSON object and nothing else: {{\"fits\": true, \"inputs\": [{{\"name\", \"source\", \"value\", \"words\", \
             \"question\"}}]}}. Members that do not apply are null."
        );
        let names: Vec<&str> = inputs.iter().map(|input| input.name).collect();
        let known = self.template_data(template, tools, inputs);
        Question::new(system, &TemplatePromptData { conversation: &self.conversation, known })
            .allowing("/properties/inputs/items/properties/name", &names)
    }

    fn template_data<'t>(
        &self,
        template: &'t Plan,
        tools: &'t [PlanTool],
        inputs: &[TemplateInput<'t>],
    ) -> TemplateData<'t> {
        let steps = template.nodes().iter().zip(tools).map(|(node, tool)| StepData {
            call: &node.label,
            tool: &node.tool,
            description: beginning(&tool.tool.tool.description, self.settings.description_chars),
            arguments: node
                .arguments
                .iter()
                .map(|argument| (argument.name.clone(), written_source(&argument.source)))
                .collect(),
        });
        let inputs = inputs.iter().map(|input| {
            let first = input.uses.first();
            let schema = first.and_then(|first| {
                let parameter = first.tool.tool.parameter(first.argument)?;
                Some(prompt_schema(&first.tool.tool.tool.parameters, &parameter, self.settings))
            });
            InputData {
                name: input.name,
                required: input.uses.iter().any(|input_use| input_use.required),
                schema: schema.unwrap_or_default(),
            }
        });
        let goals = template.finals().iter().map(String::as_str).collect();
        TemplateData { goals, steps: steps.collect(), inputs: inputs.collect() }
    }
}

#[derive(Serialize)]
struct TemplatePromptData<'a> {
    #[serde(flatten)]
    conversation: &'a ConversationData<'a>,
    known: TemplateData<'a>,
}

#[derive(Serialize)]
struct TemplateData<'a> {
    /// Calls whose answers are the result.
    goals: Vec<&'a str>,
    steps: Vec<StepData<'a>>,
    inputs: Vec<InputData<'a>>,
}

#[derive(Serialize)]
struct StepData<'a> {
    call: &'a str,
    tool: &'a str,
    description: &'a str,
    /// Arguments: `$call.path$` for another call's output, `$input.NAME$` for an input.
    arguments: Map<String, Value>,
}

#[derive(Serialize)]
struct InputData<'a> {
    name: &'a str,
    required: bool,
    schema: Value,
}

fn written_source(source: &Source) -> Value {
    match source {
        Source::Missing { question } => format!("$input.{question}$").into(),
        source => source.written(),
    }
}

/// Returns the number of calls on the longest path to a goal.
fn depth(plan: &Plan) -> usize {
    let mut depths: HashMap<&str, usize> = HashMap::new();
    // Calls come after their dependencies, so one pass is sufficient.
    for node in plan.nodes() {
        let before = node.feeders().filter_map(|feeder| depths.get(feeder)).max().copied().unwrap_or_default();
        depths.insert(&node.label, before + 1);
    }
    depths.into_values().max().unwrap_or_default()
}

#[derive(Deserialize, JsonSchema)]
struct TemplateAnswer {
    fits: bool,
    #[serde(default)]
    inputs: Vec<InputAnswer>,
}

/// Input with its source.
#[derive(Deserialize, JsonSchema)]
struct InputAnswer {
    name: String,
    source: InputOrigin,
    #[serde(default)]
    #[schemars(schema_with = "value_schema")]
    value: Value,
    #[serde(default)]
    words: Option<String>,
    #[serde(default)]
    question: Option<String>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum InputOrigin {
    Value,
    Ask,
}

/// Validates an answer; the inner value is `None` if the template does not fit.
fn validate(
    text: &str,
    inputs: &[TemplateInput<'_>],
    given_texts: GivenTexts<'_>,
) -> CheckedAnswer<Option<InputSources>> {
    let answer: TemplateAnswer = match parse(text) {
        Ok(answer) => answer,
        Err(fault) => return CheckedAnswer::unusable(fault),
    };
    if !answer.fits {
        return CheckedAnswer::usable(None);
    }
    let (mut filled, mut faults) = (InputSources::new(), Vec::new());
    for given in answer.inputs.iter().filter(|given| inputs.iter().all(|input| input.name != given.name)) {
        faults.push(format!("the plan has no input `{}`", excerpt(&given.name, WORD_CHARS)));
    }
    for input in inputs {
        let name = excerpt(input.name, WORD_CHARS);
        let mut given = answer.inputs.iter().filter(|given| given.name == input.name);
        let first = given.next();
        if given.next().is_some() {
            faults.push(format!("the input `{name}` occurs twice"));
        }
        for input_use in &input.uses {
            let source = input_use.source(first, given_texts).unwrap_or_else(|fault| {
                faults.push(format!("the input `{name}`: {fault}"));
                input_use.required.then(|| missing(&input_use.tool, input_use.argument))
            });
            let key = (input_use.label.to_owned(), input_use.argument.to_owned());
            filled.extend(source.map(|source| (key, source)));
        }
    }
    faults.dedup();
    CheckedAnswer { taken: Some(Some(filled)), faults }
}

impl TemplateInputUse<'_> {
    /// Returns the source of the argument; `None` if it is omitted.
    ///
    /// # Errors
    /// Feedback for the model: the fault of the given input.
    fn source(&self, given: Option<&InputAnswer>, texts: GivenTexts<'_>) -> Result<Option<Source>, String> {
        let Some(given) = given else {
            if !self.required {
                return Ok(None);
            }
            let default = ToolParameters { tool: &self.tool.tool }.default_of(self.argument);
            let value = default.ok_or("it is required and missing; give its source")?;
            return Ok(Some(Source::Value { value, words: String::new() }));
        };
        match given.source {
            // An optional argument does not justify a question to the user.
            InputOrigin::Ask if !self.required => Ok(None),
            InputOrigin::Ask => Ok(Some(question_source(&self.tool, self.argument, given.question.as_deref()))),
            InputOrigin::Value => {
                let source =
                    grounded_value(&self.tool, self.argument, (&given.value, given.words.as_deref()), texts.grounding)?;
                match (&self.key, &source) {
                    (Some(key), Source::Value { value, .. }) if !key.may_be(value, texts.keys) => {
                        Err("it is a key, and the value is no key of the conversation; a tool supplies it".to_owned())
                    }
                    _ => Ok(Some(source)),
                }
            }
        }
    }
}

fn completed_plan(template: &Plan, sources: &InputSources) -> Option<Plan> {
    let nodes = template.nodes().iter().map(|node| {
        let arguments = node.arguments.iter().filter_map(|argument| {
            let source = match &argument.source {
                Source::Missing { .. } => sources.get(&(node.label.clone(), argument.name.clone()))?.clone(),
                source => source.clone(),
            };
            Some(Argument { name: argument.name.clone(), source })
        });
        Node { arguments: arguments.collect(), ..node.clone() }
    });
    Plan::new(nodes.collect(), template.finals().to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use callwright_judge::repair::answers::assert_understood;

    use super::*;

    #[test]
    fn inputs_are_read_in_every_habit() {
        let one = r#"{"fits": true, "inputs": [{"name": "litres", "source": "ask", "value": null, "words": null, "question": "How many litres, or \"all\"?"}]}"#;
        let expected = (true, "litres".to_owned(), Some("How many litres, or \"all\"?".to_owned()));
        assert_understood("template", one, &expected, |text| {
            let TemplateAnswer { fits, inputs } = parse(text).ok()?;
            let [input] = <[InputAnswer; 1]>::try_from(inputs).ok()?;
            matches!(input.source, InputOrigin::Ask).then_some((fits, input.name, input.question))
        });
        let other = r#"{"fits": false, "inputs": []}"#;
        assert_understood("template", other, &(false, 0), |text| {
            let TemplateAnswer { fits, inputs } = parse(text).ok()?;
            Some((fits, inputs.len()))
        });
    }
}
