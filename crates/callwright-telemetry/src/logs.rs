//! Set-up of structured logging to standard error.

use std::io::IsTerminal;

use tracing::Subscriber;
use tracing::subscriber::SetGlobalDefaultError;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::JsonFields;

use super::json_line::JsonLine;
use super::log_lines::{DelayedLines, LogLines};
use super::text_fields::TextFields;
use super::{LogFormat, Settings};

/// Logging cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The filter is invalid.
    #[error(
        "`[telemetry] log` is `{text}`: {source}; use a level such as `info`, or directives such as `info,callwright=debug`"
    )]
    Filter {
        /// Text of the filter.
        text: String,
        /// Reason why it is invalid.
        source: ParseError,
    },
    /// Logging is already set up.
    #[error("logging is already set up: {0}")]
    Twice(#[from] SetGlobalDefaultError),
}

/// Sets up the logging of the process; to be called once. As long as the result is held, lines of the target `frequent`
/// below `warn` are written together, up to 50 ms later.
///
/// # Errors
/// [`LogError`].
pub fn init_logs(settings: &Settings, frequent: &'static str) -> Result<DelayedLines, LogError> {
    let (lines, delayed) = LogLines::delayed(std::io::stderr(), frequent);
    let subscriber = subscriber(settings, lines, std::io::stderr().is_terminal())?;
    tracing::subscriber::set_global_default(subscriber)?;
    Ok(delayed)
}

fn subscriber<W>(settings: &Settings, writer: W, colours: bool) -> Result<Box<dyn Subscriber + Send + Sync>, LogError>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    // Only the settings apply, not RUST_LOG: `config` is the only module that reads the environment.
    let filter = EnvFilter::builder()
        .parse(&settings.log)
        .map_err(|source| LogError::Filter { text: settings.log.clone(), source })?;
    // Its reports of internal errors go to standard error by `eprintln`, which panics if nothing can be written there.
    let logs = tracing_subscriber::fmt().log_internal_errors(false).with_env_filter(filter).with_writer(writer);
    Ok(match settings.format {
        LogFormat::Json => Box::new(logs.fmt_fields(JsonFields::new()).event_format(JsonLine).finish()),
        LogFormat::Text if colours => Box::new(logs.finish()),
        LogFormat::Text => Box::new(logs.with_ansi(false).fmt_fields(TextFields).finish()),
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    pub(crate) struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Lines {
        pub(crate) fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }
    }

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn logged(settings: &Settings, log: impl FnOnce()) -> String {
        let lines = Lines::default();
        let writer = lines.clone();
        tracing::subscriber::with_default(subscriber(settings, move || writer.clone(), false).unwrap(), log);
        lines.text()
    }

    #[test]
    fn json_logs_are_one_object_per_line() {
        let settings = Settings { format: LogFormat::Json, ..Settings::default() };
        let text = logged(&settings, || tracing::warn!(upstream = "main", "slow"));
        let line: serde_json::Value = serde_json::from_str(text.trim()).unwrap();
        assert_eq!(
            (&line["level"], &line["upstream"], &line["message"]),
            (&"WARN".into(), &"main".into(), &"slow".into())
        );
    }

    #[test]
    fn a_line_has_its_turns_fields_and_no_other_forges_its_head() {
        let settings = Settings { log: "warn".to_owned(), format: LogFormat::Json, ..Settings::default() };
        let text = logged(&settings, || {
            tracing::error_span!("turn", trace = "t1").in_scope(|| {
                tracing::error_span!("inner").in_scope(|| {
                    tracing::warn!(target = "mine", level = 3, timestamp = 0, n = 1.5, ok = true, "quoted \"{}\"", "x");
                });
            });
            tracing::warn!("outside");
        });
        let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let keys: Vec<&String> = lines[0].as_object().unwrap().keys().collect();
        assert_eq!(keys, ["timestamp", "level", "target", "message", "trace", "n", "ok"]);
        assert_eq!((&lines[0]["message"], &lines[0]["trace"]), (&"quoted \"x\"".into(), &"t1".into()));
        assert_eq!((&lines[0]["level"], &lines[0]["n"], &lines[0]["ok"]), (&"WARN".into(), &1.5.into(), &true.into()));
        assert!(lines[0]["timestamp"].as_str().unwrap().parse::<jiff::Timestamp>().is_ok());
        assert!(lines[1].get("trace").is_none());
    }

    #[test]
    fn the_filter_is_the_settings_own() {
        let settings = Settings { log: "warn,callwright=debug".to_owned(), ..Settings::default() };
        let text = logged(&settings, || {
            tracing::debug!("ours");
            tracing::info!(target: "elsewhere", "theirs");
        });
        assert!(text.contains("ours") && !text.contains("theirs"), "{text}");
    }

    #[test]
    fn a_filter_that_is_none_names_the_key_and_what_would_be_right() {
        let settings = Settings { log: "loud=very".to_owned(), ..Settings::default() };
        let error = subscriber(&settings, std::io::sink, false).err().unwrap().to_string();
        assert!(error.contains("`[telemetry] log`") && error.contains("info"), "{error}");
    }
}
