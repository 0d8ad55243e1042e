//! Executions against servers in this process.

mod answers;
mod approvals;
mod credentials;
mod documents;
mod intents;
mod pages;
mod redirects;
mod requests;
mod round_trip;
mod server;
mod shared_tokens;
mod waiting;

use std::sync::{Arc, Mutex};

use http::Method;
use serde_json::{Value, json};
use url::Url;

use super::{CallContext, Executor, Settings};
use callwright_judge::scanner::{CheckedCall, ToolSet, Validators, scan};
use callwright_openapi::{
    Binding, BodyBinding, BodyFormat, BodyMember, BodyShape, Content, Location, Operation, SecurityScheme, Style,
    Toolset,
};
use callwright_store::{Beginning, IntentKey, IntentState, Intents, StoreError};
use callwright_types::outcome::ApiAnswer;
use callwright_types::rules::{ExecuteRule, ExecuteRules, Permission, ScanRules};
use callwright_types::{Call, OperationRef, Outcome, Owner, Secret, Tool, ToolKind};
use futures_util::future::BoxFuture;

/// Intent store in memory.
#[derive(Default)]
struct Remembered {
    rows: Mutex<Vec<(IntentKey, Row)>>,
    broken: bool,
}

#[derive(Clone, Default)]
struct Row {
    turn: String,
    idempotency_key: Option<String>,
    label: Option<String>,
    answer: Option<String>,
}

impl Intents for Remembered {
    fn unfinished_key<'a>(&'a self, key: &'a IntentKey) -> BoxFuture<'a, Result<Option<String>, StoreError>> {
        let row = self.row(key).filter(|row| row.label.is_none());
        Box::pin(async move { Ok(row.and_then(|row| row.idempotency_key)) })
    }

    fn earlier<'a>(
        &'a self,
        key: &'a IntentKey,
        turn: &'a str,
    ) -> BoxFuture<'a, Result<Option<IntentState>, StoreError>> {
        Box::pin(async move {
            Ok(match self.row(key) {
                Some(Row { label: None, idempotency_key, .. }) => Some(IntentState::UnknownBefore { idempotency_key }),
                Some(Row { answer: Some(answer), turn: before, .. }) if before != turn => {
                    self.change(key, |row| row.turn = turn.to_owned());
                    Some(IntentState::UndeliveredBefore { answer })
                }
                _ => None,
            })
        })
    }

    fn begin<'a>(
        &'a self,
        key: &'a IntentKey,
        beginning: Beginning<'a>,
    ) -> BoxFuture<'a, Result<IntentState, StoreError>> {
        Box::pin(async move {
            if self.broken {
                return Err(StoreError::Unavailable("the disk is full".into()));
            }
            let Beginning { turn, idempotency_key } = beginning;
            let fresh =
                Row { turn: turn.to_owned(), idempotency_key: idempotency_key.map(str::to_owned), ..Row::default() };
            Ok(match self.row(key) {
                None => {
                    self.rows.lock().unwrap().push((key.clone(), fresh));
                    IntentState::Fresh
                }
                Some(Row { label: None, idempotency_key, .. }) => IntentState::UnknownBefore { idempotency_key },
                Some(Row { answer: Some(answer), turn: before, .. }) if before != turn => {
                    self.change(key, |row| row.turn = turn.to_owned());
                    IntentState::UndeliveredBefore { answer }
                }
                Some(Row { label: Some(label), .. }) => {
                    self.change(key, |row| *row = fresh.clone());
                    IntentState::FinishedBefore { label }
                }
            })
        })
    }

    fn finish<'a>(
        &'a self,
        key: &'a IntentKey,
        label: &'a str,
        answer: Option<&'a str>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            self.change(key, |row| {
                row.label = Some(label.to_owned());
                row.answer = answer.map(str::to_owned);
            });
            Ok(())
        })
    }

    fn mark_delivered<'a>(&'a self, turn: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            for (_, row) in self.rows.lock().unwrap().iter_mut().filter(|(_, row)| row.turn == turn) {
                row.answer = None;
            }
            Ok(())
        })
    }
}

impl Remembered {
    fn row(&self, key: &IntentKey) -> Option<Row> {
        self.rows.lock().unwrap().iter().find(|(stored, _)| stored == key).map(|(_, row)| row.clone())
    }

    fn change(&self, key: &IntentKey, change: impl FnOnce(&mut Row)) {
        let mut rows = self.rows.lock().unwrap();
        change(&mut rows.iter_mut().find(|(stored, _)| stored == key).unwrap().1);
    }

    fn labels(&self) -> Vec<Option<String>> {
        self.rows.lock().unwrap().iter().map(|(_, row)| row.label.clone()).collect()
    }
}

/// Returns an operation of the toolset `shop` on a server.
fn operation(method: Method, server: &str, path: &str, bindings: Vec<Binding>) -> Operation {
    let reference = OperationRef { toolset: "shop".into(), tool: "use".into() };
    let tool = Tool {
        name: "use".into(),
        description: String::new(),
        parameters: Arc::new(json!({"type": "object"})),
        kind: ToolKind::Function,
        reads: None,
        owner: Owner::Proxy(reference),
        namespace: None,
    };
    Operation {
        tool: Arc::new(tool),
        operation_id: None,
        method,
        path: path.into(),
        servers: vec![Url::parse(server).unwrap()],
        bindings,
        body: None,
        idempotency_key: None,
        fixed: Vec::new(),
        security: Vec::new(),
        produces: vec!["application/json".into()],
        promises: Vec::new(),
        outputs: std::sync::Arc::default(),
        links: Vec::new(),
        tags: Vec::new(),
        deprecated: false,
        documentation: Vec::new(),
    }
}

fn binding(name: &str, location: Location) -> Binding {
    Binding {
        argument: name.into(),
        name: name.into(),
        location,
        required: false,
        style: location.default_style(),
        explode: location.default_style() == Style::Form,
        allow_reserved: false,
        media_type: None,
        nested: Vec::new(),
    }
}

fn json_body(properties: &[&str]) -> BodyBinding {
    BodyBinding {
        media_type: "application/json".into(),
        required: true,
        format: BodyFormat::Json,
        shape: BodyShape::Properties(
            properties.iter().map(|name| BodyMember { argument: (*name).into(), name: (*name).into() }).collect(),
        ),
        content: Content::Value,
        encoding: Default::default(),
    }
}

fn toolset() -> Toolset {
    let mut toolset = Toolset::default();
    toolset.name = "shop".into();
    toolset
}

/// Returns the toolset with one security scheme and optionally its credential.
fn guarded(scheme: SecurityScheme, credential: Option<&str>) -> Toolset {
    let mut toolset = toolset();
    toolset.security_schemes.insert("key".into(), scheme);
    toolset.credentials.extend(credential.map(|secret| ("key".to_owned(), Secret::new(secret).into())));
    toolset
}

fn checked(operation: &Operation, arguments: &Value) -> CheckedCall {
    let tool_set = ToolSet::compile(vec![Arc::clone(&operation.tool)], &Validators::default());
    let call = Call { id: "c".into(), name: operation.tool.name.clone(), arguments: arguments.to_string() };
    scan(&call, 0, &tool_set, &ScanRules::default()).unwrap()
}

/// Returns settings that allow this machine, with a timeout of one second.
fn local() -> Settings {
    Settings { allowed_addresses: vec!["127.0.0.1".into()], timeout_seconds: 1, ..Settings::default() }
}

fn executor(settings: &Settings) -> Executor {
    Executor::build(settings, Arc::new(Remembered::default()), None).unwrap()
}

fn allow_all() -> ExecuteRules {
    let rule = ExecuteRule { methods: Vec::new(), tools: Vec::new(), permission: Permission::Allow };
    ExecuteRules { rules: vec![rule], ..ExecuteRules::default() }
}

/// Returns the context of a call.
fn context<'a>(
    call: &'a CheckedCall,
    operation: &'a Operation,
    toolset: &'a Toolset,
    rules: &'a ExecuteRules,
    session: Option<&'a str>,
    trace_id: &'a str,
) -> CallContext<'a> {
    CallContext { call, operation, toolset, rules, session, trace_id }
}

/// Runs a call as session `s` with every method allowed.
async fn run(executor: &Executor, operation: &Operation, toolset: &Toolset, arguments: Value) -> Outcome {
    let call = checked(operation, &arguments);
    executor.execute(context(&call, operation, toolset, &allow_all(), Some("s"), "t")).await
}

#[track_caller]
fn answer(outcome: Outcome) -> ApiAnswer {
    match outcome {
        Outcome::Answered(answer) => answer,
        other => panic!("no answer but {other:?}"),
    }
}

#[track_caller]
fn refusal(outcome: Outcome) -> String {
    match outcome {
        Outcome::Refused(refusal) => refusal.message,
        Outcome::Unauthorised { reason, .. } => reason,
        other => panic!("not refused but {other:?}"),
    }
}

#[track_caller]
fn unknown(outcome: Outcome) -> String {
    match outcome {
        Outcome::Unknown { reason } => reason,
        other => panic!("not unknown but {other:?}"),
    }
}
