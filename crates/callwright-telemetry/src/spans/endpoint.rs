//! The OTLP collector: its address, headers and resource, and requests to it.

use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use opentelemetry_proto::tonic::collector::trace::v1::{ExportTraceServiceRequest, ExportTraceServiceResponse};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message;
use reqwest::redirect::Policy;
use url::Url;

use super::attributes::{bounded, pair};
use crate::Settings;
use callwright_common::errors;
use callwright_common::limits::SHORT_BODY_BYTES;

/// Name and version in the user agent and the instrumentation scope.
const NAME: &str = "callwright";
const VERSION: &str = env!("CARGO_PKG_VERSION");
const USER_AGENT: &str = concat!("callwright/", env!("CARGO_PKG_VERSION"));
/// Path of the OTLP/HTTP traces endpoint (OTLP specification, "OTLP/HTTP Request").
const PATH: &str = "v1/traces";
const PROTOBUF: HeaderValue = HeaderValue::from_static("application/x-protobuf");
/// Resource attribute with the name of the program.
const SERVICE_NAME: &str = "service.name";
const SERVICE_VERSION: &str = "service.version";

/// A setting with which spans cannot be sent. Contains no secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`telemetry.{key}`: {problem}")]
pub struct OtlpError {
    key: &'static str,
    problem: String,
}

fn wrong(key: &'static str, problem: impl Into<String>) -> OtlpError {
    OtlpError { key, problem: problem.into() }
}

/// Reason why spans were not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ExportRefusal {
    pub(super) reason: String,
    /// Whether the spans may be sent again (OTLP specification, "Failures").
    pub(super) again: bool,
    /// Delay before that, requested by the collector.
    pub(super) after: Option<Duration>,
}

/// Destination of spans.
#[derive(Debug, Clone)]
pub(super) struct OtlpCollector {
    http: reqwest::Client,
    url: Url,
    headers: HeaderMap,
    resource: Resource,
}

impl OtlpCollector {
    /// Builds the collector from the settings; `None` if none is configured.
    pub(super) fn of(settings: &Settings, base_dir: &Path) -> Result<Option<Self>, OtlpError> {
        if settings.otlp_endpoint.is_empty() {
            return Ok(None);
        }
        check_numbers(settings)?;
        // reqwest panics if the process has no crypto provider; a second installation has no effect.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = reqwest::Client::builder()
            .user_agent(USER_AGENT)
            // A redirect would send the headers to another address.
            .redirect(Policy::none())
            .retry(reqwest::retry::never())
            // Only the settings determine the destination.
            .no_proxy()
            .timeout(Duration::from_secs(settings.otlp_timeout_seconds));
        let authorities = certificates(&settings.otlp_ca_file, base_dir)?;
        let builder = authorities.into_iter().fold(builder, reqwest::ClientBuilder::add_root_certificate);
        let http = builder.build().map_err(|error| wrong("otlp_endpoint", root_cause(&error)))?;
        Ok(Some(Self {
            http,
            url: url(&settings.otlp_endpoint)?,
            headers: headers(settings)?,
            resource: resource(settings),
        }))
    }

    /// Returns the host for messages. The full URL may contain a password.
    pub(super) fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    /// Returns the body of a request with these spans.
    pub(super) fn body(&self, spans: Vec<Span>) -> Bytes {
        let scope = InstrumentationScope { name: NAME.to_owned(), version: VERSION.to_owned(), ..Default::default() };
        let scope_spans = vec![ScopeSpans { scope: Some(scope), spans, schema_url: String::new() }];
        let resource = Some(self.resource.clone());
        let spans = vec![ResourceSpans { resource, scope_spans, schema_url: String::new() }];
        ExportTraceServiceRequest { resource_spans: spans }.encode_to_vec().into()
    }

    /// Sends a body. Returns the number of spans that the collector nevertheless rejected, and the reason.
    pub(super) async fn send(&self, body: Bytes) -> Result<Option<(u64, String)>, ExportRefusal> {
        let request = self.http.post(self.url.clone()).headers(self.headers.clone()).body(body);
        let mut answer = request.send().await.map_err(|error| unreachable(&error))?;
        let (status, after) = (answer.status(), retry_after(answer.headers()));
        if !status.is_success() {
            return Err(ExportRefusal { reason: format!("status {status}"), again: is_passing(status), after });
        }
        let mut body = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(|error| unreachable(&error))? {
            body.extend_from_slice(&chunk);
            if body.len() > SHORT_BODY_BYTES {
                return Ok(None);
            }
        }
        // Some collectors respond with JSON or an empty body; only the status is significant.
        let partial = ExportTraceServiceResponse::decode(body.as_slice()).ok().and_then(|body| body.partial_success);
        Ok(partial.filter(|partial| partial.rejected_spans > 0).map(|partial| {
            (u64::try_from(partial.rejected_spans).unwrap_or_default(), bounded(&partial.error_message))
        }))
    }
}

/// Whether the same request may be repeated after this status.
fn is_passing(status: StatusCode) -> bool {
    [
        StatusCode::TOO_MANY_REQUESTS,
        StatusCode::BAD_GATEWAY,
        StatusCode::SERVICE_UNAVAILABLE,
        StatusCode::GATEWAY_TIMEOUT,
    ]
    .contains(&status)
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}

fn unreachable(error: &reqwest::Error) -> ExportRefusal {
    ExportRefusal { reason: root_cause(error), again: true, after: None }
}

fn check_numbers(settings: &Settings) -> Result<(), OtlpError> {
    let counts = [
        ("otlp_timeout_seconds", settings.otlp_timeout_seconds),
        ("otlp_queue_spans", settings.otlp_queue_spans as u64),
        ("otlp_batch_spans", settings.otlp_batch_spans as u64),
    ];
    if let Some((key, _)) = counts.iter().find(|(_, count)| *count == 0) {
        return Err(wrong(key, "must be at least 1"));
    }
    if settings.otlp_queue_spans > tokio::sync::Semaphore::MAX_PERMITS {
        return Err(wrong("otlp_queue_spans", "is too large; 8192 is enough for most deployments"));
    }
    if !(0.0..=1.0).contains(&settings.otlp_sample_ratio) {
        return Err(wrong("otlp_sample_ratio", format!("is {}; it must be 0 to 1", settings.otlp_sample_ratio)));
    }
    Ok(())
}

fn url(text: &str) -> Result<Url, OtlpError> {
    // The text is not quoted, because it may contain a password.
    let mut url = Url::parse(text).map_err(|error| {
        wrong("otlp_endpoint", format!("is not a URL: {error}; use one such as `http://collector:4318`"))
    })?;
    if !["http", "https"].contains(&url.scheme()) || !url.has_host() {
        return Err(wrong("otlp_endpoint", "must begin with http:// or https:// and name a host; gRPC is unsupported"));
    }
    if !url.path().ends_with(PATH) {
        let path = format!("{}/{PATH}", url.path().trim_end_matches('/'));
        url.set_path(&path);
    }
    Ok(url)
}

fn headers(settings: &Settings) -> Result<HeaderMap, OtlpError> {
    let mut headers = HeaderMap::from_iter([(CONTENT_TYPE, PROTOBUF)]);
    for (name, value) in &settings.otlp_headers {
        let field: HeaderName = name.parse().map_err(|_| {
            wrong("otlp_headers", format!("`{}` is not a header name (RFC 9110, section 5.1)", name.escape_debug()))
        })?;
        let mut value = HeaderValue::from_str(value.expose()).map_err(|_| {
            let problem =
                format!("the value of `{field}` has characters not allowed in a header; check for a line break");
            wrong("otlp_headers", problem)
        })?;
        value.set_sensitive(true);
        headers.insert(field, value);
    }
    Ok(headers)
}

fn resource(settings: &Settings) -> Resource {
    let own = [(SERVICE_NAME, NAME), (SERVICE_VERSION, VERSION)].into_iter();
    let own = own.filter(|(key, _)| !settings.otlp_resource.contains_key(*key));
    let named = settings.otlp_resource.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    let attributes: Vec<KeyValue> =
        own.chain(named).map(|(key, value)| pair(key, Value::StringValue(value.to_owned()))).collect();
    Resource { attributes, ..Resource::default() }
}

fn certificates(file: &str, base_dir: &Path) -> Result<Vec<reqwest::Certificate>, OtlpError> {
    if file.is_empty() {
        return Ok(Vec::new());
    }
    let pem = std::fs::read(base_dir.join(file)).map_err(|error| no_certificates(file, &error.to_string()))?;
    let found =
        reqwest::Certificate::from_pem_bundle(&pem).map_err(|error| no_certificates(file, &root_cause(&error)))?;
    if found.is_empty() { Err(no_certificates(file, "the file contains none")) } else { Ok(found) }
}

fn no_certificates(file: &str, why: &str) -> OtlpError {
    wrong("otlp_ca_file", format!("no PEM certificates in `{file}`: {why}"))
}

/// Returns the innermost cause; the outer ones repeat the URL.
fn root_cause(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "no answer in time".to_owned();
    }
    errors::request_failure(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use callwright_types::Secret;

    fn of(change: impl FnOnce(&mut Settings)) -> Result<Option<OtlpCollector>, String> {
        let mut settings = Settings { otlp_endpoint: "http://127.0.0.1:4318".to_owned(), ..Settings::default() };
        change(&mut settings);
        OtlpCollector::of(&settings, Path::new(".")).map_err(|error| error.to_string())
    }

    #[test]
    fn the_path_is_added_where_it_is_not_there() {
        let url = |text: &str| {
            let collector = of(|settings| settings.otlp_endpoint = text.to_owned()).unwrap().unwrap();
            collector.url.to_string()
        };
        assert_eq!(url("http://c:4318"), "http://c:4318/v1/traces");
        assert_eq!(url("http://c:4318/"), "http://c:4318/v1/traces");
        assert_eq!(url("https://c/otlp"), "https://c/otlp/v1/traces");
        assert_eq!(url("https://c/otlp/v1/traces"), "https://c/otlp/v1/traces");
        assert!(of(|settings| settings.otlp_endpoint.clear()).unwrap().is_none());
    }

    #[test]
    fn useless_settings_are_named_and_secrets_are_not_shown() {
        type Change = fn(&mut Settings);
        let cases: [(Change, &str); 8] = [
            (|settings| settings.otlp_endpoint = "canary".to_owned(), "`telemetry.otlp_endpoint`: is not a URL"),
            (|settings| settings.otlp_endpoint = "grpc://canary:4317".to_owned(), "gRPC is unsupported"),
            (|settings| settings.otlp_sample_ratio = f64::NAN, "`telemetry.otlp_sample_ratio`: is NaN"),
            (|settings| settings.otlp_batch_spans = 0, "`telemetry.otlp_batch_spans`: must be at least 1"),
            (|settings| settings.otlp_queue_spans = usize::MAX, "`telemetry.otlp_queue_spans`"),
            (|settings| settings.otlp_ca_file = "absent.pem".to_owned(), "`telemetry.otlp_ca_file`"),
            (
                |settings| settings.otlp_headers = [("a".to_owned(), Secret::new("canary\n"))].into(),
                "the value of `a` has characters",
            ),
            (
                |settings| settings.otlp_headers = [("a b".to_owned(), Secret::new("canary"))].into(),
                "`a b` is not a header name",
            ),
        ];
        for (change, said) in cases {
            let error = of(change).unwrap_err();
            assert!(error.contains(said) && !error.contains("canary"), "{error}");
        }
        let secret = |settings: &mut Settings| settings.otlp_headers = [("a".to_owned(), Secret::new("canary"))].into();
        assert!(!format!("{:?}", of(secret)).contains("canary"));
    }

    #[test]
    fn the_program_is_named_unless_the_operator_names_it() {
        let names = |change: fn(&mut Settings)| {
            let attributes = of(change).unwrap().unwrap().resource.attributes;
            format!("{attributes:?}")
        };
        assert!(names(|_| {}).contains("\"callwright\""));
        let own =
            |settings: &mut Settings| settings.otlp_resource = [(SERVICE_NAME.to_owned(), "gate".to_owned())].into();
        assert!(names(own).contains("\"gate\"") && !names(own).contains("\"callwright\""));
    }
}
