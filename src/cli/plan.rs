//! `callwright plan`: recorded requests, with their plans, or with what supplies the arguments of the tools that they may need.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::asked_model::ModelArguments;
use super::embedding::VectorArguments;
use super::errors::{BadLines, VerbResult};
use super::lines::answer_lines;
use super::scan::threads;
use callwright_knowledge::planner::drawing::{Completion, DrawSettings};
use callwright_knowledge::planner::producers::Edges;
use callwright_offline::{self as offline, CandidatesJob, CandidatesSummary, DrawJob, DrawSummary};
use callwright_upstream::{Patience, TextModel};

/// Candidates of an argument that are written where nothing is said.
const CANDIDATES: usize = 5;

/// Plans that are drawn at a time where nothing is said: they wait for a model, not for cores.
const AT_ONCE: usize = 4;

/// Where the model's provider is busy: tries of a request, and the longest wait between them.
const PATIENCE: Patience = Patience { tries: 4, max_wait: Duration::from_secs(60) };

/// Arguments of `plan`.
#[derive(Debug, Args)]
#[command(after_long_help = LINES)]
pub(super) struct Arguments {
    /// Write for each argument the tools whose answers can supply it; no model is asked.
    #[arg(long, required_unless_present_any = ["model", "auto"], conflicts_with_all = ["model", "auto"])]
    candidates: bool,
    /// Write for each request whether a plan is needed, as a proxy finds out before it asks anybody; no model is asked.
    #[arg(long, conflicts_with = "model")]
    auto: bool,
    /// JSON Lines {"id","tools":[{"name","description","parameters","output"}]}: the toolsets.
    #[arg(long, value_name = "FILE")]
    tools: PathBuf,
    /// JSON Lines {"id","query","toolset","calls"?}: the requests. `-` is standard input.
    #[arg(long = "in", value_name = "FILE", default_value = "-")]
    records: PathBuf,
    /// Where the plans or candidates go, one line for each request, in the same order. `-` is standard output.
    #[arg(long = "out", value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// YAML file with what is confirmed and forbidden as a source of arguments.
    #[arg(long, value_name = "FILE")]
    edges: Option<PathBuf>,
    /// Candidates of an argument, at most. Without it, 5 are written, and 8 are shown to a model.
    #[arg(short, long = "count", value_name = "N")]
    k: Option<NonZeroUsize>,
    #[command(flatten)]
    vectors: VectorArguments,
    /// Write beside the candidates why they are: `why`; beside a plan its `graph`, what it cost (`spent`), and what was wrong with answers
    /// (`notes`).
    #[arg(long)]
    details: bool,
    /// Threads that search; without it, one for each core. Of plans, how many are drawn at a time; without it, 4.
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    #[command(flatten)]
    drawing: Drawing,
}

/// How plans are drawn.
#[derive(Debug, Args)]
#[command(next_help_heading = "Drawing plans by asking a model")]
struct Drawing {
    #[command(flatten)]
    of: ModelArguments,
    /// Calls on the way from a goal to the first one, at most.
    #[arg(long, value_name = "N", default_value_t = DrawSettings::default().depth)]
    depth: usize,
    /// Calls of a plan, at most.
    #[arg(long, value_name = "N", default_value_t = DrawSettings::default().nodes)]
    max_calls: usize,
    /// Requests to the model for one plan, at most.
    #[arg(long, value_name = "N", default_value_t = DrawSettings::default().requests)]
    max_requests: u64,
    /// Tokens for one plan, at most.
    #[arg(long, value_name = "N", default_value_t = DrawSettings::default().tokens)]
    max_tokens: u64,
    /// How freely the model may choose its words.
    #[arg(long, value_name = "T", default_value_t = DrawSettings::default().temperature)]
    temperature: f64,
    /// In which questions the arguments of a call are asked for: `all` in one, `one-by-one`, or in `three-steps`, what was said before what
    /// tools find out. The others are there to be compared with `all`.
    #[arg(long, value_enum, value_name = "HOW", default_value_t)]
    completion: CompletionName,
}

/// The names of [`Completion`].
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

/// What `--help` says about the lines.
const LINES: &str = "\
Lines of --tools: {\"id\", \"tools\": [{\"name\", \"description\", \"parameters\": JSON Schema of its arguments, \"output\": JSON Schema of its \
answers, or an object that has one for each member of them}]}. Other members are ignored; of tools with one name the first counts.
Lines of --in: {\"id\", \"query\": the text of a request, \"toolset\": the id of a line of --tools, \"calls\": the names of the tools that are \
called, where that is known}. Other members are ignored.
Lines of --out: {\"id\", \"candidates\": {\"tool.argument\": [names of tools, best first]}} for every argument of the tools that are called, \
or of all tools; with --details also \"why\": for each candidate its `tool`, where the value stands in the answer (`output`, a JSON Pointer), \
whether it is one of a list (`in_list`), its `score`, and what that is the sum of (`reasons`).
With --auto: {\"id\", \"plan_needed\": true or false, \"why\": the `tool` that is asked for, its `argument` that nobody gave, and the `producer` \
that supplies it, as above}.
With --model: {\"id\", \"plan\": [{\"name\", \"arguments\", \"label\"}]}; what another call answers with is written \"$label.path$\", inputs \
that nobody gave stand in `missing`, and why there is no plan in `why`. Texts of tools and requests go to the model's provider.

Files may be of any size; gzip is understood, and written where the name of --out ends in .gz. A line may have 64 MiB. \
Lines that cannot be used are named on standard error and left out; the status is 1 then. A summary goes to standard error.";

pub(super) fn run(arguments: Arguments) -> VerbResult {
    match arguments.drawing.of.model.clone() {
        Some(model) => draw(arguments, &model),
        None => find_candidates(arguments),
    }
}

fn draw(arguments: Arguments, model: &str) -> VerbResult {
    let Arguments { tools, records, output, edges, k, vectors, details, jobs, drawing, .. } = arguments;
    let Drawing { of, depth, max_calls, max_requests, max_tokens, temperature, completion } = drawing;
    let defaults = DrawSettings::default();
    let settings = DrawSettings {
        depth,
        nodes: max_calls,
        requests: max_requests,
        tokens: max_tokens,
        temperature,
        completion: completion.into(),
        candidates: k.map_or(defaults.candidates, NonZeroUsize::get),
        ..defaults
    };
    let runtime = super::runtime()?;
    // Connections belong to the runtime that they are made in.
    let entered = runtime.enter();
    let model = Arc::new(TextModel::new(of.upstream()?, model, PATIENCE));
    drop(entered);
    let job = DrawJob {
        tools,
        records,
        plans: output,
        edges: edges.as_deref().map(Edges::of_file).transpose()?.unwrap_or_default(),
        embedder: vectors.embedder()?,
        model,
        settings,
        details,
        jobs: jobs.map_or(AT_ONCE, NonZeroUsize::get),
    };
    let lines = |summary: &DrawSummary| {
        let DrawSummary { problems, records, toolsets, .. } = *summary;
        BadLines { problems, lines: problems + records + toolsets }
    };
    answer_lines(&job.plans, |progress| offline::plans(&job, runtime.handle(), progress), print_plans, lines)
}

fn print_plans(summary: &DrawSummary, took: Duration) {
    let DrawSummary { toolsets, tools, records, plans, asking, unserved, limited, calls, cost, .. } = summary;
    anstream::eprintln!("{toolsets} toolsets with {tools} tools");
    let seconds = took.as_secs_f64();
    anstream::eprintln!(
        "{records} requests in {seconds:.1} s: {plans} plans with {calls} calls, {asking} of them with a question to the user; \
         {unserved} that no tool serves, {limited} beyond a limit"
    );
    anstream::eprintln!(
        "asked of the model: {} requests, {} tokens of prompts, {} of answers",
        cost.requests,
        cost.prompt_tokens,
        cost.completion_tokens
    );
}

fn find_candidates(arguments: Arguments) -> VerbResult {
    let Arguments { tools, records, output, edges, k, vectors, details, jobs, auto, .. } = arguments;
    let edges = edges.as_deref().map(Edges::of_file).transpose()?.unwrap_or_default();
    let embedder = vectors.embedder()?;
    let (count, jobs) = (k.map_or(CANDIDATES, NonZeroUsize::get), threads(jobs));
    let job = CandidatesJob { tools, records, candidates: output, edges, count, embedder, details, auto, jobs };
    let runtime = super::runtime()?;
    let lines = |summary: &CandidatesSummary| {
        let CandidatesSummary { problems, records, toolsets, .. } = *summary;
        BadLines { problems, lines: problems + records + toolsets }
    };
    let print = if auto { print_needed } else { print };
    answer_lines(&job.candidates, |progress| offline::candidates(&job, runtime.handle(), progress), print, lines)
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
        anstream::eprintln!("{repeated} tools have the name of an earlier one of their toolset, which counts");
    }
    let seconds = took.as_secs_f64();
    anstream::eprintln!(
        "{records} requests in {seconds:.1} s: {arguments} arguments, {empty} of them without a candidate"
    );
    if *unknown_calls > 0 {
        anstream::eprintln!("{unknown_calls} calls name a tool that the toolset has not; they are left out");
    }
}
