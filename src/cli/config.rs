//! `callwright config`: inspects the configuration without serving, and prints the schema of its files.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Subcommand;

use super::errors::VerbResult;
use super::output::outln;
use super::setup::{load_config, load_policies};
use crate::app::{self, ToolsetFinding};
use crate::config;
use callwright_openapi::{Report, Toolset};
use callwright_policy::Policy;

// A doc comment would replace that of the subcommand in `CliVerb`.
#[derive(Debug, Subcommand)]
pub(super) enum ConfigAction {
    /// Validate the configuration and its policies and OpenAPI documents as `serve` would.
    Check {
        /// Configuration file. Default: CALLWRIGHT_CONFIG, then ./callwright.toml, then the built-in defaults.
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
    },
    /// Print the JSON Schema of the configuration file, with which editors complete, explain and validate it.
    Schema {
        /// Print the JSON Schema of policy files instead.
        #[arg(long)]
        policy: bool,
    },
}

pub(super) fn run(action: ConfigAction) -> VerbResult {
    match action {
        ConfigAction::Check { config } => check(config),
        ConfigAction::Schema { policy } => print_schema(policy),
    }
}

fn check(file: Option<PathBuf>) -> VerbResult {
    let loaded = load_config(file)?;
    let mut problems = Vec::new();
    let book = load_policies(&loaded).map_err(|error| problems.push(error.to_string())).ok();
    for (name, upstream) in &loaded.settings.upstreams {
        problems.extend(upstream.validate(name).err().map(|error| error.to_string()));
        if let Some(meant) = upstream.base_url_with_version() {
            outln!("upstream `{name}`: base_url `{}` has no path; did you mean `{meant}`?", upstream.base_url);
        }
    }
    problems.extend(loaded.settings.executor.check().err().map(|error| error.to_string()));
    match app::load_catalog(&loaded.settings, &loaded.base_dir) {
        Ok((catalog, errors)) => {
            let settings = &loaded.settings;
            catalog.toolsets().for_each(|toolset| print_toolset(toolset));
            problems.extend(catalog.toolsets().filter_map(|toolset| unusable(toolset)));
            match app::audit_toolsets(&catalog, &settings.executor, &BTreeSet::new()) {
                Ok(findings) => findings.iter().for_each(print_finding),
                Err(error) => problems.push(error.to_string()),
            }
            if let Some(book) = &book {
                let has_directory = !settings.policies.directory.is_empty();
                app::audit_policies(&catalog, &settings.aliases, book, has_directory).iter().for_each(print_finding);
            }
            problems.extend(errors.iter().map(ToString::to_string));
        }
        Err(error) => problems.push(error.to_string()),
    }
    if !problems.is_empty() {
        return Err(problems.join("\n").into());
    }
    let origin = loaded.file.map_or_else(|| "built-in defaults".to_owned(), |file| file.display().to_string());
    outln!("{origin}: OK");
    Ok(())
}

fn print_schema(is_of_policy: bool) -> VerbResult {
    let schema = match is_of_policy {
        true => {
            config::schema_of::<Policy>("Policy of Callwright (policies/*.yaml)", "callwright config schema --policy")
        }
        false => config::config_schema(),
    };
    outln!("{}", serde_json::to_string_pretty(&schema)?);
    Ok(())
}

/// Prints calls that would be refused, with the lines that let them through.
fn print_finding(finding: &ToolsetFinding) {
    outln!("toolset `{}`: {} ({})", finding.toolset, finding.message, finding.reason);
    outln!("  to change this, add {}", finding.fix().replace('\n', "\n    "));
}

/// Returns the problem of a toolset without tools.
fn unusable(toolset: &Toolset) -> Option<String> {
    let Report { file, operations_skipped, .. } = &toolset.report;
    let why = match operations_skipped.len() {
        0 => "has no operations: check that it is the whole document and that `paths` is not empty".to_owned(),
        skipped => format!("has no usable operation, {skipped} were skipped: `callwright check {file}` reports why"),
    };
    toolset.operations.is_empty().then(|| format!("toolset `{}`: {file} {why}", toolset.name))
}

/// Prints facts about a toolset that are useful to an operator but are not errors.
fn print_toolset(toolset: &Toolset) {
    let Report { operations_loaded, operations_skipped, .. } = &toolset.report;
    let skipped = operations_skipped.len();
    outln!("toolset `{}`: {operations_loaded} operations, {skipped} skipped", toolset.name);
    if skipped > 0 {
        outln!("  `callwright check {}` reports why", toolset.report.file);
    }
}
