//! `callwright doctor`: checks what the proxy needs, and reports each problem with its fix.

mod files;
mod finding;
mod machine;
mod upstreams;

use std::path::PathBuf;

use clap::Args;

use self::finding::{CheckStatus, DoctorFinding, fail, ok};
use super::errors::VerbResult;
use super::setup::{load_config, runtime};
use super::shared_arguments::OutputFormat;
use crate::cli::output::outln;
use crate::config::LoadedConfig;

/// Arguments of `doctor`.
#[derive(Debug, Args)]
pub(super) struct DoctorArguments {
    /// Configuration file. Default: CALLWRIGHT_CONFIG, then ./callwright.toml, then the built-in defaults.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Format of the findings; `json` prints one line per check.
    #[arg(long, value_enum, default_value_t)]
    format: OutputFormat,
}

/// Where an operator finds out why a call was changed.
const REASONS: &str = "`callwright traces show ID` and the console state why a call was changed (ID: response header \
    `x-callwright-trace`); they have values and texts after `callwright serve --record`";

pub(super) fn run(arguments: DoctorArguments) -> VerbResult {
    let findings = match load_config(arguments.config) {
        Ok(loaded) => runtime()?.block_on(examine(&loaded)),
        // Without a configuration no other check can run.
        Err(error) => vec![fail("configuration", error.to_string(), "correct the key or file named")],
    };
    for finding in &findings {
        match arguments.format {
            OutputFormat::Text => finding.print(),
            OutputFormat::Json => outln!("{}", serde_json::to_string(finding)?),
        }
    }
    match findings.iter().filter(|finding| finding.status == CheckStatus::Fail).count() {
        0 => Ok(()),
        failed => Err(format!("{failed} of {} checks failed; see their fixes above", findings.len()).into()),
    }
}

/// Runs every check, in the order in which the proxy needs the checked resources.
async fn examine(loaded: &LoadedConfig) -> Vec<DoctorFinding> {
    let origin = loaded.file.as_ref().map_or_else(|| "built-in defaults".to_owned(), |file| file.display().to_string());
    let mut findings = vec![ok("configuration", origin)];
    findings.extend(files::examine(loaded).await);
    let (upstreams, clock) = upstreams::examine(&loaded.settings).await;
    findings.extend(upstreams);
    findings.push(machine::clock(clock));
    findings.extend(machine::examine(loaded).await);
    findings.push(ok("reasons for changes", REASONS));
    findings
}
