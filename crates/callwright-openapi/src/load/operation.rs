//! One operation of a document: the tool for the model, and the mapping from its arguments to an HTTP request.

use std::sync::Arc;

use http::Method;
use serde::Serialize;
use serde_json::{Map, Value};
use url::Url;

use crate::{Binding, BodyBinding, BodyMember, BodyShape, IdempotencyKey, RenamedTool, Requirement};
use callwright_types::promise::Promise;
use callwright_types::{DocText, OutputField, OutputLink, Owner, Tool};

/// One path and method of an OpenAPI document that became a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Operation {
    /// The tool as offered to the model; its owner is the proxy.
    pub tool: Arc<Tool>,
    /// The `operationId` as written in the document.
    pub operation_id: Option<String>,
    /// The HTTP method.
    pub method: Method,
    /// Path template in the form `/pets/{petId}`. Real documents add a fixed query (`?Action=List`), which is part of
    /// the request, and a fragment, which only distinguishes operations of one path and is never sent.
    pub path: String,
    /// Absolute base URLs, best first, with variables replaced by their defaults: the servers of the operation, else
    /// of the path, else of the document; or only the operator's `base_url`. Empty if all of them are relative or
    /// unusable. Such an operation cannot be executed until `base_url` is set.
    pub servers: Vec<Url>,
    /// Destination of each parameter's argument, in the order of the document.
    pub bindings: Vec<Binding>,
    /// Construction of the request body; `None` if the operation has none.
    pub body: Option<BodyBinding>,
    /// The idempotency key parameter, if the document describes one.
    pub idempotency_key: Option<IdempotencyKey>,
    /// Arguments with values that the document fixes. Every request has them; the tool does not offer them.
    pub fixed: Vec<FixedArgument>,
    /// Alternative security requirements, best first. Each lists the security schemes that must all be satisfied.
    /// Empty: no credentials are required. An empty alternative: credentials are optional.
    pub security: Vec<Vec<Requirement>>,
    /// Media types of the documented successful responses (of all responses if those have none), without duplicates,
    /// in the order of the document. Candidates for the `Accept` header.
    pub produces: Vec<String>,
    /// Documented schemas of successful response bodies, responses with a single status first.
    pub promises: Vec<Promise>,
    /// Documented fields of successful responses. Operations share them.
    pub outputs: Arc<[OutputField]>,
    /// Documented links from a field of the response to an argument of another operation.
    pub links: Vec<OutputLink>,
    /// Names of the operation's tags.
    pub tags: Vec<String>,
    /// Whether the operation is marked as deprecated.
    pub deprecated: bool,
    /// Documentation texts of the operation: its description, parameters, body, responses and tags. Operations share
    /// many of them.
    pub documentation: Vec<Arc<DocText>>,
}

/// An argument with the only value that it may have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FixedArgument {
    /// The argument's name in the operation's bindings or body.
    pub argument: String,
    /// The value.
    pub value: Value,
}

/// The arguments of one call, mapped to their locations in the request.
#[derive(Debug, Clone, PartialEq)]
pub struct Placement<'a> {
    /// Parameters with a value, in the order of the document.
    pub parameters: Vec<(&'a Binding, &'a Value)>,
    /// The value of the request body; `None` if no argument of the body is given.
    pub body: Option<Value>,
}

impl Operation {
    /// Returns method and path, by which reports identify the operation: `GET /pets/{petId}`.
    pub fn label(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    /// Returns the report entry of a tool whose name differs from the `operationId`.
    pub(crate) fn renamed(&self) -> Option<RenamedTool> {
        let to = &self.tool.name;
        (self.operation_id.as_ref() != Some(to)).then(|| RenamedTool {
            operation: self.label(),
            from: self.operation_id.clone(),
            to: to.clone(),
        })
    }

    /// Returns the tool's name within its toolset. The offered name differs if several toolsets use the same name.
    pub fn own_name(&self) -> &str {
        match &self.tool.owner {
            Owner::Proxy(reference) => &reference.tool,
            Owner::Client | Owner::Search => &self.tool.name,
        }
    }

    /// Splits an argument object into parameters and body, and adds the fixed arguments. Unknown arguments are dropped.
    pub fn place<'a>(&'a self, arguments: &'a Map<String, Value>) -> Placement<'a> {
        let mut parameters = Vec::new();
        for binding in &self.bindings {
            parameters.extend(self.value(&binding.argument, arguments).map(|value| (binding, value)));
        }
        Placement { parameters, body: self.body.as_ref().and_then(|body| self.place_body(body, arguments)) }
    }

    /// Returns the value of an argument: the fixed one, otherwise the given one.
    fn value<'a>(&'a self, argument: &str, arguments: &'a Map<String, Value>) -> Option<&'a Value> {
        let fixed = self.fixed.iter().find(|fixed| fixed.argument == argument).map(|fixed| &fixed.value);
        fixed.or_else(|| arguments.get(argument))
    }

    /// Builds the body. A required body is always sent, if necessary as an empty object.
    fn place_body(&self, body: &BodyBinding, arguments: &Map<String, Value>) -> Option<Value> {
        match &body.shape {
            BodyShape::Argument(name) => self.value(name, arguments).cloned(),
            BodyShape::Properties(members) => {
                let mut given = Map::new();
                for BodyMember { argument, name } in members {
                    given.extend(self.value(argument, arguments).map(|value| (name.clone(), value.clone())));
                }
                (body.required || !given.is_empty()).then_some(Value::Object(given))
            }
        }
    }
}
