//! An API with one operation, described by a document, and the executor that calls it.

use std::sync::Arc;

use callwright_executor::{CallContext, Executor, Lookup, Settings};
use callwright_judge::scanner::{ToolSet, Validators, scan};
use callwright_openapi::{Credential, SecretSource, Toolset, ToolsetSettings, load_document};
use callwright_store::{Beginning, IntentKey, IntentState, Intents, StoreError};
use callwright_types::outcome::ApiAnswer;
use callwright_types::rules::{ExecuteRule, ExecuteRules, Permission, ScanRules, UnknownParameters};
use callwright_types::{Call, Outcome, Secret};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

/// Timeout of an execution in seconds, longer than the slowest machine requires.
const PATIENT_SECONDS: u64 = 60;

/// Connect timeout in seconds for connections that only the timeout ends.
const HASTY_CONNECT_SECONDS: u64 = 1;

/// Timeout in seconds of an execution that only the timeout ends. It exceeds the connect timeout even on a busy
/// machine, because a failed connection has another outcome than a missing response.
const HASTY_SECONDS: u64 = 4;

/// Maximum number of bytes of a response.
pub(crate) const MAX_ANSWER_BYTES: usize = 64 * 1024;

/// Name of the tool.
const TOOL: &str = "use";

/// A document with one operation, and the executor's settings. Only public addresses are allowed.
pub(crate) struct Setup {
    pub(crate) server: String,
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    pub(crate) parameters: Value,
    /// `content` of the request body; null: none.
    pub(crate) content: Value,
    /// Security scheme; null: none.
    pub(crate) scheme: Value,
    pub(crate) toolset: ToolsetSettings,
    pub(crate) settings: Settings,
    pub(crate) lookup: Option<Arc<dyn Lookup>>,
    /// Replaces the generated document.
    pub(crate) document: Option<Value>,
}

impl Setup {
    /// Creates an API on `server`: `GET /r`.
    pub(crate) fn at(server: impl Into<String>) -> Self {
        let settings = Settings {
            timeout_seconds: PATIENT_SECONDS,
            connect_timeout_seconds: PATIENT_SECONDS,
            max_answer_bytes: MAX_ANSWER_BYTES,
            ..Settings::default()
        };
        Self {
            server: server.into(),
            method: "get",
            path: "/r",
            parameters: json!([]),
            content: Value::Null,
            scheme: Value::Null,
            toolset: ToolsetSettings::default(),
            settings,
            lookup: None,
            document: None,
        }
    }

    /// Works like [`Self::at`], and allows this machine's own address.
    pub(crate) fn local(server: impl Into<String>) -> Self {
        Self::at(server).allowing(&["127.0.0.1"])
    }

    /// Sets short timeouts, for cases that only a timeout ends.
    pub(crate) fn hasty(mut self) -> Self {
        self.settings.timeout_seconds = HASTY_SECONDS;
        self.settings.connect_timeout_seconds = HASTY_CONNECT_SECONDS;
        self
    }

    pub(crate) fn allowing(mut self, addresses: &[&str]) -> Self {
        self.settings.allowed_addresses = addresses.iter().map(|address| (*address).to_owned()).collect();
        self
    }

    pub(crate) fn method(mut self, method: &'static str) -> Self {
        self.method = method;
        self
    }

    pub(crate) fn path(mut self, path: &'static str) -> Self {
        self.path = path;
        self
    }

    /// Adds a parameter.
    pub(crate) fn parameter(mut self, parameter: Value) -> Self {
        self.parameters.as_array_mut().unwrap().push(parameter);
        self
    }

    pub(crate) fn content(mut self, content: Value) -> Self {
        self.content = content;
        self
    }

    pub(crate) fn resolving(mut self, lookup: impl Lookup + 'static) -> Self {
        self.lookup = Some(Arc::new(lookup));
        self
    }

    /// Requires a credential by this scheme, and provides it.
    pub(crate) fn secured(self, scheme: Value, secret: &str) -> Self {
        self.secured_by(scheme, Credential::Fixed(SecretSource::Given(Secret::new(secret))))
    }

    pub(crate) fn secured_by(mut self, scheme: Value, credential: Credential) -> Self {
        self.scheme = scheme;
        self.toolset.credentials.insert("key".to_owned(), credential);
        self
    }

    pub(crate) fn executor(&self) -> Executor {
        match &self.lookup {
            Some(lookup) => Executor::with_lookup(&self.settings, Arc::new(Forgetful), None, Arc::clone(lookup)),
            None => Executor::build(&self.settings, Arc::new(Forgetful), None),
        }
        .unwrap()
    }

    pub(crate) fn shop(&self) -> Shop {
        self.shop_of("shop", &self.executor())
    }

    /// Returns the toolset of this name, called by this executor.
    pub(crate) fn shop_of(&self, name: &str, executor: &Executor) -> Shop {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shop.json");
        std::fs::write(&path, self.document().to_string()).unwrap();
        let toolset = load_document(name, &path, &self.toolset).unwrap();
        assert_eq!(toolset.report.operations_skipped, [], "the case does not reach the executor");
        Shop { toolset, executor: executor.clone() }
    }

    /// Calls once.
    pub(crate) async fn call(&self, arguments: Value) -> Outcome {
        self.shop().call(arguments).await
    }

    fn document(&self) -> Value {
        if let Some(document) = &self.document {
            return document.clone();
        }
        let mut operation = json!({
            "operationId": TOOL, "parameters": self.parameters, "responses": {"200": {"description": "Done."}}
        });
        if !self.content.is_null() {
            operation["requestBody"] = json!({"required": true, "content": self.content});
        }
        let mut document = json!({
            "openapi": "3.0.3",
            "info": {"title": "Shop", "version": "1"},
            "servers": [{"url": self.server}],
        });
        if !self.scheme.is_null() {
            document["components"] = json!({"securitySchemes": {"key": self.scheme}});
            document["security"] = json!([{"key": []}]);
        }
        document["paths"] = json!({self.path: {self.method: operation}});
        document
    }
}

/// The API as a toolset, and the executor that calls it.
pub(crate) struct Shop {
    toolset: Toolset,
    executor: Executor,
}

impl Shop {
    /// Calls the operation; every method is allowed.
    pub(crate) async fn call(&self, arguments: Value) -> Outcome {
        let operation = self.toolset.operation(TOOL).unwrap();
        let tool_set = ToolSet::compile(vec![Arc::clone(&operation.tool)], &Validators::default());
        let call = Call { id: "c".into(), name: operation.tool.name.clone(), arguments: arguments.to_string() };
        // Unknown arguments are not a fault here; their effect on the request is the executor's responsibility.
        let rules = ScanRules { unknown_parameters: UnknownParameters::Allow, ..ScanRules::default() };
        let checked = scan(&call, 0, &tool_set, &rules)
            .unwrap_or_else(|found| panic!("the case does not reach the executor: {found:?}"));
        let everything = ExecuteRule { methods: Vec::new(), tools: Vec::new(), permission: Permission::Allow };
        let rules = ExecuteRules { rules: vec![everything], ..ExecuteRules::default() };
        let toolset = &self.toolset;
        let (call, session, trace_id) = (&checked, Some("session"), "trace");
        self.executor.execute(CallContext { call, operation, toolset, rules: &rules, session, trace_id }).await
    }
}

/// An intent log that forgets: every call counts as new.
struct Forgetful;

impl Intents for Forgetful {
    fn unfinished_key<'a>(&'a self, _: &'a IntentKey) -> BoxFuture<'a, Result<Option<String>, StoreError>> {
        Box::pin(async { Ok(None) })
    }

    fn earlier<'a>(&'a self, _: &'a IntentKey, _: &'a str) -> BoxFuture<'a, Result<Option<IntentState>, StoreError>> {
        Box::pin(async { Ok(None) })
    }

    fn begin<'a>(&'a self, _: &'a IntentKey, _: Beginning<'a>) -> BoxFuture<'a, Result<IntentState, StoreError>> {
        Box::pin(async { Ok(IntentState::Fresh) })
    }

    fn finish<'a>(&'a self, _: &'a IntentKey, _: &'a str, _: Option<&'a str>) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async { Ok(()) })
    }

    fn mark_delivered<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async { Ok(()) })
    }
}

#[track_caller]
pub(crate) fn answered(outcome: Outcome) -> ApiAnswer {
    match outcome {
        Outcome::Answered(answer) => answer,
        other => panic!("no answer but {other:?}"),
    }
}

#[track_caller]
pub(crate) fn refused(outcome: Outcome) -> String {
    match outcome {
        Outcome::Refused(refusal) => refusal.message,
        other => panic!("not refused but {other:?}"),
    }
}

#[track_caller]
pub(crate) fn unauthorised(outcome: Outcome) -> String {
    match outcome {
        Outcome::Unauthorised { reason, .. } => reason,
        other => panic!("not for want of a credential but {other:?}"),
    }
}

#[track_caller]
pub(crate) fn unknown(outcome: Outcome) -> String {
    match outcome {
        Outcome::Unknown { reason } => reason,
        other => panic!("not unknown but {other:?}"),
    }
}

#[track_caller]
pub(crate) fn unreachable(outcome: Outcome) -> String {
    match outcome {
        Outcome::Unreachable { reason } => reason,
        other => panic!("not unreachable but {other:?}"),
    }
}
