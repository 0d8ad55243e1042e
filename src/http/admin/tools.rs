//! `GET /admin/toolsets`, `GET /admin/toolsets/{toolset}`, `GET /admin/tools`, `GET /admin/tools/{toolset}/{tool}`: what became of documents and what
//! models are shown of tools. `PUT`, `DELETE` and `POST .../preview` of `/admin/tools/{toolset}/{tool}/representation` edit what was learned of one.

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::http::asked::Asked;
use crate::http::router::OperatorSide;
use crate::http::{error, json};
use crate::pipeline::{Editing, Inspection, ToolShown};

/// Bytes of a representation that is sent: several times what its limits let it have.
pub(in crate::http) const MAX_BODY: usize = 1 << 20;

/// Tools of one page, unless the query says otherwise.
const DEFAULT_PAGE: usize = 100;

/// Most tools of one page.
const MAX_PAGE: usize = 1_000;

/// The query of a list of tools.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(in crate::http) struct ToolsQuery {
    /// Those of this toolset.
    toolset: Option<String>,
    /// Those with this in their name or operation.
    name: String,
    /// Tools per page.
    limit: Option<usize>,
    /// Tools that are passed over: `next` of the page before.
    after: usize,
}

/// The toolsets.
pub(in crate::http) async fn toolsets(State(side): State<OperatorSide>) -> Response {
    json::value(StatusCode::OK, &json!({"toolsets": side.pipeline.inspect().toolsets()}))
}

/// What became of a toolset's document.
pub(in crate::http) async fn report(State(side): State<OperatorSide>, Path(toolset): Path<String>) -> Response {
    match side.pipeline.inspect().report(&toolset) {
        Some(report) => json::value(StatusCode::OK, report),
        None => absent(format!("there is no toolset `{toolset}`")),
    }
}

/// A page of tools, by toolset, in the order of their documents.
pub(in crate::http) async fn list(
    State(side): State<OperatorSide>,
    Asked(ToolsQuery { toolset, name, limit, after }): Asked<ToolsQuery>,
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

/// A tool, and who wrote what models are shown of it.
#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    tool: ToolShown,
    /// When what all replicas share of it was written; none where a file or nobody says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    shared_at: Option<Timestamp>,
}

/// One tool, whole.
pub(in crate::http) async fn show(
    State(side): State<OperatorSide>,
    Path((toolset, tool)): Path<(String, String)>,
) -> Response {
    let inspection = side.pipeline.inspect();
    let id = Inspection::shared_id(&toolset, &tool);
    let unknown = unknown(&toolset, &tool);
    // It goes through the whole catalog, which must not hold up turns.
    let found = tokio::task::spawn_blocking(move || inspection.tool(&toolset, &tool)).await;
    match found {
        Ok(Some(tool)) => {
            // Without the store the rest is still worth seeing.
            let shared = side.store.representations().find(&id).await.ok().flatten();
            json::value(StatusCode::OK, &Shown { tool, shared_at: shared.map(|shared| shared.updated_at) })
        }
        Ok(None) => unknown,
        Err(error) => error::internal(format!("looking at the tool failed: {error}")),
    }
}

/// What models would be shown of these patterns; nothing is changed.
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

/// These patterns stand over what files say of the tool, on all replicas, from now on.
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
        // How the toolset is ranked was learned together with patterns, and is not what is edited.
        Ok(before) => shared.ranking = before.and_then(|before| before.ranking),
        Err(error) => return error::store(&error),
    }
    match representations.restore(std::slice::from_ref(&shared)).await {
        Ok(()) => json::value(StatusCode::OK, &json!({"shown": shown, "shared_at": shared.updated_at})),
        Err(error) => error::store(&error),
    }
}

/// What is shared of the tool is taken back: what files say of it holds again.
pub(in crate::http) async fn take_back(
    State(side): State<OperatorSide>,
    Path((toolset, tool)): Path<(String, String)>,
) -> Response {
    match side.store.representations().remove(&[Inspection::shared_id(&toolset, &tool)]).await {
        Ok(0) => absent(format!("nothing is shared of the tool `{tool}` of the toolset `{toolset}`")),
        Ok(_) => json::value(StatusCode::OK, &json!({"removed": true})),
        Err(error) => error::store(&error),
    }
}

/// What is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    /// As in a representation file; an empty list takes away what files say.
    patterns: Value,
}

fn edited(
    side: &OperatorSide,
    toolset: &str,
    tool: &str,
    headers: &HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Editing, Box<Response>> {
    let body = json::sent(headers, body, "a representation is sent as JSON")?;
    let invalid = |message: String| Box::new(error::invalid_request(StatusCode::BAD_REQUEST, message, "invalid_body"));
    let Written { patterns } = json::object(&body)
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
