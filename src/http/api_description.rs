//! Description of the proxy's own API (OpenAPI 3.0). Each handler's module describes its operations.

use openapiv3::{APIKeyLocation, Components, Info, OpenAPI, Paths, ReferenceOr, Response, SecurityScheme, Tag};

use callwright_telemetry::labels::{Label, Listener};

use super::api_operation::{API_KEY, ApiParts, JSON, OPERATOR_TOKEN, VIRTUAL_KEY, error_name, media_type, server};
use super::api_schema::{named, object, optional, required, text};
use super::{admin, console, feedback, health, models, pass_through, turns};

/// Overview of the API.
const OVERVIEW: &str = "The proxy's own API. Paths with the tag `client` belong to the client listener, those with the tag `operator` to the \
    operator listener. A turn is one chat completion request and everything that the proxy does to answer it. Each path is normalised before it is routed; \
    a path without a normal form gets 400 `invalid_path`. Chat completions are also accepted at `/chat/completions`, and every path below `/v1` also below \
    `/openai/v1`. On a listener without required credentials, a `Host` that is not listed in `server.hosts` gets 421 `host_not_allowed`. A web page of another \
    origin gets 403 `origin_not_allowed`. A WebSocket gets 426 `upgrade_not_supported` at `/v1/responses` and below, and 501 elsewhere. A request that the proxy sent itself gets 508 `loop_detected`.";

/// Error responses: status and description.
const ERRORS: [(u16, &str); 12] = [
    (400, "The request is invalid; the message names the fault and the fix."),
    (401, "The credential is missing or unknown."),
    (403, "The key lacks the permission."),
    (404, "There is no such item."),
    (409, "The item was already decided or changed."),
    (410, "The item has expired."),
    (413, "The body exceeds the size limit."),
    (415, "The body is not sent as JSON."),
    (429, "A limit of the key or of the provider is reached; `retry-after` has the time to wait."),
    (502, "The provider returned no usable answer."),
    (503, "A required resource is unavailable; `retry-after` has the time to wait, if it is known."),
    (504, "The provider did not answer in time."),
];

/// Returns the description of the API of both listeners as JSON text.
///
/// # Errors
/// If the description cannot be represented in JSON.
pub fn api_description() -> serde_json::Result<String> {
    let mut parts = ApiParts::default();
    for describe in [
        turns::describe,
        models::describe,
        feedback::describe,
        pass_through::describe,
        health::describe,
        console::describe,
        admin::overview::describe,
        admin::traces::describe,
        admin::approvals::describe,
        admin::approval_events::describe,
        admin::switch::describe,
        admin::memory::describe,
        admin::tools::describe,
        admin::policies::describe,
        admin::shadow::describe,
        admin::upstreams::describe,
        admin::keys::describe,
    ] {
        describe(&mut parts);
    }
    add_errors(&mut parts.components);
    add_credentials(&mut parts.components);
    let description = OpenAPI {
        openapi: "3.0.3".to_owned(),
        info: Info {
            title: "Callwright".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            description: Some(OVERVIEW.to_owned()),
            ..Info::default()
        },
        servers: vec![server(Listener::Client), server(Listener::Operator)],
        tags: vec![
            tag(Listener::Client, "Requests of OpenAI clients."),
            tag(Listener::Operator, "Health, metrics and administration."),
        ],
        paths: Paths { paths: parts.paths, ..Paths::default() },
        components: Some(parts.components),
        ..OpenAPI::default()
    };
    Ok(serde_json::to_string_pretty(&description)? + "\n")
}

fn tag(listener: Listener, about: &str) -> Tag {
    Tag { name: listener.label().to_owned(), description: Some(about.to_owned()), ..Tag::default() }
}

fn add_errors(components: &mut Components) {
    let error = object([
        required("message", text()),
        required("type", text()),
        optional("param", text().or_null()),
        optional("code", text().or_null()),
    ]);
    let body = object([required("error", error)]).about("An error in the form of the OpenAI API.");
    components.schemas.insert("Error".to_owned(), ReferenceOr::Item(body.0));
    for (status, about) in ERRORS {
        let content = [(JSON.to_owned(), media_type(named("Error")))].into_iter().collect();
        let response = Response { description: about.to_owned(), content, ..Response::default() };
        components.responses.insert(error_name(status), ReferenceOr::Item(response));
    }
}

fn add_credentials(components: &mut Components) {
    let api_key = SecurityScheme::APIKey {
        location: APIKeyLocation::Header,
        name: "api-key".to_owned(),
        description: Some("A virtual key in the header field that Azure's clients use.".to_owned()),
        extensions: Default::default(),
    };
    for (name, scheme) in [
        (VIRTUAL_KEY, bearer("A virtual key, or the provider's key if clients use their own.")),
        (API_KEY, api_key),
        (OPERATOR_TOKEN, bearer("The token of operators, if one is configured.")),
    ] {
        components.security_schemes.insert(name.to_owned(), ReferenceOr::Item(scheme));
    }
}

fn bearer(about: &str) -> SecurityScheme {
    SecurityScheme::HTTP {
        scheme: "bearer".to_owned(),
        bearer_format: None,
        description: Some(about.to_owned()),
        extensions: Default::default(),
    }
}
