//! Builds requests from arbitrary documents and arguments: each request goes to the server's origin, below its base
//! path, to the called operation, and no value escapes its place.
//!
//! Input: a document, a zero byte, and the arguments as text. Other bytes are interpreted as choices from which an
//! operation and arguments are generated.
#![no_main]

use arbitrary::{Result, Unstructured};
use callwright_openapi::{Fetch, FetchBounds, FetchedFile, Operation, Origin, Toolset, ToolsetSettings, load_from};
use callwright_types::rules::{Action, ScanRules};
use callwright_types::{Call, FaultCode};
use callwright_executor::{Preview, preview};
use callwright_judge::scanner::{ToolSet, Validators, scan};
use callwright_fuzz::arbitrary_json;
use http::Method;
use libfuzzer_sys::fuzz_target;
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};
use url::Url;

fuzz_target!(|input: &[u8]| {
    let Some((document, arguments)) = as_text(input).or_else(|| as_choices(input).ok()) else { return };
    let Some(toolset) = load(document) else { return };
    for operation in &toolset.operations {
        if let Some(request) = request(operation, &arguments) {
            check(operation, &request);
        }
    }
});

fn as_text(input: &[u8]) -> Option<(Vec<u8>, String)> {
    let (document, arguments) = input.split_at(input.iter().position(|byte| *byte == 0)?);
    let arguments = std::str::from_utf8(arguments.get(1..)?).ok()?;
    Some((document.to_vec(), arguments.to_owned()))
}

fn load(document: Vec<u8>) -> Option<Toolset> {
    let url = Url::parse("https://api.example.com/docs/api.json").expect("a URL");
    load_from("fuzz", Origin::Url(&url), &ToolsetSettings::default(), &Only(document)).ok()
}

/// The document without further files.
struct Only(Vec<u8>);

impl Fetch for Only {
    fn fetch(&self, url: &Url, _bounds: FetchBounds) -> std::result::Result<FetchedFile, String> {
        Ok(FetchedFile { url: url.clone(), bytes: self.0.clone(), etag: None, last_modified: None })
    }
}

/// Returns the request of a call that was not judged.
fn request(operation: &Operation, arguments: &str) -> Option<Preview> {
    let unjudged = FaultCode::ALL.into_iter().fold(ScanRules::default().faults, |faults, code| faults.with(code, Action::Off));
    let rules = ScanRules { faults: unjudged, ..ScanRules::default() };
    let tool_set = ToolSet::compile(vec![operation.tool.clone()], &Validators::default());
    let call = Call { id: "c".to_owned(), name: operation.tool.name.clone(), arguments: arguments.to_owned() };
    let checked = scan(&call, 0, &tool_set, &rules).ok()?;
    preview(&checked, operation).ok()
}

fn check(operation: &Operation, request: &Preview) {
    let (url, server) = (&request.url, operation.servers.first().expect("a request has a server"));
    assert_eq!(request.method, operation.method);
    assert_eq!(url.origin(), server.origin(), "another server: {url}");
    assert!(url.username().is_empty() && url.password().is_none() && url.fragment().is_none(), "{url}");
    assert_eq!(&Url::parse(url.as_str()).expect("a URL stays one"), url);
    let base = server.path().trim_end_matches('/');
    let below = url.path().strip_prefix(base).unwrap_or_else(|| panic!("{url} is not below {server}"));
    assert!(below.starts_with('/'), "{url} is beside {server}");
    assert_eq!(below.matches('/').count(), slashes(&operation.path), "{url} is no {}", operation.path);
    for segment in below.split('/') {
        let plain: Vec<u8> = percent_decode_str(segment).collect();
        assert!(plain != b"." && plain != b"..", "{url} leads elsewhere");
    }
    assert!(!url.as_str().contains(|letter: char| letter.is_ascii_control() || letter == ' '), "{url:?}");
    check_fields(request);
}

/// Number of slashes of a path template, including the leading one.
fn slashes(template: &str) -> usize {
    let template = template.split(['#', '?']).next().unwrap_or_default();
    let (mut count, mut rest) = (0, template);
    while let Some((literal, behind)) = rest.split_once('{') {
        count += literal.matches('/').count();
        rest = behind.split_once('}').map_or("", |(_, behind)| behind);
    }
    count + rest.matches('/').count() + usize::from(!template.starts_with('/'))
}

fn check_fields(request: &Preview) {
    for (name, value) in &request.headers {
        let framing = ["host", "content-length", "transfer-encoding", "connection", "expect", "upgrade"];
        assert!(!framing.contains(&name.as_str()), "{name} is set");
        assert!(value.as_bytes().iter().all(|byte| matches!(byte, b'\t' | b' '..=b'~')), "{name}: {value:?}");
    }
    let kind = request.headers.get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if let (true, Some(body)) = (kind == "application/json", &request.body) {
        serde_json::from_slice::<Value>(body).expect("a JSON body is JSON");
    }
    assert!(request.method != Method::TRACE || request.body.is_none());
}

const SERVERS: [&str; 6] = [
    "https://shop.example.com",
    "https://shop.example.com/base/v1/",
    "http://user:pass@shop.example.com:8080/a%2Fb?key=1",
    "/relative",
    "//shop.example.com/x",
    "https://shop.example.com/a/../b",
];

const PIECES: [&str; 12] = ["/", "/", "items", "{a}", "{b}", ".", "..", "%2e", ";", "?x=", "#", "\\"];

const NAMES: [&str; 14] = [
    "a",
    "b",
    "c",
    "filter",
    "X-Tag",
    "Host",
    "Content-Length",
    "Cookie",
    "Authorization",
    "Idempotency-Key",
    "a[b]",
    "a&b=c",
    "a\r\nb",
    "_method",
];

const STYLES: [&str; 8] =
    ["simple", "label", "matrix", "form", "spaceDelimited", "pipeDelimited", "deepObject", "nonsense"];

const MEDIA_TYPES: [&str; 7] = [
    "application/json",
    "application/x-www-form-urlencoded",
    "multipart/form-data",
    "text/plain",
    "application/xml",
    "application/octet-stream",
    "application/json\r\nX: 1",
];

const VALUES: [&str; 16] = [
    "..",
    ".",
    "../x",
    "%2e%2e/",
    "%252e",
    "/",
    "\\",
    "a\r\nX: 1",
    "\0",
    "?a=b#c",
    "a;b=c",
    "{a}",
    "http://evil.example/",
    "@evil.example",
    "．．／",
    "",
];

fn as_choices(input: &[u8]) -> Result<(Vec<u8>, String)> {
    let mut bytes = Unstructured::new(input);
    let mut path = String::new();
    for _ in 0..bytes.int_in_range(1..=8_u8)? {
        path.push_str(bytes.choose(&PIECES)?);
    }
    let (mut parameters, mut arguments) = (Vec::new(), Map::new());
    for _ in 0..bytes.int_in_range(0..=5_u8)? {
        let (parameter, argument) = parameter(&mut bytes)?;
        arguments.insert(parameter["name"].as_str().unwrap_or_default().to_owned(), argument);
        parameters.push(parameter);
    }
    let mut operation = json!({"operationId": "use", "parameters": parameters, "responses": {}});
    if bytes.arbitrary()? {
        let media_type = *bytes.choose(&MEDIA_TYPES)?;
        operation["requestBody"] = json!({"content": {media_type: {"schema": {"type": "object"}}}});
        arguments.insert("body".to_owned(), value(&mut bytes)?);
    }
    let document = json!({
        "openapi": "3.0.3", "info": {"title": "Fuzz", "version": "1"},
        "servers": [{"url": bytes.choose(&SERVERS)?}],
        "paths": {format!("/{path}"): {"post": operation}}
    });
    Ok((document.to_string().into_bytes(), Value::Object(arguments).to_string()))
}

fn parameter(bytes: &mut Unstructured<'_>) -> Result<(Value, Value)> {
    let name = match bytes.ratio(1_u8, 8_u8)? {
        true => bytes.arbitrary::<&str>()?,
        false => *bytes.choose(&NAMES)?,
    };
    let mut parameter = json!({
        "name": name,
        "in": bytes.choose(&["path", "path", "query", "header", "cookie"])?,
        "schema": {},
        "explode": bytes.arbitrary::<bool>()?,
        "allowReserved": bytes.arbitrary::<bool>()?,
    });
    if bytes.arbitrary()? {
        parameter["style"] = json!(bytes.choose(&STYLES)?);
    }
    Ok((parameter, value(bytes)?))
}

fn value(bytes: &mut Unstructured<'_>) -> Result<Value> {
    Ok(match bytes.int_in_range(0..=6_u8)? {
        0 => arbitrary_json(bytes)?,
        1 => json!(bytes.arbitrary::<&str>()?),
        2 => json!([bytes.choose(&VALUES)?, bytes.choose(&VALUES)?]),
        3 => json!({*bytes.choose(&VALUES)?: bytes.choose(&VALUES)?, *bytes.choose(&NAMES)?: bytes.choose(&VALUES)?}),
        4 => json!(format!("{}{}", bytes.choose(&VALUES)?, bytes.choose(&VALUES)?)),
        _ => json!(bytes.choose(&VALUES)?),
    })
}
