//! `callwright learn procedures`: learns procedures from recorded and verified turns.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use jiff::Timestamp;

use crate::cli::errors::{BadLines, VerbResult};
use crate::cli::procedures_import::{all_procedures, outdated_procedures};
use crate::cli::progress::ProgressPrinter;
use crate::cli::setup::{load_config, runtime, with_store};
use callwright_lab::{LinesRead, each_trace};
use callwright_memory::learning::{Gathering, GatheringCounts, TurnJudgement};
use callwright_memory::procedures::{ProcedureStore, StoredProcedure};
use callwright_store::{FeedbackRow, FeedbackVerdict, MAX_PAGE, Procedures, Revision, Store, Traces};
use callwright_types::memory::EvidenceKind;

/// Arguments of `learn procedures`.
#[derive(Debug, Args)]
#[command(after_long_help = HELP)]
pub(in crate::cli) struct LearnProceduresArguments {
    /// JSON Lines: exported traces, one or more per line. `-` is standard input. Default: the traces of the configured
    /// store.
    #[arg(long, value_name = "FILE")]
    traces: Option<PathBuf>,
    /// Confirm that everything in the turns of --traces was right.
    #[arg(long, requires = "traces")]
    vouched: bool,
    /// Configuration file; its store receives the procedures. Default: as for `serve`.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Report what would be learned without storing it.
    #[arg(long)]
    dry_run: bool,
}

/// Help text.
const HELP: &str = "\
A turn teaches only if it is verified: the proxy saw the fault of a call repaired, the client returned results without a failure, \
an application's verdict (in the store) marks it as right, or you confirm it (--vouched). Procedures are learned in general terms, without the \
values of the traces, also where policy does not record bodies.

Invalid lines are reported on standard error and skipped; the exit status is then 1.";

pub(super) fn run(arguments: &LearnProceduresArguments) -> VerbResult {
    runtime()?.block_on(learn(arguments))
}

async fn learn(arguments: &LearnProceduresArguments) -> VerbResult {
    let loaded = load_config(arguments.config.clone())?;
    let settings = loaded.settings.clone();
    let (gathered, outdated, LinesRead { problems, lines, .. }) = with_store(&loaded, async |store| {
        let (known, seen) = all_procedures(store).await?;
        let known = known.into_iter().map(|procedure| StoredProcedure { procedure: Arc::new(procedure), vector: None });
        let library = Arc::new(ProcedureStore::new(known, settings.procedures));
        let mut gathering = Gathering::new(library, settings.learning, Timestamp::now());
        let mut lines = LinesRead::default();
        match &arguments.traces {
            Some(file) => {
                let judgement =
                    if arguments.vouched { TurnJudgement::Right(EvidenceKind::Operator) } else { TurnJudgement::None };
                lines = each_trace(file, &mut |trace| gathering.turn(trace, judgement), &ProgressPrinter::new(false))?;
            }
            None => from_store(store, &mut gathering).await?,
        }
        let (changed, gathered) = gathering.finish();
        let mut outdated = 0;
        if !arguments.dry_run && !changed.is_empty() {
            outdated = Procedures::put(store.procedures(), &changed, seen).await?.outdated.len();
        }
        Ok((gathered, outdated, lines))
    })
    .await?;
    let GatheringCounts { turns, workflows, unverified, new, joined } = gathered;
    anstream::eprintln!("{turns} turns, {workflows} with several connected calls, {unverified} of them not verified");
    anstream::eprintln!("{new} new procedures, {joined} known procedures changed");
    match (outdated, problems) {
        (0, 0) => Ok(()),
        (0, _) => Err(BadLines { problems, lines }.into()),
        _ => Err(outdated_procedures(outdated)),
    }
}

/// Reads the stored turns that can be learned from, in order.
async fn from_store(store: &Store, gathering: &mut Gathering) -> Result<(), callwright_store::StoreError> {
    let mut after: Revision = 0;
    loop {
        let learnable = store.learnable(after, MAX_PAGE).await?;
        for (_, trace) in &learnable.traces {
            let given = store.feedback_on(&trace.id).await?;
            let verdicts: Vec<(&FeedbackRow, EvidenceKind)> =
                given.iter().filter_map(|row| Some((row, row.counts_for(trace)?))).collect();
            // One verdict `wrong` overrides all others.
            let wrong = verdicts.iter().find(|(row, _)| row.verdict == FeedbackVerdict::Wrong);
            let judgement = match (wrong, verdicts.first()) {
                (Some((row, _)), _) => TurnJudgement::Wrong(row),
                (None, Some((_, kind))) => TurnJudgement::Right(*kind),
                (None, None) => TurnJudgement::None,
            };
            gathering.turn(trace, judgement);
        }
        if learnable.upto <= after {
            return Ok(());
        }
        after = learnable.upto;
    }
}
