//! Inputs and outputs of a learning run.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::report::{REPORT_FILE, Report};
use super::samples::{KnownTools, Samples, beginning};
use crate::OfflineError;
use crate::output::write_whole;
use crate::representation::LearnedClassifier;
use crate::tools::{ListedTools, names};
use callwright_common::progress::ProgressObserver;
use callwright_memory::representation::{
    LearnerRun, MAX_PATTERNS, Ranking, RepresentationFile, StoredPattern, StoredRepresentation, locate_file,
};
use callwright_search::retrieval::ToolText;
use callwright_types::Evidence;
use callwright_types::memory::ToolSample;
use callwright_types::representation::SharedRepresentation;

/// Minimum number of samples: one for training, one for validation.
const MIN_SAMPLES: usize = 2;

/// Files of a run.
#[derive(Debug, Clone)]
pub struct LearnFiles {
    /// Lines `{"name", "description", "parameters"?}`.
    pub tools: PathBuf,
    /// Lines `{"query", "tools"}`.
    pub train: Option<PathBuf>,
    /// Exported traces.
    pub traces: Option<PathBuf>,
    /// Lines like those of `train`, on which the result is measured.
    pub test: Option<PathBuf>,
    /// Folder of the representation files.
    pub out: PathBuf,
    /// Toolset of the tools; `None`: tools defined by clients.
    pub toolset: Option<String>,
}

/// Data from the store for a run.
#[derive(Debug, Clone, Default)]
pub struct StoredInputs {
    /// Requests with their verified tools.
    pub samples: Vec<ToolSample>,
    /// Shared representations of replicas. They take precedence over the file, and their hand-written patterns are
    /// kept.
    pub representations: Vec<SharedRepresentation>,
}

/// Inputs of a run.
#[derive(Debug)]
pub struct LearnInputs {
    pub listed: ListedTools,
    pub samples: Samples,
    /// Samples on which the result is measured.
    pub test: Option<Samples>,
    /// Output path of the representations.
    pub path: PathBuf,
    /// Existing representations.
    pub present: RepresentationFile,
    toolset: Option<String>,
    out: PathBuf,
    stored: StoredInputs,
}

impl LearnInputs {
    /// Reads the files of a run and creates a missing output folder. Unusable lines are reported to the observer and
    /// counted.
    ///
    /// # Errors
    /// [`OfflineError`] if a file cannot be read, there are no tools or too few samples, or the folder's
    /// representations are damaged.
    pub fn read(
        files: &LearnFiles,
        stored: StoredInputs,
        observer: &dyn ProgressObserver,
    ) -> Result<Self, OfflineError> {
        let LearnFiles { tools, train, traces, test, out, toolset } = files;
        std::fs::create_dir_all(out)
            .map_err(|source| OfflineError::Unwritable { file: out.display().to_string(), source })?;
        let (path, present) = locate_file(out, toolset.as_deref()).map_err(OfflineError::Representations)?;
        let listed = ListedTools::read(tools, observer)?;
        let names = listed.tools.iter().map(|tool| tool.name.as_str()).collect();
        let known = KnownTools { tools: names, toolset: toolset.as_deref() };
        let mut samples = match train {
            Some(train) => Samples::read(train, &known, observer)?,
            None => Samples::default(),
        };
        if let Some(traces) = traces {
            samples.add(Samples::read_traces(traces, &known, observer)?);
        }
        let test = match test {
            Some(test) => {
                let mut samples = Samples::read(test, &known, observer)?;
                samples.tidy();
                Some(samples)
            }
            None => None,
        };
        samples.add(Samples::of_stored(&stored.samples, &known));
        samples.tidy();
        if samples.samples.len() < MIN_SAMPLES {
            return Err(OfflineError::TooFewSamples { samples: samples.samples.len(), least: MIN_SAMPLES });
        }
        let (toolset, out) = (toolset.clone(), out.clone());
        let present = with_stored(present, toolset.as_deref(), &stored);
        Ok(Self { listed, samples, test, path, present, toolset, out, stored })
    }

    /// Returns notes for the user about the inputs.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = self.listed.notes();
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for tool in self.samples.samples.iter().flat_map(|sample| &sample.tools) {
            *counts.entry(tool).or_default() += 1;
        }
        let (mut none, mut one) = (Vec::new(), Vec::new());
        for tool in &self.listed.tools {
            match counts.get(tool.name.as_str()) {
                None => none.push(tool.name.as_str()),
                Some(1) => one.push(tool.name.as_str()),
                Some(_) => {}
            }
        }
        if !none.is_empty() {
            notes.push(format!("tools without a sample, about which nothing is learned: {}", names(&none)));
        }
        if !one.is_empty() {
            notes.push(format!("tools with one sample, used for training or validation only: {}", names(&one)));
        }
        if self.samples.unverified > 0 {
            notes.push(format!("{} traces have no verified outcome and are skipped", self.samples.unverified));
        }
        if self.samples.strange > 0 {
            notes.push(format!("{} stored samples name other tools and are skipped", self.samples.strange));
        }
        let missing = self.missing(&self.present);
        if !missing.is_empty() {
            notes.push(format!("hand-written patterns are kept for tools missing in --tools: {}", names(&missing)));
        }
        notes
    }

    /// Returns the hand-written patterns of a tool.
    pub fn kept(&self, tool: &str) -> Vec<&StoredPattern> {
        self.present.tool(tool).map(|stored| stored.kept().collect()).unwrap_or_default()
    }

    /// Returns the representation file of a run. It first has the current hand-written or edited patterns, because
    /// people may edit during a run of several hours. Learned patterns replace earlier learned ones.
    ///
    /// # Errors
    /// [`OfflineError::Representations`] if the file has become damaged.
    pub fn file(
        &self,
        learned_by: LearnerRun,
        ranking: Option<Ranking>,
        learned: &HashMap<String, Vec<StoredPattern>>,
    ) -> Result<RepresentationFile, OfflineError> {
        let (_, present) = locate_file(&self.out, self.toolset()).map_err(OfflineError::Representations)?;
        let present = with_stored(present, self.toolset(), &self.stored);
        let listed = self.listed.tools.iter().map(|tool| tool.name.as_str());
        let tools = listed.chain(self.missing(&present)).map(|tool| {
            let kept = present.tool(tool).into_iter().flat_map(StoredRepresentation::kept).cloned();
            let new = learned.get(tool).into_iter().flatten().cloned();
            let mut patterns: Vec<StoredPattern> = kept.collect();
            for stored in new {
                // Two proposals may be equal; one is enough.
                if !patterns.iter().any(|other| is_same_pattern(other, &stored)) {
                    patterns.push(stored);
                }
            }
            patterns.truncate(MAX_PATTERNS);
            StoredRepresentation { tool: tool.to_owned(), patterns }
        });
        let tools = tools.filter(|stored| !stored.patterns.is_empty()).collect();
        Ok(RepresentationFile {
            toolset: self.toolset.clone(),
            learned: Some(learned_by),
            ranking,
            classifier: None,
            tools,
        })
    }

    /// Writes the report only: nothing was learned, and the representations stay as they are.
    ///
    /// # Errors
    /// [`OfflineError`] if it cannot be written.
    pub fn write_report(&self, report: &Report) -> Result<(), OfflineError> {
        write_whole(&self.out.join(REPORT_FILE), report.to_text().as_bytes())
    }

    /// Writes the representations, the classifier and the report, each atomically.
    ///
    /// # Errors
    /// [`OfflineError`] if one of them cannot be written.
    pub fn write(
        &self,
        mut file: RepresentationFile,
        classifier: Option<&LearnedClassifier>,
        report: &Report,
    ) -> Result<(), OfflineError> {
        let classifier = classifier.map(|learned| (&learned.model, learned.weights));
        file.write_with(&self.path, classifier).map_err(OfflineError::Representations)?;
        self.write_report(report)
    }

    /// Returns the written file as shared representations, and the ids of obsolete shared ones of the same toolset.
    ///
    /// # Errors
    /// [`OfflineError::Representations`] if the file cannot be read.
    pub fn to_shared(&self, now: Timestamp) -> Result<(Vec<SharedRepresentation>, Vec<String>), OfflineError> {
        let file = RepresentationFile::read(&self.path).map_err(OfflineError::Representations)?;
        let mut shared = file.to_shared(|tool| self.evidence_of(tool), now).map_err(OfflineError::Representations)?;
        let evidence = self.stored.samples.iter().flat_map(|sample| sample.evidence.iter().cloned()).collect();
        let classifier = file.classifier_to_shared(&self.path, evidence, now);
        shared.extend(classifier.map_err(OfflineError::Representations)?);
        let before = self.stored.representations.iter().filter(|before| before.toolset == self.toolset);
        let missing = before.map(|before| &before.id).filter(|id| shared.iter().all(|new| new.id != **id));
        let missing = missing.cloned().collect();
        Ok((shared, missing))
    }

    /// Returns the evidence of the stored samples that a tool serves.
    fn evidence_of(&self, tool: &str) -> Vec<Evidence> {
        let of_tool = self.stored.samples.iter().filter(|sample| sample.tools.iter().any(|name| name == tool));
        of_tool.flat_map(|sample| sample.evidence.iter().cloned()).collect()
    }

    /// Returns the search texts of the tools, with their hand-written patterns.
    pub fn texts(&self) -> Vec<ToolText> {
        let texts = self.listed.tools.iter().map(|tool| ToolText {
            name: tool.name.clone(),
            description: beginning(&tool.description).to_owned(),
            parameters: beginning(&tool.parameters_text()).to_owned(),
            tags: String::new(),
            patterns: self.kept(&tool.name).into_iter().map(|stored| stored.pattern.clone()).collect(),
        });
        texts.collect()
    }

    /// Returns the toolset of the tools.
    pub fn toolset(&self) -> Option<&str> {
        self.toolset.as_deref()
    }

    /// Returns the output folder.
    pub fn folder(&self) -> &Path {
        &self.out
    }

    /// Returns the tools of the file that are not listed but have hand-written patterns.
    fn missing<'a>(&self, present: &'a RepresentationFile) -> Vec<&'a str> {
        let listed: HashSet<&str> = self.listed.tools.iter().map(|tool| tool.name.as_str()).collect();
        let stored = present.tools.iter().filter(|stored| stored.kept().next().is_some());
        stored.map(|stored| stored.tool.as_str()).filter(|tool| !listed.contains(tool)).collect()
    }
}

/// Merges the file with the shared representations, which take precedence.
fn with_stored(file: Option<RepresentationFile>, toolset: Option<&str>, stored: &StoredInputs) -> RepresentationFile {
    let file = file
        .unwrap_or_else(|| RepresentationFile { toolset: toolset.map(str::to_owned), ..RepresentationFile::default() });
    file.with_shared(&stored.representations)
}

fn is_same_pattern(one: &StoredPattern, other: &StoredPattern) -> bool {
    one.pattern.description == other.pattern.description && one.pattern.cases == other.pattern.cases
}
