//! Operations of the description of the proxy's own API, as handlers declare them.

use axum::http::Method;
use indexmap::IndexMap;
use openapiv3::{
    Components, Header, HeaderStyle, MediaType, Operation, Parameter, ParameterData, ParameterSchemaOrContent,
    PathItem, PathStyle, QueryStyle, ReferenceOr, RequestBody, Response, SecurityRequirement, Server, StatusCode,
};

use callwright_telemetry::labels::{Label, Listener};

use super::Settings;
use super::api_schema::{ApiSchema, SchemaReference, text, text_of, time};

/// Names of the credentials in the description.
pub(super) const VIRTUAL_KEY: &str = "key";
pub(super) const API_KEY: &str = "api_key";
pub(super) const OPERATOR_TOKEN: &str = "operator";

/// Media type of most bodies.
pub(super) const JSON: &str = "application/json";

/// Paths and named schemas of the description.
#[derive(Debug, Default)]
pub(super) struct ApiParts {
    pub(super) paths: IndexMap<String, ReferenceOr<PathItem>>,
    pub(super) components: Components,
}

impl ApiParts {
    /// Adds an operation of a path.
    pub(super) fn operation(&mut self, method: Method, path: &str, ApiOperation { listener, operation }: ApiOperation) {
        let item = PathItem { servers: vec![server(listener)], ..PathItem::default() };
        let entry = self.paths.entry(path.to_owned()).or_insert(ReferenceOr::Item(item));
        let ReferenceOr::Item(item) = entry else { return };
        let slot = match method {
            Method::PUT => &mut item.put,
            Method::POST => &mut item.post,
            Method::PATCH => &mut item.patch,
            Method::DELETE => &mut item.delete,
            _ => &mut item.get,
        };
        *slot = Some(operation);
    }

    /// Adds a named schema.
    pub(super) fn schema(&mut self, name: &str, schema: ApiSchema) {
        self.components.schemas.insert(name.to_owned(), ReferenceOr::Item(schema.0));
    }
}

/// Returns the address of a listener without configuration.
pub(super) fn server(listener: Listener) -> Server {
    let settings = Settings::default();
    let (address, side) = match listener {
        Listener::Client => (settings.listen, "client"),
        Listener::Operator => (settings.operator_listen, "operator"),
    };
    Server {
        url: format!("http://{address}"),
        description: Some(format!("The {side} listener, unless configured otherwise.")),
        ..Server::default()
    }
}

/// An operation of a listener.
#[derive(Debug)]
pub(super) struct ApiOperation {
    listener: Listener,
    operation: Operation,
}

pub(super) fn for_clients(id: &str, summary: &str) -> ApiOperation {
    ApiOperation::new(Listener::Client, id, summary, &[Some(VIRTUAL_KEY), Some(API_KEY), None])
}

pub(super) fn for_operators(id: &str, summary: &str) -> ApiOperation {
    ApiOperation::new(Listener::Operator, id, summary, &[Some(OPERATOR_TOKEN), None])
}

/// Creates an operation of the operator listener that needs no credential.
pub(super) fn for_everyone(id: &str, summary: &str) -> ApiOperation {
    ApiOperation::new(Listener::Operator, id, summary, &[])
}

impl ApiOperation {
    /// `credentials` are alternatives; `None` means no credential.
    fn new(listener: Listener, id: &str, summary: &str, credentials: &[Option<&str>]) -> Self {
        let security = credentials
            .iter()
            .map(|name| name.iter().map(|name| ((*name).to_owned(), Vec::new())).collect::<SecurityRequirement>());
        let operation = Operation {
            tags: vec![listener.label().to_owned()],
            summary: Some(summary.to_owned()),
            operation_id: Some(id.to_owned()),
            security: Some(security.collect()),
            ..Operation::default()
        };
        Self { listener, operation }
    }

    /// Adds a parameter of the path: a text that is not empty.
    pub(super) fn path(self, name: &str, about: &str) -> Self {
        self.path_of(name, text_of(1, None), about)
    }

    /// Adds a parameter of the path.
    pub(super) fn path_of(mut self, name: &str, schema: ApiSchema, about: &str) -> Self {
        let parameter_data = ParameterData { required: true, ..parameter(name, schema, about) };
        let parameter = Parameter::Path { parameter_data, style: PathStyle::default() };
        self.operation.parameters.push(ReferenceOr::Item(parameter));
        self
    }

    /// Adds a parameter of the query.
    pub(super) fn query(mut self, name: &str, schema: impl Into<SchemaReference>, about: &str) -> Self {
        let parameter = Parameter::Query {
            parameter_data: parameter(name, schema, about),
            allow_reserved: false,
            style: QueryStyle::default(),
            allow_empty_value: None,
        };
        self.operation.parameters.push(ReferenceOr::Item(parameter));
        self
    }

    /// Adds the parameters `since` and `until` of the query, which are times or ages.
    pub(super) fn time_range(self, since: &str, until: &str) -> Self {
        let about = |bound: &str| format!("{bound}; also an age, such as `-1h`.");
        self.query("since", time(), &about(since)).query("until", time(), &about(until))
    }

    /// Adds a header field of the request.
    pub(super) fn header(mut self, name: &str, about: &str) -> Self {
        let parameter_data = parameter(name, text(), about);
        let parameter = Parameter::Header { parameter_data, style: HeaderStyle::default() };
        self.operation.parameters.push(ReferenceOr::Item(parameter));
        self
    }

    /// Sets the request body, which is JSON.
    pub(super) fn body(mut self, schema: impl Into<SchemaReference>) -> Self {
        let content = IndexMap::from([(JSON.to_owned(), media_type(schema))]);
        self.operation.request_body =
            Some(ReferenceOr::Item(RequestBody { content, required: true, ..RequestBody::default() }));
        self
    }

    /// Adds a response with a JSON body.
    pub(super) fn responds(self, status: u16, about: &str, schema: impl Into<SchemaReference>) -> Self {
        self.responds_as(status, about, [(JSON, schema.into())])
    }

    /// Adds a response with a body of one of these media types.
    pub(super) fn responds_as(
        mut self,
        status: u16,
        about: &str,
        bodies: impl IntoIterator<Item = (&'static str, SchemaReference)>,
    ) -> Self {
        let content = bodies.into_iter().map(|(kind, schema)| (kind.to_owned(), media_type(schema))).collect();
        let response = Response { description: about.to_owned(), content, ..Response::default() };
        self.operation.responses.responses.insert(StatusCode::Code(status), ReferenceOr::Item(response));
        self
    }

    /// Adds header fields to the response with this status.
    pub(super) fn response_headers(mut self, status: u16, fields: &[(&str, &str)]) -> Self {
        if let Some(ReferenceOr::Item(response)) = self.operation.responses.responses.get_mut(&StatusCode::Code(status))
        {
            response.headers.extend(fields.iter().map(|(name, about)| ((*name).to_owned(), header(about))));
        }
        self
    }

    /// Sets the description of responses with any status.
    pub(super) fn responds_anything(mut self, about: &str) -> Self {
        let response = Response { description: about.to_owned(), ..Response::default() };
        self.operation.responses.default = Some(ReferenceOr::Item(response));
        self
    }

    /// Adds error responses.
    pub(super) fn fails(mut self, statuses: impl IntoIterator<Item = u16>) -> Self {
        for status in statuses {
            let reference = format!("#/components/responses/{}", error_name(status));
            let reference = ReferenceOr::Reference { reference };
            self.operation.responses.responses.insert(StatusCode::Code(status), reference);
        }
        self
    }
}

/// Returns the name of the error response with this status.
pub(super) fn error_name(status: u16) -> String {
    format!("E{status}")
}

/// Returns a body with this schema.
pub(super) fn media_type(schema: impl Into<SchemaReference>) -> MediaType {
    MediaType { schema: Some(schema.into().0), ..MediaType::default() }
}

fn header(about: &str) -> ReferenceOr<Header> {
    ReferenceOr::Item(Header {
        description: Some(about.to_owned()),
        style: HeaderStyle::default(),
        required: false,
        deprecated: None,
        format: ParameterSchemaOrContent::Schema(ReferenceOr::Item(text().0)),
        example: None,
        examples: IndexMap::new(),
        extensions: IndexMap::new(),
    })
}

fn parameter(name: &str, schema: impl Into<SchemaReference>, about: &str) -> ParameterData {
    ParameterData {
        name: name.to_owned(),
        description: Some(about.to_owned()),
        required: false,
        deprecated: None,
        format: ParameterSchemaOrContent::Schema(schema.into().0),
        example: None,
        examples: IndexMap::new(),
        explode: None,
        extensions: IndexMap::new(),
    }
}
