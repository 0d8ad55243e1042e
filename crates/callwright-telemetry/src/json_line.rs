//! JSON log format: one object per line, with all fields at the top level. The fields are documented in docs/logs.md.

use std::error::Error;
use std::fmt;

use jiff::Timestamp;
use serde_json::{Map, Number, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::{JsonFields, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormattedFields};
use tracing_subscriber::registry::LookupSpan;

/// Fields of every line, in order.
const TIMESTAMP: &str = "timestamp";
const LEVEL: &str = "level";
const TARGET: &str = "target";
const MESSAGE: &str = "message";

/// Writes a line: time, level, target, message, then the fields of its turn and its own.
#[derive(Debug)]
pub(super) struct JsonLine;

impl<S> FormatEvent<S, JsonFields> for JsonLine
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, JsonFields>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let fields = [
            (TIMESTAMP, format!("{:.6}", Timestamp::now())),
            (LEVEL, event.metadata().level().to_string()),
            (TARGET, event.metadata().target().to_owned()),
            (MESSAGE, String::new()),
        ];
        let mut line: Map<_, _> =
            fields.map(|(key, value)| (key.to_owned(), Value::String(value))).into_iter().collect();
        for span in context.event_scope().into_iter().flat_map(|scope| scope.from_root()) {
            let extensions = span.extensions();
            // Inserts fields that were formatted as a JSON object.
            let fields = extensions.get::<FormattedFields<JsonFields>>().map(|fields| fields.fields.as_str());
            let fields = fields.and_then(|fields| serde_json::from_str::<Map<String, Value>>(fields).ok());
            line.extend(fields.unwrap_or_default());
        }
        event.record(&mut LogFieldVisitor(&mut line));
        writeln!(writer, "{}", Value::Object(line))
    }
}

/// Adds an event's fields to a line.
struct LogFieldVisitor<'l>(&'l mut Map<String, Value>);

impl LogFieldVisitor<'_> {
    fn add(&mut self, field: &Field, value: Value) {
        // A library's field must not replace one of these.
        if ![TIMESTAMP, LEVEL, TARGET].contains(&field.name()) {
            self.0.insert(field.name().to_owned(), value);
        }
    }
}

impl Visit for LogFieldVisitor<'_> {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(field, Number::from_f64(value).map_or(Value::Null, Value::Number));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, value.into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, value.into());
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        self.add(field, value.to_string().into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field, format!("{value:?}").into());
    }
}
