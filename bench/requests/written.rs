//! Requests of one document.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use callwright_executor::{Preview, preview};
use callwright_judge::scanner::{CheckedCall, ToolSet, Validators};
use callwright_openapi::{Binding, Operation, Toolset, ToolsetSettings, load_document};
use callwright_types::Outcome;
use serde::Serialize;
use serde_json::json;

use super::arguments::{KINDS, Kind, checked};

/// Replacement for the operator's `base_url` if a document names no server.
const BASE_URL: &str = "https://api.callwright.test/base";

/// Size limit at which no schema is cut. A tool with a cut schema accepts any value, so its arguments could not be
/// checked.
const SCHEMA_BYTES: usize = 4 * 1024 * 1024;

/// Result for one document.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Written {
    file: String,
    /// Reason why no requests were generated.
    error: Option<String>,
    /// `base_url` that the operator would set, if the document names no server.
    base_url: Option<&'static str>,
    operations: usize,
    requests: usize,
    /// Kinds of arguments without a value that the tool's schema accepts: operations, and the last reason.
    not_made: Vec<(String, String)>,
    /// Number of requests that the executor refuses, by reason.
    refused: BTreeMap<String, usize>,
}

/// Writes the requests of the document `file` in the folder `documents` to `out`, with random choices from `seed`.
pub(crate) fn write(file: &str, documents: &Path, seed: u64, out: &Path) -> io::Result<Written> {
    let mut written = Written { file: file.to_owned(), ..Written::default() };
    let mut lines = BufWriter::new(File::create(out)?);
    let mut settings = ToolsetSettings::default();
    settings.limits.schema_bytes = SCHEMA_BYTES;
    let load = |settings: &ToolsetSettings| load_document("bench", &documents.join(file), settings);
    let toolset = match load(&settings) {
        Ok(toolset) if toolset.servers.is_empty() => {
            BASE_URL.clone_into(&mut settings.base_url);
            written.base_url = Some(BASE_URL);
            load(&settings)
        }
        loaded => loaded,
    };
    match toolset {
        Ok(toolset) => write_toolset(&toolset, seed, &mut lines, &mut written)?,
        Err(error) => written.error = Some(error.to_string()),
    }
    lines.flush()?;
    Ok(written)
}

fn write_toolset(toolset: &Toolset, seed: u64, lines: &mut impl Write, written: &mut Written) -> io::Result<()> {
    let mut random = fastrand::Rng::with_seed(seed);
    written.operations = toolset.operations.len();
    let validators = Validators::default();
    for operation in &toolset.operations {
        let tool_set = ToolSet::compile(vec![Arc::clone(&operation.tool)], &validators);
        for kind in KINDS {
            match checked(operation, &tool_set, kind, &mut random) {
                Ok(call) => write_request(operation, &call, kind, lines, written)?,
                Err(reason) => written.not_made.push((format!("{} ({kind:?})", operation.label()), reason)),
            }
        }
    }
    Ok(())
}

fn write_request(
    operation: &Operation,
    call: &CheckedCall,
    kind: Kind,
    lines: &mut impl Write,
    written: &mut Written,
) -> io::Result<()> {
    let Preview { method, url, headers, body } = match preview(call, operation) {
        Ok(preview) => preview,
        Err(outcome) => {
            let reason = if let Outcome::Refused(refusal) = outcome { refusal.message } else { format!("{outcome:?}") };
            *written.refused.entry(reason).or_default() += 1;
            return Ok(());
        }
    };
    let headers: Vec<(&str, String)> = headers
        .iter()
        .map(|(name, value)| (name.as_str(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
        .collect();
    let sent_as =
        |binding: &Binding| (format!("{} {}", binding.location.as_str(), binding.name), binding.argument.clone());
    let names: BTreeMap<String, String> = operation.bindings.iter().map(sent_as).collect();
    let line = json!({
        "operation": operation.label(), "path": operation.path, "kind": format!("{kind:?}").to_lowercase(),
        "method": method.as_str(), "url": url.as_str(), "headers": headers,
        "body": body.map(|bytes| STANDARD.encode(bytes)), "arguments": call.arguments(), "names": names,
    });
    written.requests += 1;
    writeln!(lines, "{line}")
}
