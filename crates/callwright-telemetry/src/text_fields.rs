//! Fields of text logs without colours.
//!
//! tracing-subscriber's own formatter prepares the styles of each name and sign even where there are no colours, which is
//! a noticeable part of the line of a turn. It still formats the message, errors and values of other types.

use std::error::Error;
use std::fmt;

use tracing::field::{Field, Visit};
use tracing_subscriber::field::{RecordFields, VisitOutput};
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::{DefaultVisitor, Writer};

/// Field with the text of an event.
const MESSAGE: &str = "message";

/// Writes `name=value` for each field, separated by spaces, as tracing-subscriber's default does.
#[derive(Debug)]
pub(super) struct TextFields;

impl<'w> FormatFields<'w> for TextFields {
    fn format_fields<R: RecordFields>(&self, writer: Writer<'w>, fields: R) -> fmt::Result {
        let mut visitor = TextVisitor { writer, is_empty: true, result: Ok(()) };
        fields.record(&mut visitor);
        visitor.result
    }
}

struct TextVisitor<'w> {
    writer: Writer<'w>,
    is_empty: bool,
    result: fmt::Result,
}

impl TextVisitor<'_> {
    fn add(&mut self, field: &Field, value: fmt::Arguments<'_>) {
        self.result = self.result.and_then(|()| {
            if !self.is_empty {
                self.writer.write_char(' ')?;
            }
            self.writer.write_str(field.name())?;
            self.writer.write_char('=')?;
            self.writer.write_fmt(value)
        });
        self.is_empty = false;
    }

    /// Adds a field in the default way.
    fn delegate(&mut self, record: impl FnOnce(&mut DefaultVisitor<'_>)) {
        self.result = self.result.and_then(|()| {
            let mut visitor = DefaultVisitor::new(self.writer.by_ref(), self.is_empty);
            record(&mut visitor);
            visitor.finish()
        });
        self.is_empty = false;
    }
}

impl Visit for TextVisitor<'_> {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(field, format_args!("{value:?}"));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, format_args!("{value}"));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, format_args!("{value}"));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, format_args!("{value}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == MESSAGE {
            self.delegate(|visitor| visitor.record_str(field, value));
        } else {
            self.add(field, format_args!("{value:?}"));
        }
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        self.delegate(|visitor| visitor.record_error(field, value));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.delegate(|visitor| visitor.record_debug(field, value));
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use tracing_subscriber::fmt::format::DefaultFields;

    use super::*;
    use crate::logs::tests::Lines;

    fn logged<F>(fields: F) -> String
    where
        F: for<'w> FormatFields<'w> + Send + Sync + 'static,
    {
        let lines = Lines::default();
        let writer = lines.clone();
        let subscriber = tracing_subscriber::fmt().with_writer(move || writer.clone()).with_ansi(false).without_time();
        tracing::subscriber::with_default(subscriber.fmt_fields(fields).finish(), || {
            let error = io::Error::other("no \u{1b}[1m disk");
            let name = "quoted \"x\"\n\u{1b}[2J";
            tracing::error_span!("turn", trace = "t1", n = 2).in_scope(|| {
                tracing::info!(name, count = 3_u64, less = -1, ratio = 1.0, part = 0.25, ok = true, "done {name}");
                tracing::info!(error = &error as &dyn Error, %error, shown = ?Some(1), "\u{1b}]0;title");
                tracing::info!(only = "field");
                tracing::info!("only message");
                tracing::info!(r#type = "raw", r#move = 1);
            });
        });
        lines.text()
    }

    #[test]
    fn lines_are_those_of_the_default() {
        let (ours, default) = (logged(TextFields), logged(DefaultFields::new()));
        assert_eq!(ours.lines().count(), 6, "{ours}");
        assert_eq!(ours, default);
    }
}
