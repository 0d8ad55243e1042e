//! `callwright learn representations`: learns tool patterns from requests whose right tools are known.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use jiff::Timestamp;

use crate::cli::errors::{BadLines, NothingLearned, VerbError, VerbResult};
use crate::cli::progress::ProgressPrinter;
use crate::cli::setup::{all_items, load_config, runtime, threads, with_store};
use crate::cli::shared_arguments::{EmbeddingArguments, ModelArguments};
use crate::config::ConfigError;
use crate::keys::PriceSettings;
use callwright_lab::representation::{
    CachingEmbedder, Estimate, ExtractiveProposer, ExtractiveSettings, LearnSettings, LearnerModel, LlmProposer,
    LlmSelector, ModelSettings, Proposer,
};
use callwright_lab::{LearnFiles, LearnInputs, LearnRun, Report, StoredInputs, grouped, learn};
use callwright_search::embedding::{self, BuildError, Embedder, built_in};
use callwright_store::MemoryFilter;
use callwright_types::Cost;
use callwright_types::memory::ToolSample;

/// Arguments of `learn representations`.
#[derive(Debug, Args)]
#[command(after_long_help = LINES)]
pub(in crate::cli) struct LearnRepresentationsArguments {
    /// JSON Lines {"name","description","parameters"?}: the tools.
    #[arg(long, value_name = "FILE")]
    tools: PathBuf,
    /// JSON Lines {"query","tools":\[names\]}: requests with the tools that serve them.
    #[arg(
        long,
        value_name = "FILE",
        required_unless_present_any = ["traces", "from_store"],
        help = "JSON Lines {\"query\",\"tools\":[names]}: requests with the tools that serve them"
    )]
    train: Option<PathBuf>,
    /// Exported traces: requests whose calls were judged valid, executed by the proxy, and accepted by the API.
    #[arg(long, value_name = "FILE")]
    traces: Option<PathBuf>,
    /// JSON Lines like --train: requests that are not learned from. The result is measured on them.
    #[arg(long, value_name = "FILE")]
    test: Option<PathBuf>,
    /// Also learn from the stored samples of this scope, `key:HASH` or `group:NAME`, and share the result through the
    /// store: all proxies that use it apply it at once. May be given several times. `all`: every client; phrases of one
    /// client's requests may then reach others.
    #[arg(long, value_name = "SCOPE")]
    from_store: Vec<String>,
    /// Folder of representation files; created if it does not exist. Patterns that people wrote or edited are kept.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Toolset of the tools. Default: tools that clients send.
    #[arg(long, value_name = "NAME")]
    toolset: Option<String>,
    /// Proposer of patterns: `extractive` derives them from the samples without a model; `llm` queries a model.
    #[arg(long, value_enum, default_value_t = ProposerKind::Extractive)]
    proposer: ProposerKind,
    /// Selector among the retrieved tools while mistakes are collected: none, or a model.
    #[arg(long, value_enum, default_value_t = SelectorKind::None)]
    selector: SelectorKind,
    /// Number of tools shown to the selector.
    #[arg(long, value_name = "N", default_value = "5")]
    candidates: NonZeroUsize,
    #[command(flatten)]
    asking: ModelQueryOptions,
    #[command(flatten)]
    embedding: EmbeddingArguments,
    /// Seed of the split of the samples: 4 parts for training, 1 for validation.
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
    /// Maximum number of iterations; a run ends early after three without a gain.
    #[arg(long, value_name = "N", default_value = "10")]
    iterations: NonZeroUsize,
    /// Minimum gain of a change to be kept, in points of macro-F1 (percent).
    #[arg(long, value_name = "POINTS", default_value = "0.01", value_parser = points)]
    threshold: f64,
    /// Number of threads of the classifier, and of concurrent requests to the model. Default: one per core, and four
    /// requests.
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    #[command(flatten)]
    method: MethodOptions,
}

/// Options that disable or relax parts of the method, for comparison.
#[derive(Debug, Args)]
#[command(next_help_heading = "Comparing variants")]
struct MethodOptions {
    /// Maximum share of its sample's words in a case of the proposer `extractive`. 1: cases are whole samples, which
    /// shows users' texts to every reader of the file.
    #[arg(long, value_name = "SHARE", default_value_t = ExtractiveSettings::default().case_share, value_parser = share)]
    case_share: f32,
    /// Parts of the method to leave out; separate several with commas.
    #[arg(long, value_enum, value_name = "PARTS", value_delimiter = ',')]
    without: Vec<MethodPart>,
}

/// Part of the method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MethodPart {
    /// New patterns.
    Addition,
    /// Changes of patterns and weights.
    Edition,
    /// The classifier beside the patterns.
    Classifier,
}

/// Queries to a model, where one is used.
#[derive(Debug, Args)]
#[command(next_help_heading = "Model queries")]
struct ModelQueryOptions {
    #[command(flatten)]
    of: ModelArguments,
    /// Only report the maximum cost of a run, in money too if the configuration has the model's `[prices]`.
    #[arg(long)]
    estimate: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ProposerKind {
    /// Uses the samples only.
    Extractive,
    /// Queries a model.
    Llm,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SelectorKind {
    /// Takes the best tool.
    None,
    /// A model chooses among the best tools.
    Llm,
}

/// Help text about the file formats.
const LINES: &str = "\
Lines of --tools: {\"name\", \"description\", \"parameters\"?}. Lines of --train and --test: {\"query\", \"tools\": [names]}; [] is a request that no tool serves. Other members are ignored. \
Traces are as the operator API returns them (see `callwright replay --help`), with bodies. Files may have any size; gzip is accepted; \
`-` is standard input. Invalid lines are reported on standard error and skipped; the exit status is then 1.

Exit status 3: nothing was learned, and the representations are unchanged.

Files in --out: the representations, one editable YAML file, and the classifier beside it (docs/representations.md); report.json, \
the scores of all tools; and, until the run ends, the answers of the model: the same command continues an interrupted run and repeats no \
answered request.";

pub(super) fn run(arguments: &LearnRepresentationsArguments) -> VerbResult {
    let progress = ProgressPrinter::new(false);
    let files = LearnFiles {
        tools: arguments.tools.clone(),
        train: arguments.train.clone(),
        traces: arguments.traces.clone(),
        test: arguments.test.clone(),
        out: arguments.out.clone(),
        toolset: arguments.toolset.clone(),
    };
    let model = arguments.model()?;
    let price = arguments.price()?;
    let embedder = arguments.embedding.embedder(arguments.asking.of.config.as_ref())?;
    let runtime = runtime()?;
    let stored = runtime.block_on(arguments.stored())?;
    let prepared = LearnInputs::read(&files, stored, &progress)?;
    for note in prepared.notes() {
        anstream::eprintln!("{note}");
    }
    if let Some(model) = &model {
        arguments.print_estimate(model, &prepared, price);
        if arguments.asking.estimate {
            return Ok(());
        }
    }
    let begun = Instant::now();
    let run = arguments.run(model, embedder, &prepared)?;
    let report = runtime.block_on(learn(&prepared, run, &progress));
    progress.clear();
    let report = report?;
    print(&report, price, &prepared, begun.elapsed());
    if !arguments.from_store.is_empty() && !report.has_learned_nothing() {
        runtime.block_on(arguments.share(&prepared))?;
    }
    let (mut problems, mut lines) = (prepared.listed.problems, prepared.listed.lines);
    for samples in [Some(&prepared.samples), prepared.test.as_ref()].into_iter().flatten() {
        problems += samples.problems;
        lines += samples.lines;
    }
    if report.has_learned_nothing() {
        return Err(NothingLearned.into());
    }
    if problems == 0 { Ok(()) } else { Err(BadLines { problems, lines }.into()) }
}

/// Parses points of macro-F1.
fn points(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(points) if (0.0..=100.0).contains(&points) => Ok(points),
        _ => Err("expected points of macro-F1, from 0 to 100".to_owned()),
    }
}

/// Parses a share of words.
fn share(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(share) if share > 0.0 && share <= 1.0 => Ok(share),
        _ => Err("expected a share of words, above 0 and at most 1".to_owned()),
    }
}

impl LearnRepresentationsArguments {
    /// Builds the client of the model, if one is used.
    fn model(&self) -> Result<Option<Arc<LearnerModel>>, VerbError> {
        let asking = &self.asking;
        if self.proposer != ProposerKind::Llm && self.selector != SelectorKind::Llm {
            return Ok(None);
        }
        let Some(name) = &asking.of.model else {
            return Err("no model is given; name it with --model, as its provider spells it".into());
        };
        let model = Arc::new(asking.of.text_model(name)?);
        Ok(Some(Arc::new(LearnerModel::new(model, name, ModelSettings::default()))))
    }

    /// Returns the prices of the model, if the configuration has them.
    fn price(&self) -> Result<Option<PriceSettings>, ConfigError> {
        let Some(name) = &self.asking.of.model else { return Ok(None) };
        Ok(load_config(self.asking.of.config.clone())?.settings.prices.get(name).copied())
    }

    /// Reads the stored representations and samples for the run.
    async fn stored(&self) -> Result<StoredInputs, VerbError> {
        if self.from_store.is_empty() {
            return Ok(StoredInputs::default());
        }
        let is_named = |scope: &str| self.from_store.iter().any(|named| named == "all" || named == scope);
        with_store(&load_config(self.asking.of.config.clone())?, async |store| {
            let filter = MemoryFilter { toolset: self.toolset.clone(), ..MemoryFilter::default() };
            let representations = all_items(store.representations(), filter).await?;
            let mut samples: Vec<ToolSample> = all_items(store.tool_samples(), MemoryFilter::default()).await?;
            samples.retain(|sample| is_named(sample.scope.as_str()));
            Ok(StoredInputs { representations, samples })
        })
        .await
    }

    /// Replaces the toolset's representations in the store with the learned ones.
    async fn share(&self, prepared: &LearnInputs) -> VerbResult {
        let (shared, gone) = prepared.to_shared(Timestamp::now())?;
        with_store(&load_config(self.asking.of.config.clone())?, async |store| {
            store.representations().restore(&shared).await?;
            Ok(store.representations().remove(&gone).await?)
        })
        .await?;
        anstream::eprintln!("shared {} tools; list them with `callwright representations list`", shared.len());
        Ok(())
    }

    fn run(
        &self,
        model: Option<Arc<LearnerModel>>,
        embedder: Option<Arc<dyn Embedder>>,
        prepared: &LearnInputs,
    ) -> Result<LearnRun, BuildError> {
        // Learner and proposer embed the same texts. Built-in vectors are cheaper to compute than to cache.
        let own = built_in(&embedding::Settings::default())?;
        let embedder = embedder.map(|embedder| match embedder.id() == own.id() {
            true => embedder,
            false => Arc::new(CachingEmbedder::new(embedder)) as Arc<dyn Embedder>,
        });
        let proposer: Arc<dyn Proposer> = match &model {
            Some(model) if self.proposer == ProposerKind::Llm => Arc::new(LlmProposer::new(model.clone())),
            _ => {
                let queries = prepared.samples.samples.iter().map(|sample| sample.query.as_str());
                let (seed, case_share) = (self.seed, self.method.case_share);
                let settings = ExtractiveSettings { seed, case_share, ..ExtractiveSettings::default() };
                Arc::new(ExtractiveProposer::new(embedder.clone(), own, queries, settings))
            }
        };
        let selector = model.clone().filter(|_| self.selector == SelectorKind::Llm);
        let selector = selector.map(|model| Arc::new(LlmSelector::new(model, self.candidates.get())));
        let has = |part| !self.method.without.contains(&part);
        let settings = LearnSettings {
            iterations: self.iterations.get(),
            threshold: self.threshold,
            seed: self.seed,
            add: has(MethodPart::Addition),
            edit: has(MethodPart::Edition),
            classify: has(MethodPart::Classifier),
            jobs: threads(self.jobs),
            parallel: self.jobs.map_or(LearnSettings::default().parallel, NonZeroUsize::get),
            ..LearnSettings::default()
        };
        Ok(LearnRun { embedder, proposer, selector, model, settings })
    }

    /// Prints the maximum cost of a run.
    fn print_estimate(&self, model: &LearnerModel, prepared: &LearnInputs, price: Option<PriceSettings>) {
        let mut estimate = Estimate::default();
        if self.proposer == ProposerKind::Llm {
            let samples = &prepared.samples.samples;
            for tool in &prepared.listed.tools {
                let wanting = samples.iter().filter(|sample| sample.tools.contains(&tool.name));
                let wanting: Vec<&str> = wanting.map(|sample| sample.query.as_str()).collect();
                estimate.add_tool(&tool.name, &tool.description, &wanting, &model.settings);
            }
        }
        let cost = estimate.for_iterations(self.iterations.get() as u64);
        anstream::eprintln!(
            "at most {} requests to {} for proposals: about {}; most runs need a fraction",
            grouped(cost.requests),
            model.name(),
            amount(&cost, price)
        );
        if self.selector == SelectorKind::Llm {
            let queries = prepared.samples.samples.iter().map(|sample| sample.query.as_str());
            let descriptions = prepared.listed.tools.iter().map(|tool| tool.description.as_str());
            let cost = Estimate::selections(queries, descriptions, self.candidates.get(), &model.settings);
            anstream::eprintln!(
                "in addition, at most {} requests for selections at first: about {}; then one or two for each sample \
                 whose best tools change, for every change that is tried",
                grouped(cost.requests),
                amount(&cost, price)
            );
        }
    }
}

fn amount(cost: &Cost, price: Option<PriceSettings>) -> String {
    let tokens =
        format!("{} prompt tokens, {} completion tokens", grouped(cost.prompt_tokens), grouped(cost.completion_tokens));
    let Some(PriceSettings { prompt, completion, .. }) = price else { return tokens };
    let sum = cost.prompt_tokens as f64 * prompt + cost.completion_tokens as f64 * completion;
    format!("{tokens}, {:.2} at the configured prices", sum / 1e6)
}

fn print(report: &Report, price: Option<PriceSettings>, prepared: &LearnInputs, took: Duration) {
    super::outcome::print(report);
    if report.cost.requests > 0 {
        anstream::eprintln!("{} requests: {}", grouped(report.cost.requests), amount(&report.cost, price));
    }
    if report.has_learned_nothing() {
        return;
    }
    anstream::eprintln!("wrote {} in {:.1} s", prepared.path.display(), took.as_secs_f64());
}
