//! `callwright learn notes`: learns lessons from questions with known answers.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::cli::errors::{BadLines, VerbResult};
use crate::cli::progress::ProgressPrinter;
use crate::cli::setup::runtime;
use crate::cli::shared_arguments::ModelArguments;
use crate::cli::table::{Column, TextTable};
use callwright_lab::{NotesFiles, NotesReport, NotesRun, Variant, grouped, learn_notes};
use callwright_memory::experience::Settings;
use callwright_types::Scope;

/// Arguments of `learn notes`.
#[derive(Debug, Args)]
#[command(after_long_help = LINES)]
pub(in crate::cli) struct LearnNotesArguments {
    /// JSON Lines {"question","answer"}: questions to learn from. `-` is standard input.
    #[arg(long, value_name = "FILE")]
    train: Option<PathBuf>,
    /// JSON Lines {"question","answer"}: questions to test the notes on.
    #[arg(long, value_name = "FILE")]
    test: Option<PathBuf>,
    /// Existing lessons, as --out writes them. New lessons are added to them.
    #[arg(long, value_name = "FILE")]
    notes: Option<PathBuf>,
    /// Output file of all lessons, one per line. `-` is standard output, but then an interrupted run begins again.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Text file with instructions for the task, which become part of every prompt.
    #[arg(long, value_name = "FILE")]
    instructions: Option<PathBuf>,
    /// JSON Lines {"question","truth"}: demonstrations of the task in place of the built-in ones. `-` is standard input.
    #[arg(long, value_name = "FILE")]
    demonstrations: Option<PathBuf>,
    /// Lessons that the test stage recalls; several may be given. The baseline without notes is always measured first.
    #[arg(long = "variant", value_parser = variant(), default_value = "all", value_delimiter = ',')]
    variants: Vec<Variant>,
    /// Group whose memory the lessons belong to, as in policies with `recall.group: NAME`.
    #[arg(long, value_name = "NAME", default_value = "labelled")]
    group: String,
    #[command(flatten)]
    model: ModelArguments,
    /// Maximum number of notes per question.
    #[arg(short, long = "count", value_name = "N", default_value = "3")]
    k: usize,
    /// Number of questions processed in parallel.
    #[arg(long, value_name = "N", default_value = "4")]
    jobs: NonZeroUsize,
    /// Output file of the report as JSON, in addition to the table on standard error.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

/// Parses the name of a variant.
fn variant() -> impl TypedValueParser<Value = Variant> {
    const VARIANTS: [(Variant, &str); 5] = [
        (Variant::All, "All lessons"),
        (Variant::Disabled, "No lessons"),
        (Variant::Case, "Questions and answers instead of the lessons learned from them"),
        (Variant::Positive, "Lessons from correct answers"),
        (Variant::Negative, "Lessons from wrong answers"),
    ];
    let names = VARIANTS.map(|(variant, about)| PossibleValue::new(variant.label()).help(about));
    PossibleValuesParser::new(names).try_map(|name| {
        let known = VARIANTS.into_iter().find(|(variant, _)| variant.label() == name);
        known.map(|(variant, _)| variant).ok_or("unknown variant")
    })
}

/// Help text about the file formats.
const LINES: &str = "\
Lines of --train and --test: {\"question\", \"answer\"}. Other members are ignored. The model answers each question of --train, learns whether \
its answer was right and the right answer, and takes notes. Then it answers each question of --test with the notes whose keys share words with it, and \
once without any. The comparison of answers ignores case, spaces and quotes.

Lines of --demonstrations: {\"question\", \"truth\"}, and optionally \"thought\" and \"answer\" (the first answer, right or wrong), and \"notes\" (a list of \
{\"key\", \"value\"}). At most eight are shown, in the form of the commands.

Lines of --out and --notes are lessons (docs/experience.md); `callwright store import` imports them into the proxy's store. Files may have any size; \
gzip input is accepted, and the output is gzip if the name of --out ends in .gz. Invalid lines are reported on standard error and \
skipped; the exit status is then 1. The report goes to standard error.

Every answer is kept in a hidden file next to --out until the run ends. The same command continues an interrupted run and repeats no answered \
request.";

pub(super) fn run(arguments: LearnNotesArguments) -> VerbResult {
    let LearnNotesArguments { train, test, notes, out, instructions, demonstrations, mut variants, .. } = arguments;
    let LearnNotesArguments { group, model, k, jobs, report: report_file, .. } = arguments;
    let Some(model_name) = model.model.clone() else {
        return Err("no model is given; name it with --model, as its provider spells it".into());
    };
    let model = Arc::new(model.text_model(&model_name)?);
    let files = NotesFiles { train, test, notes, out, instructions, demonstrations };
    variants.dedup();
    let (scope, settings, jobs) = (Scope::of_group(&group), Settings::default(), jobs.get());
    let run = NotesRun { model, model_name, scope, variants, k, settings, jobs };
    let progress = ProgressPrinter::new(false);
    let begun = Instant::now();
    let report = runtime()?.block_on(learn_notes(&files, &run, &progress));
    progress.clear();
    let report = report?;
    print(&report, begun.elapsed());
    if let Some(path) = report_file {
        std::fs::write(&path, serde_json::to_vec_pretty(&report)?)
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    match (report.problems, report.lines) {
        (0, _) => Ok(()),
        (problems, lines) => Err(BadLines { problems, lines }.into()),
    }
}

/// Prints the report as a table on standard error.
fn print(report: &NotesReport, took: Duration) {
    if report.trained > 0 {
        anstream::eprintln!("{} questions to learn from, {} answered right", report.trained, report.trained_right);
    }
    anstream::eprintln!(
        "{} lessons: {} positive, {} negative",
        report.positive + report.negative,
        report.positive,
        report.negative
    );
    if !report.variants.is_empty() {
        anstream::eprint!("{}", variants(report));
    }
    let cost = &report.cost;
    anstream::eprintln!(
        "{} requests: {} prompt tokens, {} completion tokens, in {:.1} s",
        grouped(cost.requests),
        grouped(cost.prompt_tokens),
        grouped(cost.completion_tokens),
        took.as_secs_f64()
    );
}

/// Returns the table of variants. The last columns count answers by whether they were right without and with notes.
fn variants(report: &NotesReport) -> String {
    let widths = [8, 10, 8, 8, 7, 7, 7, 7].map(Column::Right);
    let mut table = TextTable::new([&[Column::Left(10)][..], &widths].concat());
    table.row("variant", &["notes", "recalled", "right", "%", "F=>F", "F=>T", "T=>T", "T=>F"]);
    for of in &report.variants {
        let percent = 100.0 * of.right as f64 / report.tested.max(1) as f64;
        table.row(
            of.variant.label(),
            &[
                of.notes.to_string(),
                of.recalled.to_string(),
                of.right.to_string(),
                format!("{percent:.1}"),
                of.still_wrong.to_string(),
                of.mended.to_string(),
                of.still_right.to_string(),
                of.broken.to_string(),
            ],
        );
    }
    table.into_text()
}
