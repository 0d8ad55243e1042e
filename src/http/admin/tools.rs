//! `GET /admin/toolsets`, `GET /admin/toolsets/{toolset}`, `GET /admin/tools`, `GET /admin/tools/{toolset}/{tool}`: load
//! reports of documents, and tools as models see them. `PUT`, `DELETE` and `POST .../preview` of
//! `/admin/tools/{toolset}/{tool}/representation` edit a tool's representation.

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::Response;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::PAGE_LIMIT;
use crate::http::api_operation::{ApiOperation, ApiParts, for_operators};
use crate::http::api_schema::{
    ApiMember, any, array, boolean, closed_object, count, date, integer, named, number, object, optional, positive,
    required, text, text_of, time,
};
use crate::http::query::ParsedQuery;
use crate::http::state::OperatorSide;
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
    let PatternsBody { patterns } = json::object(&body).map_err(|error| {
        Box::new(error::invalid_body(format!("the body must be an object with `patterns`, a list: {error}")))
    })?;
    match side.pipeline.inspect().edit(toolset, tool, patterns, Timestamp::now()) {
        Some(Ok(editing)) => Ok(editing),
        Some(Err(error)) => Err(Box::new(error::invalid_body(error.to_string()))),
        None => Err(Box::new(unknown(toolset, tool))),
    }
}

fn unknown(toolset: &str, tool: &str) -> Response {
    absent(format!("there is no tool `{tool}` in a toolset `{toolset}`"))
}

fn absent(message: String) -> Response {
    error::invalid_request(StatusCode::NOT_FOUND, message, "not_found")
}

/// Describes the operations.
pub(in crate::http) fn describe(api: &mut ApiParts) {
    let toolsets_operation = for_operators("listToolsets", "Lists the toolsets.")
        .responds(200, "All toolsets.", object([required("toolsets", array(named("Toolset")))]))
        .fails([401]);
    api.operation(Method::GET, "/admin/toolsets", toolsets_operation);
    let report_operation = for_operators("showReport", "Returns the load report of a toolset's document.")
        .path("toolset", "Name of the toolset.")
        .responds(200, "The report.", named("Report"))
        .fails([400, 401, 404]);
    api.operation(Method::GET, "/admin/toolsets/{toolset}", report_operation);
    let list_operation = for_operators("listTools", "Lists the tools of documents.")
        .query("toolset", text(), "Only tools of this toolset.")
        .query("name", text(), "Only tools with this text in their name or operation.")
        .query("limit", count(None), PAGE_LIMIT)
        .query("after", count(None), "`next` of the previous page.")
        .responds(200, "A page.", named("ToolPage"))
        .fails([400, 401]);
    api.operation(Method::GET, "/admin/tools", list_operation);
    let show_operation =
        for_operators("showTool", "Returns a tool as models see it, and the sources of its arguments.");
    let show_operation = of_tool(show_operation).responds(200, "The tool.", named("Tool")).fails([400, 401, 404]);
    api.operation(Method::GET, "/admin/tools/{toolset}/{tool}", show_operation);
    describe_representations(api);
    describe_tools(api);
}

fn describe_representations(api: &mut ApiParts) {
    let path = "/admin/tools/{toolset}/{tool}/representation";
    let write_operation =
        for_operators("writeRepresentation", "Stores what models see besides the document's text, for all replicas.");
    let write_operation = of_tool(write_operation)
        .body(named("Patterns"))
        .responds(200, "The stored representation.", named("Shown"))
        .fails([400, 401, 404, 413, 415, 503]);
    api.operation(Method::PUT, path, write_operation);
    let remove_operation =
        for_operators("takeBackRepresentation", "Removes the stored representation; that of files applies again.");
    let remove_operation = of_tool(remove_operation)
        .responds(200, "It is removed.", object([required("removed", boolean())]))
        .fails([400, 401, 404, 503]);
    api.operation(Method::DELETE, path, remove_operation);
    let preview_operation = for_operators("previewRepresentation", "Returns what models would see; changes nothing.");
    let preview_operation = of_tool(preview_operation)
        .body(named("Patterns"))
        .responds(200, "The description.", named("Shown"))
        .fails([400, 401, 404, 413, 415]);
    api.operation(Method::POST, "/admin/tools/{toolset}/{tool}/representation/preview", preview_operation);
    let pattern = closed_object([
        required("description", text_of(1, None).about("A general sentence.")),
        optional("cases", array(text()).about("Short phrases of requests.")),
        optional("weight", positive().about("Weight of a similarity to the pattern; 1 is usual.")),
        optional("source", text().about("`written`, `edited` or `learned NAME`.")),
        optional("gain", number().or_null()),
        optional("date", date().or_null()),
        optional("digest", text().or_null()),
    ]);
    api.schema("Pattern", pattern);
    let patterns = closed_object([required("patterns", array(named("Pattern")))]);
    api.schema(
        "Patterns",
        patterns.about("Patterns as in a representation file. An empty list removes those of files."),
    );
    let shown = text().about("The description that models see.");
    api.schema("Shown", object([required("shown", shown), optional("shared_at", time())]));
}

fn describe_tools(api: &mut ApiParts) {
    let texts = ["name", "title", "document"].map(|name| required(name, text()));
    let counts = ["loaded", "skipped", "renamed", "simplified"].map(|name| required(name, integer()));
    let servers = [required("servers", array(text()))];
    api.schema("Toolset", object(texts.into_iter().chain(servers).chain(counts)));
    api.schema(
        "Report",
        object([
            required("file", text()),
            required("operations_loaded", integer()),
            required("operations_skipped", array(object([]))),
            required("renamed", array(object([]))),
            required("simplified", array(object([]))),
            optional("error", text().or_null()),
            optional("advice", array(object([]))),
            required("hidden", array(object([]))),
        ]),
    );
    let listed = object([
        required("toolset", text()),
        required("tool", text()),
        required("operation", text()),
        required("patterns", integer()),
        required("deprecated", boolean()),
    ]);
    let next = text().about("`after` of the next page.");
    let page = [required("tools", array(listed)), required("total", integer()), optional("next", next)];
    api.schema("ToolPage", object(page));
    let texts: [ApiMember; 6] =
        ["toolset", "tool", "offered_as", "operation", "description", "shown"].map(|name| required(name, text()));
    let lists = [
        required("parameters", any()),
        required("patterns", array(named("Pattern"))),
        required("arguments", array(object([]))),
        optional("shared_at", time()),
    ];
    api.schema("Tool", object(texts.into_iter().chain(lists)));
}

fn of_tool(operation: ApiOperation) -> ApiOperation {
    operation.path("toolset", "Name of the toolset.").path("tool", "Name of the tool within the toolset.")
}
