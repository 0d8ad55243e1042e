//! `callwright retrieve`: ranks tools for recorded requests.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::errors::{BadLines, VerbResult};
use super::progress::answer_lines;
use super::setup::runtime;
use super::shared_arguments::EmbeddingArguments;
use callwright_lab::{self as offline, RetrieveJob, RetrieveSummary};

/// Arguments of `retrieve`.
#[derive(Debug, Args)]
#[command(after_long_help = LINES)]
pub(super) struct RetrieveArguments {
    /// JSON Lines {"name","description","parameters"?}: the tools.
    #[arg(long, value_name = "FILE")]
    tools: PathBuf,
    /// Folder of representation files; those of tools that clients send apply to the tools of --tools.
    #[arg(long, value_name = "DIR")]
    representations: Option<PathBuf>,
    /// JSON Lines {"query"}: the requests. `-` is standard input.
    #[arg(long = "in", value_name = "FILE", default_value = "-")]
    queries: PathBuf,
    /// Output file of the rankings, one line per request in input order. `-` is standard output.
    #[arg(long = "out", value_name = "FILE", default_value = "-")]
    rankings: PathBuf,
    /// Maximum number of tools per ranking.
    #[arg(short, long = "count", value_name = "N", default_value = "10")]
    k: NonZeroUsize,
    #[command(flatten)]
    vectors: EmbeddingArguments,
    /// Also write the reasons for each ranked tool: `why`.
    #[arg(long)]
    details: bool,
}

/// Help text about the line formats.
const LINES: &str = "\
Lines of --tools: {\"name\", \"description\", \"parameters\": its JSON Schema, if it has one}. Names must be unique. Other members are \
ignored.
Lines of --in: {\"query\": the text of a request}. Other members are ignored.
Lines of --out: {\"query\", \"ranked\": [names of tools, best first; fewer if no more tools match the request]}; with \
--details also \"why\": for each tool its `score`, whether the request contains its name (`named`), the scores of `words` (BM25) and `meaning`, \
the similarity of its `closest` text, which `pattern` that text is, if it is one, and its `margin` by the learned classifier above that of a wrong tool.

Files may have any size; gzip input is accepted, and the output is gzip if the name of --out ends in .gz. A line may have up to 64 MiB. \
Invalid lines are reported on standard error and skipped; the exit status is then 1. A summary goes to standard error.";

pub(super) fn run(arguments: RetrieveArguments) -> VerbResult {
    let RetrieveArguments { tools, representations, queries, rankings, k, vectors, details } = arguments;
    let embedder = vectors.embedder(None)?;
    let job = RetrieveJob { tools, representations, queries, rankings, count: k.get(), embedder, details };
    let runtime = runtime()?;
    answer_lines(&job.rankings, |progress| offline::retrieve(&job, runtime.handle(), progress), print, bad_lines)
}

fn bad_lines(&RetrieveSummary { problems, records, tools, .. }: &RetrieveSummary) -> BadLines {
    BadLines { problems, lines: problems + records + tools }
}

fn print(summary: &RetrieveSummary, took: Duration) {
    let RetrieveSummary { tools, learned, records, empty, .. } = summary;
    anstream::eprintln!("{tools} tools, {learned} of them with a representation");
    if summary.unfit_classifier {
        anstream::eprintln!("the learned classifier is not used: it was learned with other vectors");
    }
    anstream::eprintln!("{records} requests in {:.1} s, {empty} of them without any tool", took.as_secs_f64());
}
