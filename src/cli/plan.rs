//! `callwright plan`: recorded requests, with what supplies the arguments of the tools that they may need.

use std::io::IsTerminal;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;

use super::embedding::VectorArguments;
use super::errors::{BadLines, VerbResult};
use super::progress::Progress;
use super::scan::threads;
use crate::offline::{self, CandidatesJob, CandidatesSummary, OfflineError};
use crate::planner::producers::Edges;

/// Arguments of `plan`.
#[derive(Debug, Args)]
#[command(after_long_help = LINES)]
pub(super) struct Arguments {
    /// Write for each argument the tools whose answers can supply it; no model is asked.
    #[arg(long, required = true)]
    candidates: bool,
    /// JSON Lines {"id","tools":[{"name","description","parameters","output"}]}: the toolsets.
    #[arg(long, value_name = "FILE")]
    tools: PathBuf,
    /// JSON Lines {"id","query","toolset","calls"?}: the requests. `-` is standard input.
    #[arg(long = "in", value_name = "FILE", default_value = "-")]
    records: PathBuf,
    /// Where the candidates go, one line for each request, in the same order. `-` is standard output.
    #[arg(long = "out", value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// YAML file with what is confirmed and forbidden as a source of arguments.
    #[arg(long, value_name = "FILE")]
    edges: Option<PathBuf>,
    /// Candidates of an argument, at most.
    #[arg(short, long = "count", value_name = "N", default_value = "5")]
    k: NonZeroUsize,
    #[command(flatten)]
    vectors: VectorArguments,
    /// Write beside the candidates why they are: `why`.
    #[arg(long)]
    details: bool,
    /// Threads that search; without it, one for each core.
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
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

Files may be of any size; gzip is understood, and written where the name of --out ends in .gz. A line may have 64 MiB. \
Lines that cannot be used are named on standard error and left out; the status is 1 then. A summary goes to standard error.";

pub(super) fn run(arguments: Arguments) -> VerbResult {
    let Arguments { candidates: _, tools, records, output, edges, k, vectors, details, jobs } = arguments;
    let edges = edges.as_deref().map(Edges::of_file).transpose()?.unwrap_or_default();
    let embedder = vectors.embedder()?;
    let (count, jobs) = (k.get(), threads(jobs));
    let job = CandidatesJob { tools, records, candidates: output, edges, count, embedder, details, jobs };
    let writes_to_terminal = job.candidates.as_os_str() == "-" && std::io::stdout().is_terminal();
    let runtime = super::runtime()?;
    let begun = Instant::now();
    let summary = match offline::candidates(&job, runtime.handle(), &Progress::new(writes_to_terminal)) {
        Err(OfflineError::ReaderGone) => return Ok(()),
        result => result?,
    };
    print(&summary, begun.elapsed());
    let CandidatesSummary { problems, records, toolsets, .. } = summary;
    match problems {
        0 => Ok(()),
        _ => Err(BadLines { problems, lines: problems + records + toolsets }.into()),
    }
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
