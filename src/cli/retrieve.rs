//! `callwright retrieve`: recorded requests, with the tools that they want.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::embedding::VectorArguments;
use super::errors::{BadLines, VerbResult};
use super::lines::answer_lines;
use super::scan::threads;
use callwright_offline::{self as offline, RetrieveJob, RetrieveSummary};

/// Arguments of `retrieve`.
#[derive(Debug, Args)]
#[command(after_long_help = LINES)]
pub(super) struct Arguments {
    /// JSON Lines {"name","description","parameters"?}: the tools.
    #[arg(long, value_name = "FILE")]
    tools: PathBuf,
    /// A folder of representation files: what was learned of tools that clients send counts for those of --tools.
    #[arg(long, value_name = "DIR")]
    representations: Option<PathBuf>,
    /// JSON Lines {"query"}: the requests. `-` is standard input.
    #[arg(long = "in", value_name = "FILE", default_value = "-")]
    queries: PathBuf,
    /// Where the rankings go, one line for each request, in the same order. `-` is standard output.
    #[arg(long = "out", value_name = "FILE", default_value = "-")]
    rankings: PathBuf,
    /// Tools of a ranking, at most.
    #[arg(short, long = "count", value_name = "N", default_value = "10")]
    k: NonZeroUsize,
    #[command(flatten)]
    vectors: VectorArguments,
    /// Write beside each ranking why its tools were found: `why`.
    #[arg(long)]
    details: bool,
    /// Threads that search; without it, one for each core.
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
}

/// What `--help` says about the lines.
const LINES: &str = "\
Lines of --tools: {\"name\", \"description\", \"parameters\": its JSON Schema, if it has one}. Each name may stand once. Other members are \
ignored.
Lines of --in: {\"query\": the text of a request}. Other members are ignored.
Lines of --out: {\"query\", \"ranked\": [names of tools, best first; fewer where no more have anything in common with the request]}; with \
--details also \"why\": for each tool its `score`, whether the request says its name (`named`), what `words` gave (BM25) and what `meaning` gave, \
how close the `closest` of its texts is and which `pattern` that is, where it is one.

Files may be of any size; gzip is understood, and written where the name of --out ends in .gz. A line may have 64 MiB. \
Lines that cannot be used are named on standard error and left out; the status is 1 then. A summary goes to standard error.";

pub(super) fn run(arguments: Arguments) -> VerbResult {
    let Arguments { tools, representations, queries, rankings, k, vectors, details, jobs } = arguments;
    let embedder = vectors.embedder()?;
    let (count, jobs) = (k.get(), threads(jobs));
    let job = RetrieveJob { tools, representations, queries, rankings, count, embedder, details, jobs };
    let runtime = super::runtime()?;
    let lines = |summary: &RetrieveSummary| {
        let RetrieveSummary { problems, records, tools, .. } = *summary;
        BadLines { problems, lines: problems + records + tools }
    };
    answer_lines(&job.rankings, |progress| offline::retrieve(&job, runtime.handle(), progress), print, lines)
}

fn print(summary: &RetrieveSummary, took: Duration) {
    let RetrieveSummary { tools, learned, records, empty, .. } = summary;
    anstream::eprintln!("{tools} tools, {learned} of them with a representation");
    anstream::eprintln!("{records} requests in {:.1} s, {empty} of them without any tool", took.as_secs_f64());
}
