//! Arguments of `check`, and the end of its `--help` text.

use std::path::PathBuf;

use clap::Args;

use super::tally::DeniedFinding;
use crate::cli::shared_arguments::OutputFormat;
use callwright_openapi::Rule;
use callwright_types::SchemaDialect;

/// Arguments of `check`.
#[derive(Debug, Args)]
#[command(after_long_help = help())]
pub(in super::super) struct CheckArguments {
    /// OpenAPI documents, their http(s) URLs, or folders. Every document below a folder is checked; its other files are
    /// skipped, and folders whose names begin with a dot are skipped and reported. References may lead anywhere below
    /// that folder. `-` reads a document from standard input. URLs must have public addresses.
    #[arg(value_name = "PATH", required_unless_present = "files_from")]
    pub(super) paths: Vec<PathBuf>,
    /// Format of the reports; `json` prints one line per document.
    #[arg(long, value_enum, default_value_t)]
    pub(super) format: OutputFormat,
    /// File that lists further documents and folders, one per line; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    pub(super) files_from: Option<PathBuf>,
    /// Also report information that the tools lose in this schema dialect: openai-strict, openai or plain.
    #[arg(long, value_name = "DIALECT", value_parser = dialect)]
    pub(super) dialect: Option<SchemaDialect>,
    /// Advice to give: `all`, `off`, or names of rules separated by commas.
    #[arg(long, value_name = "RULES", default_value = "all", value_parser = advisers)]
    pub(super) advice: Advisers,
    /// Fail if one of these is found; separate several with commas.
    #[arg(long, value_enum, value_name = "WHAT", value_delimiter = ',')]
    pub(super) deny: Vec<DeniedFinding>,
}

/// Selected advice rules.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Advisers(pub(super) Vec<Rule>);

fn advisers(text: &str) -> Result<Advisers, String> {
    match text.trim() {
        "all" => return Ok(Advisers(Rule::ALL.to_vec())),
        "off" => return Ok(Advisers(Vec::new())),
        _ => {}
    }
    let mut rules = Vec::new();
    for code in text.split(',').map(str::trim) {
        rules.push(Rule::named(code).ok_or_else(|| {
            let known: Vec<&str> = Rule::ALL.iter().map(|rule| rule.code).collect();
            format!("unknown rule `{code}`; use all, off, {}", known.join(", "))
        })?);
    }
    Ok(Advisers(rules))
}

fn dialect(text: &str) -> Result<SchemaDialect, String> {
    let known = SchemaDialect::ALL.into_iter().find(|dialect| dialect.label() == text);
    known.ok_or_else(|| format!("unknown dialect; use {}", SchemaDialect::ALL.map(SchemaDialect::label).join(", ")))
}

/// Returns the help text after the options.
fn help() -> String {
    let rules: Vec<String> = Rule::ALL.iter().map(|rule| format!("  {:<22} {}", rule.code, rule.about)).collect();
    format!(
        "\
Lines of --format json: {{\"file\" (relative to the given folder), \"operations_loaded\", \"operations_skipped\": [{{\"operation\", \
\"reason\"}}], \"renamed\": [{{\"operation\", \"from\", \"to\"}}], \"simplified\": [{{\"operation\", \"what\"}}], \"error\": null or why the \
document cannot be loaded, \"advice\": [{{\"code\", \"operation\", \"at\", \"message\", \"fix\"}}], \"hidden\": \
[{{\"parameter\", \"in\", \"value\" (if it is fixed), \"reason\", \"operations\"}}], \"path\" (relative to the working directory)}}.

Rules of --advice:
{}

Exit status 0: all documents were loaded. 1: a document could not be loaded, a finding of --deny occurred, or there was nothing to \
check. 2: the arguments are invalid.",
        rules.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_is_chosen_by_the_names_of_rules() {
        assert_eq!(advisers("all").unwrap().0.len(), Rule::ALL.len());
        assert!(advisers("off").unwrap().0.is_empty());
        let some = advisers("missing-server, missing-example").unwrap().0;
        assert_eq!(some.iter().map(|rule| rule.code).collect::<Vec<_>>(), ["missing-server", "missing-example"]);
        for wrong in ["", "missing", "all,off"] {
            assert!(advisers(wrong).unwrap_err().contains("missing-server"), "{wrong}");
        }
    }

    #[test]
    fn dialects_have_their_names_of_the_configuration() {
        assert_eq!(dialect("openai-strict"), Ok(SchemaDialect::OpenaiStrict));
        assert_eq!(dialect("strict").unwrap_err(), "unknown dialect; use openai-strict, openai, plain");
    }

    #[test]
    fn help_names_every_rule() {
        assert!(Rule::ALL.iter().all(|rule| help().contains(rule.code) && help().contains(rule.about)));
    }
}
