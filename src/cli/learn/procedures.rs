//! `callwright learn procedures`: procedures from turns that were recorded and verified.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use jiff::Timestamp;

use crate::cli::errors::{BadLines, VerbResult};
use crate::cli::memory_store::{MemoryStore, all_procedures};
use crate::cli::progress::Progress;
use callwright_knowledge::procedures::{Library, Shelved};
use callwright_offline::learning::{Gathered, Gathering, Word};
use callwright_offline::{TraceLines, each_trace};
use callwright_store::{Feedback, FeedbackRow, FeedbackVerdict, Procedures, Revision, Store, Traces};
use callwright_types::memory::EvidenceKind;

/// Traces that are read at a time.
const PAGE: u32 = 500;

/// Arguments of `learn procedures`.
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub(in crate::cli) struct Arguments {
    /// JSON Lines: exported traces, one or several on a line. `-` is standard input. Without it: the traces of the configured store.
    #[arg(long, value_name = "FILE")]
    traces: Option<PathBuf>,
    /// You vouch for the turns of --traces: all that they did was right.
    #[arg(long, requires = "traces")]
    vouched: bool,
    /// The configuration file; as for `serve`. What is learned goes into its store.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Tell what would be learned, and keep nothing.
    #[arg(long)]
    dry_run: bool,
}

/// What `--help` says.
const HELP: &str = "\
A turn teaches only where something verifies it: the proxy itself saw the mistake of a call mended, calls came back from the client without a failure, \
an application's verdict says that it was right (in the store), or you vouch for it (--vouched). Traces hold procedures in general terms, without any \
value of theirs, also where policy does not record bodies.

Lines that cannot be used are named on standard error and left out; the status is 1 then.";

/// Why what was learned is not kept.
#[derive(Debug, thiserror::Error)]
#[error(
    "{0} procedures were changed by another process meanwhile, and are kept as those are; run it again to learn them too"
)]
struct Outdated(usize);

pub(super) fn run(arguments: &Arguments) -> VerbResult {
    let runtime = crate::cli::runtime()?;
    runtime.block_on(learn(arguments))
}

async fn learn(arguments: &Arguments) -> VerbResult {
    let MemoryStore { store, settings } = MemoryStore::open(arguments.config.clone()).await?;
    let (known, seen) = all_procedures(store.procedures()).await?;
    let known = known.into_iter().map(|procedure| Shelved { procedure: Arc::new(procedure), vector: None });
    let library = Arc::new(Library::of(known, settings.procedures));
    let mut gathering = Gathering::new(library, settings.learning, Timestamp::now());
    let mut lines = TraceLines::default();
    match &arguments.traces {
        Some(file) => {
            let word = if arguments.vouched { Word::Right(EvidenceKind::Operator) } else { Word::None };
            lines = each_trace(file, &mut |trace| gathering.turn(trace, word), &Progress::new(false))?;
        }
        None => from_store(&store, &mut gathering).await?,
    }
    let (changed, gathered) = gathering.finish();
    let outdated = if arguments.dry_run || changed.is_empty() {
        Vec::new()
    } else {
        Procedures::put(store.procedures(), &changed, seen).await?.outdated
    };
    store.close().await;
    tell(&gathered);
    if !outdated.is_empty() {
        return Err(Outdated(outdated.len()).into());
    }
    match lines {
        TraceLines { problems: 0, .. } => Ok(()),
        TraceLines { problems, lines } => Err(BadLines { problems, lines }.into()),
    }
}

/// Takes in the stored turns that something can be learned from, in their order.
async fn from_store(store: &Store, gathering: &mut Gathering) -> Result<(), callwright_store::StoreError> {
    let mut after: Revision = 0;
    loop {
        let taught = store.taught(after, PAGE).await?;
        for (_, trace) in &taught.traces {
            let given = store.feedback_on(&trace.id).await?;
            let verdicts: Vec<(&FeedbackRow, EvidenceKind)> =
                given.iter().filter_map(|row| Some((row, row.counts_for(trace)?))).collect();
            // Where one says that it was wrong, whatever another says, it teaches nothing.
            let wrong = verdicts.iter().find(|(row, _)| row.verdict == FeedbackVerdict::Wrong);
            let word = match (wrong, verdicts.first()) {
                (Some((row, _)), _) => Word::Wrong(row),
                (None, Some((_, kind))) => Word::Right(*kind),
                (None, None) => Word::None,
            };
            gathering.turn(trace, word);
        }
        if taught.upto <= after {
            return Ok(());
        }
        after = taught.upto;
    }
}

fn tell(gathered: &Gathered) {
    let Gathered { turns, workflows, unverified, new, joined } = gathered;
    anstream::eprintln!(
        "{turns} turns, {workflows} with several calls that fed one another, {unverified} of them not verified"
    );
    anstream::eprintln!("{new} new procedures, {joined} that were known are otherwise now");
}
