//! The shared requests with reference plans, and their toolsets.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use callwright_judge::repair::repair_call;
use callwright_judge::scanner::{CompiledTool, Settings, ToolSet, Validators, scan};
use callwright_plan::generation::{
    GenerationOutcome, GenerationSettings, PlanInputs, PresentPlan, Renewal, ToolList, Tools, generate,
    generate_from_template, regenerate,
};
use callwright_plan::producers::{Producers, Request, ToolShape, documented_fields};
use callwright_types::rules::{RepairRules, Report, ScanRules, UnknownParameters};
use callwright_types::{Call, FaultCode, Message, Owner, Plan, Speaker, Tool, ToolKind};
use callwright_upstream::TextSource;
use serde_json::{Map, Value};

/// A reference of a gold plan: `$var1.a[0].b$`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GoldReference {
    /// Text as written.
    pub(crate) text: String,
    pub(crate) label: String,
    /// `.a[0].b`
    pub(crate) path: String,
}

#[derive(Debug, Clone)]
pub(crate) struct GoldCall {
    pub(crate) name: String,
    pub(crate) arguments: Map<String, Value>,
    pub(crate) label: String,
}

#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) id: String,
    pub(crate) query: String,
    pub(crate) toolset: String,
    pub(crate) gold: Vec<GoldCall>,
}

/// Kind of fault: the tool's description does not declare the output; the response may contain it nevertheless.
pub(crate) const UNPROMISED: &str = "an output that is not promised";

/// Kind of fault that concerns only a value.
pub(crate) const MISFIT: &str = "a value does not fit its schema";

/// Tools of a toolset.
pub(crate) struct Toolset {
    pub(crate) list: ToolList,
    pub(crate) producers: Producers,
    pub(crate) book: ToolSet,
    pub(crate) count: usize,
    /// Texts of all tools, as they would be sent with a request.
    pub(crate) sent: String,
    outputs: HashMap<String, Vec<String>>,
}

fn folder() -> PathBuf {
    let shared = std::env::var_os("CALLWRIGHT_SHARED_DATA").map(PathBuf::from);
    shared.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared")).join("data/plans")
}

fn lines(file: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(folder().join(file)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Returns the records of the shared data and their toolsets.
pub(crate) fn shared() -> (Vec<Record>, BTreeMap<String, Toolset>) {
    let records = lines("nestful.dev.jsonl").into_iter().map(|line| Record {
        id: text(&line["id"]),
        query: text(&line["query"]),
        toolset: text(&line["toolset"]),
        gold: line["gold"].as_array().unwrap().iter().map(gold_call).collect(),
    });
    let toolsets = lines("nestful.tools.jsonl");
    let toolsets = toolsets.iter().map(|line| (text(&line["id"]), toolset(line["tools"].as_array().unwrap())));
    (records.collect(), toolsets.collect())
}

fn gold_call(call: &Value) -> GoldCall {
    let arguments = call["arguments"].as_object().unwrap().clone();
    GoldCall { name: text(&call["name"]), arguments, label: text(&call["label"]) }
}

/// Builds the tools of a line, `{"name", "description", "parameters", "output"}` each.
pub(crate) fn toolset(tools: &[Value]) -> Toolset {
    let outputs: Vec<_> = tools.iter().map(|tool| documented_fields(&tool["output"])).collect();
    let names: Vec<(String, String)> =
        tools.iter().map(|tool| (text(&tool["name"]), text(&tool["description"]))).collect();
    let shapes = tools.iter().zip(&names).zip(&outputs).map(|((tool, (name, description)), outputs)| ToolShape {
        name,
        description,
        parameters: &tool["parameters"],
        outputs,
        http: None,
        links: &[],
    });
    let producers = Producers::from_tools(&shapes.collect::<Vec<_>>());
    let made: Vec<Arc<Tool>> = tools
        .iter()
        .zip(&names)
        .map(|(tool, (name, description))| {
            let (name, description) = (name.clone(), description.clone());
            let parameters = Arc::new(tool["parameters"].clone());
            Arc::new(Tool {
                name,
                description,
                parameters,
                kind: ToolKind::Function,
                reads: None,
                owner: Owner::Client,
                namespace: None,
            })
        })
        .collect();
    let validators = Validators::new(&Settings::default());
    let book = ToolSet::compile(made.clone(), &validators);
    let pointers = names
        .iter()
        .zip(&outputs)
        .map(|((name, _), fields)| (name.clone(), fields.iter().map(|field| field.pointer.clone()).collect()));
    let sent = tools.iter().map(|tool| {
        let function = serde_json::json!({"name": tool["name"], "description": tool["description"], "parameters": tool["parameters"]});
        serde_json::json!({"type": "function", "function": function}).to_string()
    });
    Toolset {
        producers,
        book,
        count: tools.len(),
        sent: sent.collect::<Vec<_>>().join(","),
        outputs: pointers.collect(),
        list: ToolList::compile(made.into_iter().zip(outputs).collect(), &validators),
    }
}

impl Toolset {
    /// Draws the plan of a request with all tools offered.
    pub(crate) fn draw(&self, query: &str, model: &dyn TextSource, settings: &GenerationSettings) -> GenerationOutcome {
        self.on(&[said(Speaker::User, query)], |occasion| waited(generate(occasion, model, settings)))
    }

    /// Draws the plan of a request from a known plan, with all tools offered.
    pub(crate) fn generate_from_template(
        &self,
        query: &str,
        template: &Plan,
        model: &dyn TextSource,
        settings: &GenerationSettings,
    ) -> GenerationOutcome {
        let said = [said(Speaker::User, query)];
        self.on(&said, |occasion| waited(generate_from_template(occasion, Some(template), model, settings)))
    }

    /// Draws a part of a plan again, with all tools offered.
    pub(crate) fn regenerate(
        &self,
        conversation: &[Message],
        present: &PresentPlan<'_>,
        renewal: &Renewal<'_>,
        model: &dyn TextSource,
        settings: &GenerationSettings,
    ) -> GenerationOutcome {
        self.on(conversation, |occasion| waited(regenerate(occasion, present, renewal, model, settings)))
    }

    fn on(
        &self,
        conversation: &[Message],
        drawn: impl FnOnce(&PlanInputs<'_>) -> GenerationOutcome,
    ) -> GenerationOutcome {
        let requests = conversation.iter().filter(|message| message.speaker == Speaker::User);
        let query = requests.map(|message| message.text.as_str()).collect::<Vec<_>>().join("\n");
        let scores = self.producers.score(&Request::parse(&query), &[]);
        let offered: Vec<usize> = (0..self.count).collect();
        drawn(&PlanInputs {
            tools: &self.list as &dyn Tools,
            producers: &self.producers,
            scores: &scores,
            offered: &offered,
            conversation,
            memory: &[],
            outline: &[],
        })
    }

    /// Returns the record with names and values in the form of the schemas, where the conversion is lossless: `sortBy`
    /// becomes `sort_by`, `"5"` for a number becomes 5, and 5 for a string becomes `"5"`.
    pub(crate) fn fitted(&self, record: &Record) -> Record {
        let mut fitted = record.clone();
        for call in &mut fitted.gold {
            let Some(tool) = self.book.get(&call.name) else { continue };
            let named =
                std::mem::take(&mut call.arguments).into_iter().map(|(name, value)| (spelled(tool, name), value));
            call.arguments = named.collect();
            for (name, value) in &mut call.arguments {
                let schema = tool.parameter(name).map(|parameter| parameter.schema.clone());
                let wants_text = schema.is_some_and(|schema| schema["type"] == "string");
                if wants_text && (value.is_i64() || value.is_u64()) {
                    *value = value.to_string().into();
                } else if references(value).is_empty() {
                    let arguments = serde_json::json!({ name.as_str(): value }).to_string();
                    let alone = Call { id: String::new(), name: call.name.clone(), arguments };
                    let rules = RepairRules { names: false, defaults: false, ..RepairRules::default() };
                    let mended = repair_call(&alone, 0, &self.book, &ScanRules::default(), &rules).call.arguments;
                    *value = serde_json::from_str::<Map<String, Value>>(&mended).unwrap()[name].clone();
                }
            }
        }
        fitted
    }

    /// Returns the mismatches of a gold plan with the schemas of its tools, each with its kind of fault.
    pub(crate) fn faults_of(&self, record: &Record) -> Vec<(&'static str, String)> {
        let used: Vec<String> =
            record.gold.iter().flat_map(GoldCall::references).map(|reference| reference.label).collect();
        let mut faults = Vec::new();
        if record.gold.iter().all(|call| used.contains(&call.label)) {
            faults.push(("the calls feed one another in a circle", String::new()));
        }
        for call in &record.gold {
            match self.book.get(&call.name) {
                Some(tool) => self.faults_of_call(call, tool, record, &mut faults),
                None => faults.push(("there is no such tool", call.name.clone())),
            }
        }
        faults
    }

    fn faults_of_call(
        &self,
        call: &GoldCall,
        tool: &CompiledTool,
        record: &Record,
        faults: &mut Vec<(&'static str, String)>,
    ) {
        let is_fed = |name: &str| call.arguments.get(name).is_some_and(|value| !references(value).is_empty());
        let mut known = call.arguments.clone();
        known.retain(|name, _| !is_fed(name));
        let unknown_parameters = UnknownParameters::Refuse;
        let rules = ScanRules { report: Report::All, unknown_parameters, ..ScanRules::default() };
        let made = Call { id: String::new(), name: call.name.clone(), arguments: Value::Object(known).to_string() };
        for diagnosis in scan(&made, 0, &self.book, &rules).err().unwrap_or_default() {
            let first = diagnosis.path.tokens().into_iter().next().unwrap_or_default();
            let kind = match diagnosis.code {
                // A value from another call does not exist yet.
                FaultCode::ParameterMissing if is_fed(&first) => continue,
                FaultCode::ParameterMissing => "a required parameter is not there",
                FaultCode::TypeMismatch | FaultCode::Constraint | FaultCode::Placeholder => MISFIT,
                _ => "there is no such parameter",
            };
            faults.push((kind, format!("{}: {}", call.name, diagnosis.message)));
        }
        for name in call.arguments.keys().filter(|name| is_fed(name) && tool.parameter(name).is_none()) {
            faults.push(("there is no such parameter", format!("{}: `{name}`", call.name)));
        }
        for reference in call.references() {
            match record.gold.iter().find(|other| other.label == reference.label) {
                Some(source) if self.promises(&source.name, &reference.pointer()) => {}
                Some(source) => faults.push((UNPROMISED, format!("{}{}", source.name, reference.path))),
                None => faults.push(("there is no such call", reference.text)),
            }
        }
    }

    fn promises(&self, tool: &str, pointer: &str) -> bool {
        let known = self.outputs.get(tool).map_or(&[] as &[_], Vec::as_slice);
        known.is_empty() || known.iter().any(|field| may_be(field, pointer))
    }
}

/// Returns a parameter's name in the tool's own spelling.
fn spelled(tool: &CompiledTool, name: String) -> String {
    let letters = |name: &str| name.to_lowercase().replace(['_', '-', '.'], "");
    let own = tool.parameters().find(|parameter| parameter.name == name);
    let same = || tool.parameters().find(|parameter| letters(parameter.name) == letters(&name));
    own.or_else(same).map_or(name.clone(), |parameter| parameter.name.to_owned())
}

/// Returns a message with only this text.
pub(crate) fn said(speaker: Speaker, text: &str) -> Message {
    Message { speaker, text: text.to_owned(), calls: Vec::new(), answers: None, name: None }
}

fn waited(drawing: impl Future<Output = GenerationOutcome>) -> GenerationOutcome {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(drawing)
}

/// Whether `field` contains `pointer`, or `pointer` contains `field`.
pub(crate) fn may_be(field: &str, pointer: &str) -> bool {
    let below = |longer: &str, shorter: &str| {
        longer.strip_prefix(shorter).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    below(field, pointer) || below(pointer, field)
}

impl GoldCall {
    /// Returns the references to other calls.
    pub(crate) fn references(&self) -> impl Iterator<Item = GoldReference> {
        self.arguments.values().flat_map(references)
    }
}

impl GoldReference {
    /// `/a/0/b`
    pub(crate) fn pointer(&self) -> String {
        self.path.replace('[', "/").replace(']', "").replace('.', "/")
    }

    pub(crate) fn is_item(&self) -> bool {
        self.path.contains('[')
    }
}

/// Returns the references in a value, in order.
pub(crate) fn references(value: &Value) -> Vec<GoldReference> {
    match value {
        Value::String(text) => of_text(text),
        Value::Array(items) => items.iter().flat_map(references).collect(),
        Value::Object(members) => members.values().flat_map(references).collect(),
        _ => Vec::new(),
    }
}

fn of_text(text: &str) -> Vec<GoldReference> {
    let pattern = regex::Regex::new(r"\$([A-Za-z_][A-Za-z0-9_]*)((?:\.|\[)[^$]*)?\$").unwrap();
    let found = pattern.captures_iter(text).map(|found| GoldReference {
        text: found[0].to_owned(),
        label: found[1].to_owned(),
        path: found.get(2).map_or_else(String::new, |path| path.as_str().to_owned()),
    });
    found.collect()
}

/// Returns each call as a text with references replaced by the calls that they name. The result is sorted, so labels
/// and the order of calls do not matter.
pub(crate) fn canonical(calls: &[GoldCall]) -> Vec<String> {
    let mut written: Vec<String> = calls.iter().map(|call| canonical_call(call, calls, 0)).collect();
    written.sort();
    written
}

fn canonical_call(call: &GoldCall, calls: &[GoldCall], depth: usize) -> String {
    let arguments: BTreeMap<&String, Value> =
        call.arguments.iter().map(|(name, value)| (name, canonical_value(value, calls, depth))).collect();
    format!("{}{}", call.name, serde_json::to_string(&arguments).unwrap())
}

fn canonical_value(value: &Value, calls: &[GoldCall], depth: usize) -> Value {
    match value {
        Value::String(text) => {
            let named = |reference: &GoldReference| match calls.iter().find(|call| call.label == reference.label) {
                Some(call) if depth < calls.len() => canonical_call(call, calls, depth + 1),
                _ => "?".to_owned(),
            };
            let replaced = |text: String, reference: GoldReference| {
                text.replace(&reference.text, &format!("<{}{}>", named(&reference), reference.path))
            };
            of_text(text).into_iter().fold(text.clone(), replaced).into()
        }
        Value::Array(items) => items.iter().map(|item| canonical_value(item, calls, depth)).collect(),
        Value::Object(members) => {
            let sorted: BTreeMap<String, Value> =
                members.iter().map(|(name, value)| (name.clone(), canonical_value(value, calls, depth))).collect();
            serde_json::to_value(sorted).unwrap()
        }
        other => other.clone(),
    }
}

/// Converts a drawn plan to the form of a gold plan.
pub(crate) fn as_calls(plan: &callwright_types::Plan) -> Vec<GoldCall> {
    let call = |node: &callwright_types::plan::Node| GoldCall {
        name: node.tool.clone(),
        label: node.label.clone(),
        arguments: node.arguments.iter().map(|argument| (argument.name.clone(), argument.source.written())).collect(),
    };
    plan.nodes().iter().map(call).collect()
}
