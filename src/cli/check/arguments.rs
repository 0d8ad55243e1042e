//! The arguments of `check`, and what `--help` says about them.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

use super::super::format::Format;
use super::tally::Denied;
use callwright_openapi::Rule;
use callwright_types::SchemaDialect;

/// Arguments of `check`.
#[derive(Debug, Args)]
#[command(after_long_help = help())]
pub(in super::super) struct Arguments {
    /// OpenAPI documents, their http(s) URLs, or folders with such: every document below a folder is checked, its other files are passed
    /// over, and what a document refers to may be anywhere below that folder. `-` is a document at standard input. Only public addresses are asked.
    #[arg(value_name = "PATH", required_unless_present = "files_from")]
    pub(super) paths: Vec<PathBuf>,
    /// How reports are printed; `json` prints one line per document.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(super) format: Format,
    /// File that names further documents and folders, one a line; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    pub(super) files_from: Option<PathBuf>,
    /// Also report what the tools lose in this dialect of schemas: openai-strict, openai or plain.
    #[arg(long, value_name = "DIALECT", value_parser = dialect)]
    pub(super) dialect: Option<SchemaDialect>,
    /// Which advice is given: `all`, `off`, or rules by their names, with commas between them.
    #[arg(long, value_name = "RULES", default_value = "all", value_parser = advisers)]
    pub(super) advice: Advisers,
    /// Fail where something of this is found, with commas between several.
    #[arg(long, value_enum, value_name = "WHAT", value_delimiter = ',')]
    pub(super) deny: Vec<Denied>,
    /// Documents that are read side by side; without it, one for each core.
    #[arg(long, value_name = "N")]
    pub(super) jobs: Option<NonZeroUsize>,
}

/// The rules that were asked for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Advisers(pub(super) Vec<Rule>);

fn advisers(text: &str) -> Result<Advisers, String> {
    match text.trim() {
        "all" => return Ok(Advisers(Rule::ALL.to_vec())),
        "off" => return Ok(Advisers(Vec::new())),
        _ => {}
    }
    let rule = |code: &str| {
        let code = code.trim();
        Rule::named(code).ok_or_else(|| {
            let known: Vec<&str> = Rule::ALL.iter().map(|rule| rule.code).collect();
            format!("no rule is called `{code}`; there are all, off, {}", known.join(", "))
        })
    };
    text.split(',').map(rule).collect::<Result<_, _>>().map(Advisers)
}

fn dialect(text: &str) -> Result<SchemaDialect, String> {
    let known = SchemaDialect::ALL.into_iter().find(|dialect| dialect.as_str() == text);
    known.ok_or_else(|| format!("there are {}", SchemaDialect::ALL.map(SchemaDialect::as_str).join(", ")))
}

/// What `--help` says behind the options.
fn help() -> String {
    let rules: Vec<String> = Rule::ALL.iter().map(|rule| format!("  {:<22} {}", rule.code, rule.about)).collect();
    format!(
        "\
Lines of --format json: {{\"file\" (from the folder that was given), \"operations_loaded\", \"operations_skipped\": [{{\"operation\", \
\"reason\"}}], \"renamed\": [{{\"operation\", \"from\", \"to\"}}], \"simplified\": [{{\"operation\", \"what\"}}], \"error\": null or why the \
document cannot be loaded, \"advice\": [{{\"code\", \"operation\", \"at\", \"message\", \"fix\"}}], \"path\" (from here)}}.

Rules of --advice:
{}

Status 0: every document could be loaded. 1: a document could not be loaded, what --deny names was found, or there was nothing to \
check. 2: the arguments are no command.",
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
        assert_eq!(dialect("strict").unwrap_err(), "there are openai-strict, openai, plain");
    }

    #[test]
    fn help_names_every_rule() {
        assert!(Rule::ALL.iter().all(|rule| help().contains(rule.code) && help().contains(rule.about)));
    }
}
