//! `callwright learn representations`: patterns for tools, from requests whose right tools are known.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use jiff::Timestamp;

use crate::cli::asked_model::ModelArguments;
use crate::cli::embedding::EmbeddingArguments;
use crate::cli::errors::{BadLines, VerbResult};
use crate::cli::progress::Progress;
use crate::config;
use callwright_knowledge::representation::{
    Estimate, ExtractiveProposer, ExtractiveSettings, LearnSettings, LlmProposer, LlmSelector, MemoEmbedder, Model,
    ModelSettings, NoSelection, Prices, Proposer, Selector,
};
use callwright_offline::{LearnFiles, LearnRun, Prepared, Report, Stored, grouped, learn};
use callwright_search::embedding::{self, BuildError, Embedder, built_in};
use callwright_store::{MemoryFilter, Store, StoreError};
use callwright_types::Cost;
use callwright_types::memory::ToolSample;

/// What stands for the scopes of all clients.
const ALL_SCOPES: &str = "all";

/// Arguments of `learn representations`.
#[derive(Debug, Args)]
#[command(after_long_help = LINES)]
pub(super) struct Arguments {
    /// JSON Lines {"name","description","parameters"?}: the tools.
    #[arg(long, value_name = "FILE")]
    tools: PathBuf,
    /// JSON Lines {"query","tools":\[names\]}: requests, and the tools that serve them.
    #[arg(
        long,
        value_name = "FILE",
        required_unless_present_any = ["traces", "from_store"],
        help = "JSON Lines {\"query\",\"tools\":[names]}: requests, and the tools that serve them"
    )]
    train: Option<PathBuf>,
    /// Exported traces: requests whose calls were judged right, executed by the proxy, and taken by the API.
    #[arg(long, value_name = "FILE")]
    traces: Option<PathBuf>,
    /// Learn from the stored samples of this scope too, `key:HASH` or `group:NAME`, and share what is learned by the store: all proxies with it
    /// use it at once. May be given several times. `all`: of every client; phrases of one client's requests may reach others then.
    #[arg(long, value_name = "SCOPE")]
    from_store: Vec<String>,
    /// Folder of representation files; made where there is none. What people wrote or edited in it stays.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// The toolset whose tools these are. Without it: tools that clients send.
    #[arg(long, value_name = "NAME")]
    toolset: Option<String>,
    /// Who proposes patterns: `extractive` makes them of the samples, without any model; `llm` asks one.
    #[arg(long, value_enum, default_value_t = ProposerKind::Extractive)]
    proposer: ProposerKind,
    /// Who chooses among the tools that are found while mistakes are collected: nobody, or a model.
    #[arg(long, value_enum, default_value_t = SelectorKind::None)]
    selector: SelectorKind,
    /// Tools that the selector is shown.
    #[arg(long, value_name = "N", default_value = "5")]
    candidates: NonZeroUsize,
    #[command(flatten)]
    asking: Asking,
    #[command(flatten)]
    embedding: EmbeddingArguments,
    /// Use no vectors: tools will be found by words alone. Without this and without --embedding-model, the built-in vectors are used.
    #[arg(long, conflicts_with = "embedding_model")]
    words_only: bool,
    /// What the samples are parted by, 4 to learn from for 1 to try on.
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
    /// Iterations at most; three without a gain end a run before.
    #[arg(long, value_name = "N", default_value = "10")]
    iterations: NonZeroUsize,
    /// Points of macro-F1 (percent) that a change must bring to be kept.
    #[arg(long, value_name = "POINTS", default_value = "0.01", value_parser = points)]
    threshold: f64,
    #[command(flatten)]
    method: Method,
    /// Go on with a run that was interrupted.
    #[arg(long)]
    resume: bool,
    /// Begin anew, although a run was interrupted.
    #[arg(long, conflicts_with = "resume")]
    restart: bool,
}

/// What can be left out or loosened, to see what it is good for.
#[derive(Debug, Args)]
#[command(next_help_heading = "Comparing variants")]
struct Method {
    /// Share of its sample's words that a case of the proposer `extractive` holds at most. 1: cases are whole samples, which tells whoever reads the file
    /// what users wrote.
    #[arg(long, value_name = "SHARE", default_value_t = ExtractiveSettings::default().case_share, value_parser = share)]
    case_share: f32,
    /// Add no patterns.
    #[arg(long)]
    without_addition: bool,
    /// Edit no patterns, and leave all weights as they are.
    #[arg(long)]
    without_edition: bool,
}

/// How a model is asked, where one is.
#[derive(Debug, Args)]
#[command(next_help_heading = "Asking a model")]
struct Asking {
    #[command(flatten)]
    of: ModelArguments,
    /// Samples that one request shows at most.
    #[arg(long, value_name = "N", default_value_t = ModelSettings::default().samples)]
    samples_per_request: usize,
    /// What a million tokens cost that are sent, to tell what a run will cost and has cost.
    #[arg(long, value_name = "PRICE")]
    prompt_price: Option<f64>,
    /// What a million tokens cost that are answered.
    #[arg(long, value_name = "PRICE")]
    completion_price: Option<f64>,
    /// Only tell what a run would cost at most.
    #[arg(long)]
    estimate: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ProposerKind {
    /// From the samples alone.
    Extractive,
    /// By asking a model.
    Llm,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SelectorKind {
    /// The best tool is taken.
    None,
    /// A model chooses among the best.
    Llm,
}

/// What `--help` says about the files.
const LINES: &str = "\
Lines of --tools: {\"name\", \"description\", \"parameters\"?}. Lines of --train: {\"query\", \"tools\": [names]}. Other members are ignored. \
Traces are as the operator API gives them (see `callwright replay --help`), with bodies. Files may be of any size; gzip is understood; \
`-` is standard input. Lines that cannot be used are named on standard error and left out; the status is 1 then.

In --out are written: the representations, one YAML file that is read and edited by people (docs/representations.md); report.json, which \
`callwright learn report` draws as a page; and, until the run ends, what an interrupted one goes on from with --resume.";

pub(super) fn run(arguments: &Arguments) -> VerbResult {
    let progress = Progress::new(false);
    let files = LearnFiles {
        tools: arguments.tools.clone(),
        train: arguments.train.clone(),
        traces: arguments.traces.clone(),
        out: arguments.out.clone(),
        toolset: arguments.toolset.clone(),
    };
    let model = arguments.model()?;
    let embedder = arguments.embedder()?;
    let runtime = super::super::runtime()?;
    let stored = runtime.block_on(arguments.stored())?;
    let prepared = Prepared::read(&files, stored, &progress)?;
    for note in prepared.notes() {
        anstream::eprintln!("{note}");
    }
    if let Some(model) = &model {
        arguments.tell_estimate(model, &prepared);
        if arguments.asking.estimate {
            return Ok(());
        }
    }
    let begun = Instant::now();
    let run = arguments.run(model, embedder, &prepared)?;
    let report = runtime.block_on(learn(&prepared, run, &progress));
    progress.clear();
    arguments.tell(&report?, &prepared, begun.elapsed());
    if !arguments.from_store.is_empty() {
        runtime.block_on(arguments.share(&prepared))?;
    }
    let problems = prepared.listed.problems + prepared.samples.problems;
    let lines = prepared.listed.lines + prepared.samples.lines;
    if problems == 0 { Ok(()) } else { Err(BadLines { problems, lines }.into()) }
}

/// Points of macro-F1.
fn points(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(points) if (0.0..=100.0).contains(&points) => Ok(points),
        _ => Err("give points of macro-F1, 0 to 100".to_owned()),
    }
}

/// A share of words.
fn share(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(share) if share > 0.0 && share <= 1.0 => Ok(share),
        _ => Err("give a share of words, above 0 and at most 1".to_owned()),
    }
}

/// The vectors that come with the program.
fn vectors_of_our_own() -> Result<Arc<dyn Embedder>, BuildError> {
    built_in(&embedding::Settings::default())
}

impl Arguments {
    /// The model that is asked, where one is.
    fn model(&self) -> Result<Option<Arc<Model>>, Box<dyn std::error::Error + Send + Sync>> {
        let asking = &self.asking;
        if self.proposer != ProposerKind::Llm && self.selector != SelectorKind::Llm {
            return Ok(None);
        }
        let Some(name) = &asking.of.model else {
            return Err("a model is to be asked; name it with --model, as its provider calls it".into());
        };
        let upstream = asking.of.upstream()?;
        let settings = ModelSettings { samples: asking.samples_per_request, ..ModelSettings::default() };
        Ok(Some(Arc::new(Model::new(upstream, name, settings))))
    }

    /// What the store has for the run.
    async fn stored(&self) -> Result<Stored, Box<dyn std::error::Error + Send + Sync>> {
        if self.from_store.is_empty() {
            return Ok(Stored::default());
        }
        let store = self.store().await?;
        let filter = MemoryFilter { toolset: self.toolset.clone(), ..MemoryFilter::default() };
        let representations = crate::cli::representations::all(store.representations(), filter).await;
        let samples = self.samples(&store).await;
        store.close().await;
        Ok(Stored { representations: representations?, samples: samples? })
    }

    async fn samples(&self, store: &Store) -> Result<Vec<ToolSample>, StoreError> {
        let is_wanted = |sample: &ToolSample| {
            self.from_store.iter().any(|scope| scope == ALL_SCOPES || scope == sample.scope.as_str())
        };
        let (mut samples, mut filter) = (Vec::new(), MemoryFilter::default());
        loop {
            let page = store.tool_samples().page(&filter).await?;
            samples.extend(page.items.into_iter().filter(is_wanted));
            filter.after = page.next;
            if filter.after.is_none() {
                return Ok(samples);
            }
        }
    }

    /// Puts what was written into the store, in place of what it had of the toolset.
    async fn share(&self, prepared: &Prepared) -> VerbResult {
        let (shared, gone) = prepared.to_shared(Timestamp::now())?;
        let store = self.store().await?;
        let done = async {
            store.representations().restore(&shared).await?;
            store.representations().remove(&gone).await
        }
        .await;
        store.close().await;
        done?;
        anstream::eprintln!("shared: {} tools; `callwright representations list` shows them", shared.len());
        Ok(())
    }

    async fn store(&self) -> Result<Store, Box<dyn std::error::Error + Send + Sync>> {
        let request = config::Request { file: self.asking.of.config.clone(), ..config::Request::default() };
        let loaded = config::load(&request, &config::process_environment)?;
        Ok(Store::open_beside(&loaded.settings.store, &loaded.base_dir).await?)
    }

    /// What tools will be found by, besides words.
    fn embedder(&self) -> Result<Option<Arc<dyn Embedder>>, BuildError> {
        if self.words_only {
            return Ok(None);
        }
        let embedder = match self.embedding.embedder()? {
            Some(embedder) => embedder,
            None => vectors_of_our_own()?,
        };
        Ok(Some(embedder))
    }

    fn run(
        &self,
        model: Option<Arc<Model>>,
        embedder: Option<Arc<dyn Embedder>>,
        prepared: &Prepared,
    ) -> Result<LearnRun, BuildError> {
        // Learner and proposer ask for the same texts. Vectors of our own are made sooner than remembered.
        let own = vectors_of_our_own()?;
        let embedder = embedder.map(|embedder| match embedder.id() == own.id() {
            true => embedder,
            false => Arc::new(MemoEmbedder::new(embedder)) as Arc<dyn Embedder>,
        });
        let proposer: Arc<dyn Proposer> = match &model {
            Some(model) if self.proposer == ProposerKind::Llm => Arc::new(LlmProposer::new(model.clone())),
            _ => {
                let queries = prepared.samples.samples.iter().map(|sample| sample.query.as_str());
                let settings = ExtractiveSettings {
                    seed: self.seed,
                    case_share: self.method.case_share,
                    ..ExtractiveSettings::default()
                };
                Arc::new(ExtractiveProposer::new(embedder.clone(), own, queries, settings))
            }
        };
        let selector: Arc<dyn Selector> = match &model {
            Some(model) if self.selector == SelectorKind::Llm => {
                Arc::new(LlmSelector::new(model.clone(), self.candidates.get()))
            }
            _ => Arc::new(NoSelection),
        };
        let settings = LearnSettings {
            iterations: self.iterations.get(),
            threshold: self.threshold,
            seed: self.seed,
            add: !self.method.without_addition,
            edit: !self.method.without_edition,
            ..LearnSettings::default()
        };
        Ok(LearnRun { embedder, proposer, selector, model, settings, resume: self.resume, restart: self.restart })
    }

    fn prices(&self) -> Option<Prices> {
        let Asking { prompt_price, completion_price, .. } = self.asking;
        (prompt_price.is_some() || completion_price.is_some()).then(|| Prices {
            prompt: prompt_price.unwrap_or_default(),
            completion: completion_price.unwrap_or_default(),
        })
    }

    /// Says what a run costs at most.
    fn tell_estimate(&self, model: &Model, prepared: &Prepared) {
        let mut estimate = Estimate::default();
        if self.proposer == ProposerKind::Llm {
            let samples = &prepared.samples.samples;
            for tool in &prepared.listed.tools {
                let wanting = samples.iter().filter(|sample| sample.tools.contains(&tool.name));
                let wanting: Vec<&str> = wanting.map(|sample| sample.query.as_str()).collect();
                estimate.count(&tool.name, &tool.description, &wanting, model.settings());
            }
        }
        let cost = estimate.over(self.iterations.get() as u64);
        anstream::eprintln!(
            "at most {} requests to {} for proposals: about {}; most runs need a fraction",
            grouped(cost.requests),
            model.name(),
            self.amount(&cost)
        );
        if self.selector == SelectorKind::Llm {
            let samples = grouped(prepared.samples.samples.len() as u64);
            anstream::eprintln!(
                "besides, one request for each of {samples} samples to begin with, and one for each sample whose best tools a change alters"
            );
        }
    }

    fn amount(&self, cost: &Cost) -> String {
        let tokens =
            format!("{} tokens sent, {} answered", grouped(cost.prompt_tokens), grouped(cost.completion_tokens));
        match self.prices() {
            Some(prices) => format!("{tokens}, {:.2} at these prices", prices.of(cost)),
            None => tokens,
        }
    }

    fn tell(&self, report: &Report, prepared: &Prepared, took: Duration) {
        super::table::print(report);
        if report.cost.requests > 0 {
            anstream::eprintln!("{} requests: {}", grouped(report.cost.requests), self.amount(&report.cost));
        }
        let path = prepared.path.display();
        anstream::eprintln!("written in {:.1} s: {path}; `callwright learn report` draws it", took.as_secs_f64());
    }
}
