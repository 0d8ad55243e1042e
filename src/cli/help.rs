//! `callwright --help`: subcommands by topic.

use std::fmt::Write as _;

use clap::Command;

/// Topics with their subcommands, in the order of the help.
const TOPICS: [(&str, &[&str]); 6] = [
    ("Start", &["init", "serve", "run", "demo"]),
    ("Check", &["check", "config", "policy", "doctor", "health"]),
    ("Operate a running proxy", &["traces", "approvals", "lessons"]),
    ("Stored data", &["keys", "procedures", "representations", "store"]),
    ("Offline, on files", &["scan", "replay", "explain", "retrieve", "plan", "learn"]),
    ("About callwright", &["completions", "man", "openapi", "help"]),
];

/// Summary of clap's own subcommand.
const HELP: &str = "Print this help, or that of a subcommand";

/// Adds the subcommands by topic to the help of the main command.
pub(super) fn grouped(command: Command) -> Command {
    let header = *command.get_styles().get_header();
    let literal = *command.get_styles().get_literal();
    let names = command.get_subcommands().map(|subcommand| subcommand.get_name().len());
    let width = names.max().unwrap_or_default();
    let mut topics = String::new();
    for (topic, names) in TOPICS {
        // Writing to a string cannot fail.
        let _ = writeln!(topics, "{header}{topic}:{header:#}");
        for name in names {
            let summary = command.find_subcommand(name).map_or_else(|| HELP.to_owned(), summary);
            let _ = writeln!(topics, "  {literal}{name:width$}{literal:#}  {summary}");
        }
        topics.push('\n');
    }
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{topics}{header}Options:{header:#}\n{{options}}\n"
    ))
}

/// Returns the begin of the first sentence about a subcommand on one line.
fn summary(command: &Command) -> String {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let about = about.split_whitespace().collect::<Vec<_>>().join(" ");
    let end = [". ", ": "].iter().filter_map(|end| about.find(end)).min().unwrap_or(about.len());
    about.get(..end).unwrap_or_default().trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::CommandLine;

    #[test]
    fn every_subcommand_has_one_topic() {
        let mut listed: Vec<&str> = TOPICS.iter().flat_map(|(_, names)| *names).copied().collect();
        let command = CommandLine::command();
        let mut known: Vec<&str> = command.get_subcommands().map(Command::get_name).chain(["help"]).collect();
        listed.sort_unstable();
        known.sort_unstable();
        assert_eq!(listed, known);
    }

    #[test]
    fn the_help_has_every_subcommand_once_with_its_first_sentence() {
        let help = grouped(CommandLine::command()).render_help().to_string();
        assert_eq!(help.matches("\n  serve ").count(), 1, "{help}");
        assert!(help.contains("Run the proxy until SIGTERM or SIGINT\n"), "{help}");
        assert!(!help.contains("Commands:"), "{help}");
    }
}
