//! `callwright learn notes`: lessons from questions whose answers are known.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};

use crate::cli::asked_model::ModelArguments;
use crate::cli::errors::{BadLines, VerbResult};
use crate::cli::progress::Progress;
use callwright_knowledge::experience::Settings;
use callwright_offline::{NotesFiles, NotesReport, NotesRun, Variant, grouped, learn_notes};
use callwright_types::Scope;
use callwright_upstream::{Patience, TextModel};

/// Times that a question is put to a provider that is busy, and the longest wait before the next time.
const PATIENCE: Patience = Patience { tries: 4, max_wait: Duration::from_secs(60) };

/// Arguments of `learn notes`.
#[derive(Debug, Args)]
#[command(after_long_help = LINES)]
pub(super) struct Arguments {
    /// JSON Lines {"question","answer"}: questions to learn from. `-` is standard input.
    #[arg(long, value_name = "FILE")]
    train: Option<PathBuf>,
    /// JSON Lines {"question","answer"}: questions to try the notes on.
    #[arg(long, value_name = "FILE")]
    test: Option<PathBuf>,
    /// Lessons that there are already, as --out writes them. What is learned joins them.
    #[arg(long, value_name = "FILE")]
    notes: Option<PathBuf>,
    /// Where all lessons go, one a line. `-` is standard output, but then an interrupted run cannot be gone on with.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// What the test stage recalls; several may be given. What the model does without any note is always found out first.
    #[arg(long = "variant", value_enum, default_value = "all", value_delimiter = ',')]
    variants: Vec<VariantKind>,
    /// The group whose memory the lessons are for: that of policies with `recall.group: NAME`.
    #[arg(long, value_name = "NAME", default_value = "labelled")]
    group: String,
    #[command(flatten)]
    model: ModelArguments,
    /// Notes that a question is shown at most.
    #[arg(short, long = "count", value_name = "N", default_value = "3")]
    k: usize,
    /// Further messages in which the model may think and take notes about a question.
    #[arg(long, value_name = "N", default_value_t = Settings::default().note_actions)]
    actions: usize,
    /// Questions that are asked side by side.
    #[arg(long, value_name = "N", default_value = "4")]
    jobs: NonZeroUsize,
    /// Where the report goes as JSON, besides the table on standard error.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Go on with a run that was interrupted.
    #[arg(long)]
    resume: bool,
    /// Begin anew, although a run was interrupted.
    #[arg(long, conflicts_with = "resume")]
    restart: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum VariantKind {
    /// All lessons.
    All,
    /// Nothing.
    Disabled,
    /// Questions and answers instead of the lessons learned from them.
    Case,
    /// Lessons from what was answered right.
    Positive,
    /// Lessons from what was answered wrong.
    Negative,
}

impl From<VariantKind> for Variant {
    fn from(kind: VariantKind) -> Self {
        match kind {
            VariantKind::All => Self::All,
            VariantKind::Disabled => Self::Disabled,
            VariantKind::Case => Self::Case,
            VariantKind::Positive => Self::Positive,
            VariantKind::Negative => Self::Negative,
        }
    }
}

/// What `--help` says about the files.
const LINES: &str = "\
Lines of --train and --test: {\"question\", \"answer\"}. Other members are ignored. The model answers each question of --train, is told whether \
that was right and what is right, and takes notes. Then it answers each question of --test with the notes whose keys share words with it, and \
once without any. Answers are compared without regard to case, spaces and quotes.

Lines of --out and --notes are lessons (docs/experience.md); `callwright store import` takes them into the proxy's store. Files may be of any size; \
gzip is understood, and written where the name of --out ends in .gz. Lines that cannot be used are named on standard error and left \
out; the status is 1 then. The report goes to standard error.";

pub(super) fn run(arguments: &Arguments) -> VerbResult {
    let Some(name) = &arguments.model.model else {
        return Err("a model is asked; name it with --model, as its provider calls it".into());
    };
    let model = TextModel::new(arguments.model.upstream()?, name, PATIENCE);
    let Arguments { train, test, notes, out, k, actions, jobs, resume, restart, .. } = arguments;
    let files = NotesFiles { train: train.clone(), test: test.clone(), notes: notes.clone(), out: out.clone() };
    let mut variants: Vec<Variant> = arguments.variants.iter().map(|kind| (*kind).into()).collect();
    variants.dedup();
    let run = NotesRun {
        model: Arc::new(model),
        model_name: name.clone(),
        scope: Scope::of_group(&arguments.group),
        variants,
        k: *k,
        settings: Settings { note_actions: *actions, ..Settings::default() },
        jobs: jobs.get(),
        resume: *resume,
        restart: *restart,
    };
    let progress = Progress::new(false);
    let begun = Instant::now();
    let report = super::super::runtime()?.block_on(learn_notes(&files, &run, &progress));
    progress.clear();
    let report = report?;
    tell(&report, begun.elapsed());
    if let Some(path) = &arguments.report {
        std::fs::write(path, serde_json::to_vec_pretty(&report)?)
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    match (report.problems, report.lines) {
        (0, _) => Ok(()),
        (problems, lines) => Err(BadLines { problems, lines }.into()),
    }
}

/// The report as a table on standard error.
fn tell(report: &NotesReport, took: Duration) {
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
        let heads = ["variant", "notes", "recalled", "right", "%", "F=>F", "F=>T", "T=>T", "T=>F"];
        let [variant, notes, recalled, right, percent, ff, ft, tt, tf] = heads;
        anstream::eprintln!("{variant:<10}{notes:>8}{recalled:>10}{right:>8}{percent:>8}{ff:>7}{ft:>7}{tt:>7}{tf:>7}");
    }
    for of in &report.variants {
        let percent = 100.0 * of.right as f64 / report.tested.max(1) as f64;
        anstream::eprintln!(
            "{:<10}{:>8}{:>10}{:>8}{percent:>8.1}{:>7}{:>7}{:>7}{:>7}",
            of.variant.label(),
            of.notes,
            of.recalled,
            of.right,
            of.still_wrong,
            of.mended,
            of.still_right,
            of.broken
        );
    }
    let cost = &report.cost;
    anstream::eprintln!(
        "{} requests: {} tokens sent, {} answered, in {:.1} s",
        grouped(cost.requests),
        grouped(cost.prompt_tokens),
        grouped(cost.completion_tokens),
        took.as_secs_f64()
    );
}
