//! One operation of a document: the tool that the model is offered, and the way back from its arguments to an HTTP request.

use std::sync::Arc;

use http::Method;
use serde_json::{Map, Value};
use url::Url;

use super::Requirement;
use super::binding::{Binding, BodyBinding, BodyMember, BodyShape};
use super::idempotency::IdempotencyKey;
use callwright_types::promise::Promise;
use callwright_types::{DocText, OutputField, OutputLink, Owner, Tool};

/// One path and method of an OpenAPI document that became a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Operation {
    /// What the model is offered; its owner is the proxy.
    pub tool: Arc<Tool>,
    /// The document's own `operationId`, as written.
    pub operation_id: Option<String>,
    /// The HTTP method.
    pub method: Method,
    /// The path template, with every place written as in `/pets/{petId}`. Real documents add a fixed query (`?Action=List`), which belongs to the
    /// request, and a fragment, which only tells operations of one path apart and is never sent.
    pub path: String,
    /// Absolute base addresses, best first, with their variables filled by the defaults: the operation's servers, else the
    /// path's, else the document's, or the operator's `base_url` alone. Empty where all of them are relative or unusable: such
    /// an operation cannot be executed before `base_url` is set.
    pub servers: Vec<Url>,
    /// Where each parameter's argument goes, in the order of the document.
    pub bindings: Vec<Binding>,
    /// How the request body is made; `None` where the operation takes none.
    pub body: Option<BodyBinding>,
    /// The parameter by which the API recognises a request that it gets twice, where the document describes one.
    pub idempotency_key: Option<IdempotencyKey>,
    /// Alternatives, best first: each names the security schemes that must all be satisfied. Empty: no credentials are asked
    /// for. An empty alternative: credentials are optional.
    pub security: Vec<Vec<Requirement>>,
    /// Media types of the documented successful responses (of all, where those have none), without duplicates, in the order of the
    /// document: what may be asked for.
    pub produces: Vec<String>,
    /// What the document promises of the bodies of successful answers, those of single statuses first.
    pub promises: Vec<Promise>,
    /// What the document says that successful answers hold. Operations share it.
    pub outputs: Arc<[OutputField]>,
    /// Where the document says that a value of such an answer is an argument of another operation.
    pub links: Vec<OutputLink>,
    /// The names of the operation's tags.
    pub tags: Vec<String>,
    /// Does the document call the operation deprecated?
    pub deprecated: bool,
    /// What the document says about the operation: its description, parameters, body, responses and tags. Operations share many of these.
    pub documentation: Vec<Arc<DocText>>,
}

/// The arguments of one call, each with the place it goes to.
#[derive(Debug, Clone, PartialEq)]
pub struct Placement<'a> {
    /// Parameters that have a value, in the order of the document.
    pub parameters: Vec<(&'a Binding, &'a Value)>,
    /// The value of the request body; `None` where no argument of the body is given.
    pub body: Option<Value>,
}

impl Operation {
    /// The name that the operation is reported under: `GET /pets/{petId}`.
    pub fn label(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    /// The tool's name within its toolset. It is offered under another one where toolsets share names.
    pub fn own_name(&self) -> &str {
        match &self.tool.owner {
            Owner::Proxy(reference) => &reference.tool,
            Owner::Client | Owner::Search => &self.tool.name,
        }
    }

    /// Takes one argument object apart into parameters and body. Arguments that the tool does not know go nowhere.
    pub fn place<'a>(&'a self, arguments: &'a Map<String, Value>) -> Placement<'a> {
        let parameters = self
            .bindings
            .iter()
            .filter_map(|binding| arguments.get(&binding.argument).map(|value| (binding, value)))
            .collect();
        Placement { parameters, body: self.body.as_ref().and_then(|body| place_body(body, arguments)) }
    }
}

/// A required body is always sent, if need be as an empty object: that is what the document asks for.
fn place_body(body: &BodyBinding, arguments: &Map<String, Value>) -> Option<Value> {
    match &body.shape {
        BodyShape::Argument(name) => arguments.get(name).cloned(),
        BodyShape::Properties(members) => {
            let given = |member: &BodyMember| Some((member.name.clone(), arguments.get(&member.argument)?.clone()));
            let members: Map<String, Value> = members.iter().filter_map(given).collect();
            (body.required || !members.is_empty()).then_some(Value::Object(members))
        }
    }
}
