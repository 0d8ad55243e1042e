//! `callwright plan`: prints plans for recorded requests, or the tools that can supply arguments.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::errors::{BadLines, VerbResult};
use super::progress::answer_lines;
use super::setup::{load_policy, runtime};
use super::shared_arguments::{EmbeddingArguments, ModelArguments};
use callwright_lab::{self as offline, CandidatesJob, CandidatesSummary, DrawJob, DrawSummary, JournaledModel};
use callwright_plan::generation::{Completion, GenerationSettings};
use callwright_plan::producers::Edges;

/// Arguments of `plan`.
#[derive(Debug, Args)]
#[command(after_long_help = LINES)]
pub(super) struct PlanArguments {
    /// For each argument, write the tools whose answers can supply it, without a model.
    #[arg(long, required_unless_present_any = ["model", "auto"], conflicts_with_all = ["model", "auto"])]
    candidates: bool,
    /// For each request, write whether a plan is needed, as the proxy decides it without a model.
    #[arg(long, conflicts_with = "model")]
    auto: bool,
    /// JSON Lines {"id","tools":[{"name","description","parameters","output"}]}: the toolsets.
    #[arg(long, value_name = "FILE")]
    tools: PathBuf,
    /// JSON Lines {"id","query","toolset","calls"?}: the requests. `-` is standard input.
    #[arg(long = "in", value_name = "FILE", default_value = "-")]
    records: PathBuf,
    /// Output file of the plans or candidates, one line per request in input order. `-` is standard output.
    #[arg(long = "out", value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// YAML file with confirmed and forbidden sources of arguments.
    #[arg(long, value_name = "FILE")]
    edges: Option<PathBuf>,
    /// Maximum number of candidates per argument. Default: 5 in the output, 8 in prompts.
    #[arg(short, long = "count", value_name = "N")]
    k: Option<NonZeroUsize>,
    #[command(flatten)]
    vectors: EmbeddingArguments,
    /// Also write the reasons for candidates (`why`); for a plan its `graph`, its cost (`spent`), and the faults of
    /// answers (`notes`).
    #[arg(long)]
    details: bool,
    #[command(flatten)]
    drawing: PlanDrawingOptions,
}

/// Limits for drawing plans.
#[derive(Debug, Args)]
#[command(next_help_heading = "Drawing plans with a model")]
struct PlanDrawingOptions {
    #[command(flatten)]
    of: ModelArguments,
    /// Policy file with the limits of a plan (`limits.plan_*`). Default: the built-in default policy.
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Number of plans drawn in parallel.
    #[arg(long, value_name = "N", default_value = "4")]
    jobs: NonZeroUsize,
    /// Sampling temperature of the model.
    #[arg(long, value_name = "T", default_value_t = GenerationSettings::default().temperature)]
    temperature: f64,
    /// Method of requesting the arguments of a call: `all` in one prompt, `one-by-one`, or in `three-steps` (values
    /// from the conversation before values from tools). The last two exist for comparison with `all`.
    #[arg(long, value_enum, value_name = "HOW", default_value_t)]
    completion: CompletionName,
}

/// Command line names of [`Completion`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum CompletionName {
    #[default]
    All,
    OneByOne,
    ThreeSteps,
}

impl From<CompletionName> for Completion {
    fn from(name: CompletionName) -> Self {
        match name {
            CompletionName::All => Self::All,
            CompletionName::OneByOne => Self::OneByOne,
            CompletionName::ThreeSteps => Self::ThreeSteps,
        }
    }
}

/// Help text about the line formats.
const LINES: &str = "\
Lines of --tools: {\"id\", \"tools\": [{\"name\", \"description\", \"parameters\": JSON Schema of its arguments, \"output\": JSON Schema of its \
answers, or an object with one schema per member}]}. Other members are ignored; of tools with the same name the first one is used.
Lines of --in: {\"id\", \"query\": the text of a request, \"toolset\": the id of a line of --tools, \"calls\": the names of the called tools, \
if known}. Other members are ignored.
Lines of --out: {\"id\", \"candidates\": {\"tool.argument\": [names of tools, best first]}} for every argument of the called tools, \
or of all tools; with --details also \"why\": for each candidate its `tool`, the location of the value in the answer (`output`, a JSON Pointer), \
whether it is an item of a list (`in_list`), its `score`, and the addends of the score (`reasons`).
With --auto: {\"id\", \"plan_needed\": true or false, \"why\": the requested `tool`, its `argument` without a value, and the `producer` \
that supplies it, as above}.
With --model: {\"id\", \"plan\": [{\"name\", \"arguments\", \"label\"}]}; values from another call's answer are written \"$label.path$\", inputs \
without a value are listed in `missing`, and `why` is the reason if there is no plan. Texts of tools and requests are sent to the model's provider.

Files may have any size; gzip input is accepted, and the output is gzip if the name of --out ends in .gz. A line may have up to 64 MiB. \
Invalid lines are reported on standard error and skipped; the exit status is then 1. A summary goes to standard error.";

pub(super) fn run(arguments: PlanArguments) -> VerbResult {
    match arguments.drawing.of.model.clone() {
        Some(model) => draw(arguments, &model),
        None => find_candidates(arguments),
    }
}

fn draw(arguments: PlanArguments, model: &str) -> VerbResult {
    let PlanArguments { tools, records, output, edges, k, vectors, details, drawing, .. } = arguments;
    let PlanDrawingOptions { of, policy, jobs, temperature, completion } = drawing;
    let defaults = GenerationSettings::within(&load_policy(policy.as_deref())?.limits);
    let settings = GenerationSettings {
        temperature,
        completion: completion.into(),
        candidates: k.map_or(defaults.candidates, NonZeroUsize::get),
        ..defaults
    };
    let runtime = runtime()?;
    // Connections belong to the runtime in which they are created.
    let entered = runtime.enter();
    let model = Arc::new(JournaledModel::new(Arc::new(of.text_model(model)?), model));
    drop(entered);
    let job = DrawJob {
        tools,
        records,
        plans: output,
        edges: edges.as_deref().map(Edges::from_file).transpose()?.unwrap_or_default(),
        embedder: vectors.embedder(None)?,
        model,
        settings,
        details,
        jobs: jobs.get(),
    };
    answer_lines(&job.plans, |progress| offline::plans(&job, runtime.handle(), progress), print_plans, draw_bad_lines)
}

fn draw_bad_lines(&DrawSummary { problems, records, toolsets, .. }: &DrawSummary) -> BadLines {
    BadLines { problems, lines: problems + records + toolsets }
}

fn print_plans(summary: &DrawSummary, took: Duration) {
    let DrawSummary { toolsets, tools, records, plans, with_question, unserved, limited, calls, cost, .. } = summary;
    anstream::eprintln!("{toolsets} toolsets with {tools} tools");
    let seconds = took.as_secs_f64();
    anstream::eprintln!(
        "{records} requests in {seconds:.1} s: {plans} plans with {calls} calls, {with_question} of them with a question to the user; \
         {unserved} not served by any tool, {limited} over a limit"
    );
    anstream::eprintln!(
        "sent to the model: {} requests, {} prompt tokens, {} completion tokens",
        cost.requests,
        cost.prompt_tokens,
        cost.completion_tokens
    );
}

fn find_candidates(arguments: PlanArguments) -> VerbResult {
    let PlanArguments { tools, records, output, edges, k, vectors, details, auto, .. } = arguments;
    let edges = edges.as_deref().map(Edges::from_file).transpose()?.unwrap_or_default();
    let embedder = vectors.embedder(None)?;
    let count = k.map_or(5, NonZeroUsize::get);
    let job = CandidatesJob { tools, records, candidates: output, edges, count, embedder, details, auto };
    let runtime = runtime()?;
    let print = if auto { print_needed } else { print };
    answer_lines(
        &job.candidates,
        |progress| offline::candidates(&job, runtime.handle(), progress),
        print,
        candidates_bad_lines,
    )
}

fn candidates_bad_lines(&CandidatesSummary { problems, records, toolsets, .. }: &CandidatesSummary) -> BadLines {
    BadLines { problems, lines: problems + records + toolsets }
}

fn print_needed(summary: &CandidatesSummary, took: Duration) {
    let CandidatesSummary { toolsets, tools, records, needed, .. } = summary;
    anstream::eprintln!("{toolsets} toolsets with {tools} tools");
    let seconds = took.as_secs_f64();
    anstream::eprintln!("{records} requests in {seconds:.1} s: {needed} of them need a plan");
}

fn print(summary: &CandidatesSummary, took: Duration) {
    let CandidatesSummary { toolsets, tools, repeated, records, arguments, empty, unknown_calls, .. } = summary;
    anstream::eprintln!("{toolsets} toolsets with {tools} tools");
    if *repeated > 0 {
        anstream::eprintln!("{repeated} tools skipped: an earlier tool of their toolset has the same name");
    }
    let seconds = took.as_secs_f64();
    anstream::eprintln!(
        "{records} requests in {seconds:.1} s: {arguments} arguments, {empty} of them without a candidate"
    );
    if *unknown_calls > 0 {
        anstream::eprintln!("{unknown_calls} calls skipped: their toolset has no tool of that name");
    }
}
