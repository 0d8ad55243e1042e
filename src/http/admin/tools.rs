//! `GET /admin/toolsets`, `GET /admin/toolsets/{toolset}`, `GET /admin/tools`, `GET /admin/tools/{toolset}/{tool}`:
//! load reports of documents, and tools as models see them. `PUT`, `DELETE` and `POST .../preview` of
//! `/admin/tools/{toolset}/{tool}/representation` edit a tool's representation.

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::http::asked::ParsedQuery;
use crate::http::router::OperatorSide;
use crate::http::{error, json};
use crate::pipeline::{Editing, Inspection, ToolShown};

/// Maximum number of bytes of a representation: several times what its limits allow.
pub(in crate::http) const MAX_BODY: usize = 1 << 20;

/// Default number of tools per page.
const DEFAULT_PAGE: usize = 100;

/// Maximum number of tools per page.
const MAX_PAGE: usize = 1_000;

/// Query of a list of tools.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(in crate::http) struct ToolsQuery {
    /// Only tools of this toolset.
    toolset: Option<String>,
    /// Only tools with this text in their name or operation.
    name: String,
    /// Number of tools per page.
    limit: Option<usize>,
    /// Number of tools to skip: `next` of the previous page.
    after: usize,
}

/// Returns the toolsets.
pub(in crate::http) async fn toolsets(State(side): State<OperatorSide>) -> Response {
    json::value(StatusCode::OK, &json!({"toolsets": side.pipeline.inspect().toolsets()}))
}

/// Returns the load report of a toolset's document.
pub(in crate::http) async fn report(State(side): State<OperatorSide>, Path(toolset): Path<String>) -> Response {
    match side.pipeline.inspect().report(&toolset) {
        Some(report) => json::value(StatusCode::OK, report),
        None => absent(format!("there is no toolset `{toolset}`")),
    }
}

/// Returns a page of tools, by toolset, in the order of their documents.
pub(in crate::http) async fn list(
    State(side): State<OperatorSide>,
    ParsedQuery(ToolsQuery { toolset, name, limit, after }): ParsedQuery<ToolsQuery>,
) -> Response {
    let limit = limit.unwrap_or(DEFAULT_PAGE).clamp(1, MAX_PAGE);
    let (tools, total) = side.pipeline.inspect().tools(toolset.as_deref(), &name, after, limit);
    let next = after.saturating_add(tools.len());
    let mut page = json!({"tools": tools, "total": total});
    if next < total && !tools.is_empty() {
        page["next"] = json!(next.to_string());
    }
    json::value(StatusCode::OK, &page)
}

/// A tool, and the source of its representation.
#[derive(Serialize)]
struct ToolDetails {
    #[serde(flatten)]
    tool: ToolShown,
    /// Time at which the shared representation was written; `None` if there is no shared one.
    #[serde(skip_serializing_if = "Option::is_none")]
    shared_at: Option<Timestamp>,
}

/// Returns one tool in full.
pub(in crate::http) async fn show(
    State(side): State<OperatorSide>,
    Path((toolset, tool)): Path<(String, String)>,
) -> Response {
    let inspection = side.pipeline.inspect();
    let id = Inspection::shared_id(&toolset, &tool);
    let unknown = unknown(&toolset, &tool);
    // The search traverses the whole catalog and must not block the runtime.
    let found = tokio::task::spawn_blocking(move || inspection.tool(&toolset, &tool)).await;
    match found {
        Ok(Some(tool)) => {
            // The rest of the response is useful without the store.
            let shared = side.store.representations().find(&id).await.ok().flatten();
            json::value(StatusCode::OK, &ToolDetails { tool, shared_at: shared.map(|shared| shared.updated_at) })
        }
        Ok(None) => unknown,
        Err(error) => error::internal(format!("inspecting the tool failed: {error}")),
    }
}

/// Returns what models would see with these patterns; changes nothing.
pub(in crate::http) async fn preview(
    State(side): State<OperatorSide>,
    Path((toolset, tool)): Path<(String, String)>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    match edited(&side, &toolset, &tool, &headers, body) {
        Ok(Editing { shown, .. }) => json::value(StatusCode::OK, &json!({"shown": shown})),
        Err(refusal) => *refusal,
    }
}

/// Stores patterns that take precedence over those of files, on all replicas.
pub(in crate::http) async fn write(
    State(side): State<OperatorSide>,
    Path((toolset, tool)): Path<(String, String)>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let Editing { mut shared, shown } = match edited(&side, &toolset, &tool, &headers, body) {
        Ok(edited) => edited,
        Err(refusal) => return *refusal,
    };
    let representations = side.store.representations();
    match representations.find(&shared.id).await {
        // The toolset's ranking was learned together with patterns and is not edited here.
        Ok(before) => shared.ranking = before.and_then(|before| before.ranking),
        Err(error) => return error::store(&error),
    }
    match representations.restore(std::slice::from_ref(&shared)).await {
        Ok(()) => json::value(StatusCode::OK, &json!({"shown": shown, "shared_at": shared.updated_at})),
        Err(error) => error::store(&error),
    }
}

/// Removes the shared representation of a tool; that of files applies again.
pub(in crate::http) async fn take_back(
    State(side): State<OperatorSide>,
    Path((toolset, tool)): Path<(String, String)>,
) -> Response {
    match side.store.representations().remove(&[Inspection::shared_id(&toolset, &tool)]).await {
        Ok(0) => absent(format!("the tool `{tool}` of the toolset `{toolset}` has no shared representation")),
        Ok(_) => json::value(StatusCode::OK, &json!({"removed": true})),
        Err(error) => error::store(&error),
    }
}

/// Body of an edited representation.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PatternsBody {
    /// Patterns as in a representation file; an empty list removes those of files.
    patterns: Value,
}

fn edited(
    side: &OperatorSide,
    toolset: &str,
    tool: &str,
    headers: &HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Editing, Box<Response>> {
    let body = json::sent(headers, body, "a representation must be JSON")?;
    let invalid = |message: String| Box::new(error::invalid_request(StatusCode::BAD_REQUEST, message, "invalid_body"));
    let PatternsBody { patterns } = json::object(&body)
        .map_err(|error| invalid(format!("the body must be an object with `patterns`, a list: {error}")))?;
    match side.pipeline.inspect().edit(toolset, tool, patterns, Timestamp::now()) {
        Some(Ok(editing)) => Ok(editing),
        Some(Err(error)) => Err(invalid(error.to_string())),
        None => Err(Box::new(unknown(toolset, tool))),
    }
}

fn unknown(toolset: &str, tool: &str) -> Response {
    absent(format!("there is no tool `{tool}` in a toolset `{toolset}`"))
}

fn absent(message: String) -> Response {
    error::invalid_request(StatusCode::NOT_FOUND, message, "not_found")
}
