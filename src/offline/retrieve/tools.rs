//! The tools that are ranked.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use super::record::unreadable;
use super::{RetrieveJob, RetrieveSummary};
use crate::offline::input::Input;
use crate::offline::lines::Lines;
use crate::offline::questions::MAX_QUOTED;
use crate::offline::{OfflineError, Watcher};
use crate::representation::Representations;
use crate::retrieval::{FieldWeights, Fusion, ToolIndex, ToolSegment, ToolText, embed_tools, parameters_text};
use crate::scanner::excerpt::excerpt;

/// The tools of a file, indexed.
#[derive(Debug)]
pub(super) struct Tools {
    texts: Vec<ToolText>,
    index: ToolIndex,
}

/// The members of a line that count; others are ignored.
#[derive(Deserialize)]
struct Line {
    name: Option<String>,
    description: Option<String>,
    parameters: Option<Value>,
}

impl Tools {
    /// Reads the tools, and what was learned of them, and indexes both. Lines that cannot be used are told to the watcher and counted.
    ///
    /// # Errors
    /// [`OfflineError`]: a file that cannot be read, no tool in it, or an embedder that fails.
    pub(super) async fn read(
        job: &RetrieveJob,
        watcher: &dyn Watcher,
        summary: &mut RetrieveSummary,
    ) -> Result<Self, OfflineError> {
        let learned = match &job.representations {
            Some(directory) => Representations::of_directory(directory).map_err(OfflineError::Representations)?,
            None => Representations::default(),
        };
        let mut texts = read_texts(job, watcher, summary)?;
        for text in &mut texts {
            if let Some(representation) = learned.of_client_tool(&text.name) {
                text.patterns = representation.patterns.clone();
                summary.learned += 1;
            }
        }
        summary.tools = texts.len() as u64;
        let vectors = match &job.embedder {
            Some(embedder) => Some(embed_tools(&**embedder, &texts).await.map_err(OfflineError::Unembedded)?),
            None => None,
        };
        let segment = ToolSegment::build(&texts, vectors.as_deref(), &FieldWeights::default());
        let ranking = learned.ranking(None);
        let fusion = ranking
            .map_or_else(Fusion::default, |ranking| Fusion { sharpness: ranking.sharpness, words: ranking.words });
        Ok(Self { texts, index: ToolIndex::new([Arc::new(segment)], fusion) })
    }

    pub(super) fn index(&self) -> &ToolIndex {
        &self.index
    }

    /// The name of the tool at a position.
    pub(super) fn name(&self, position: usize) -> Option<&str> {
        self.texts.get(position).map(|text| text.name.as_str())
    }

    /// What a pattern of the tool at a position says in general.
    pub(super) fn pattern(&self, position: usize, pattern: usize) -> Option<&str> {
        self.texts.get(position)?.patterns.get(pattern).map(|pattern| pattern.description.as_str())
    }
}

fn read_texts(
    job: &RetrieveJob,
    watcher: &dyn Watcher,
    summary: &mut RetrieveSummary,
) -> Result<Vec<ToolText>, OfflineError> {
    let mut lines = Lines::of(Input::open(&job.tools)?);
    let file = lines.name().to_owned();
    let (mut texts, mut names) = (Vec::new(), HashMap::new());
    while let Some(line) = lines.next_line()? {
        let read = line.text.as_deref().map_err(Clone::clone).and_then(text_of);
        match read.and_then(|text| note(&mut names, &text.name, line.number).map(|()| text)) {
            Ok(text) => texts.push(text),
            Err(message) => {
                summary.problems += 1;
                watcher.problem(&line.problem(&file, message));
            }
        }
    }
    if texts.is_empty() { Err(OfflineError::NoTools { file }) } else { Ok(texts) }
}

fn text_of(line: &str) -> Result<ToolText, String> {
    let members = "`name`, `description` and, if it has any, `parameters`";
    let Line { name, description, parameters } =
        serde_json::from_str(line).map_err(|error| unreadable(&error, "no tool", members))?;
    let name = name.filter(|name| !name.trim().is_empty());
    Ok(ToolText {
        name: name.ok_or("there is no `name`; give each tool the name by which rankings call it")?,
        description: description.unwrap_or_default(),
        parameters: parameters.as_ref().map(parameters_text).unwrap_or_default(),
        ..ToolText::default()
    })
}

/// Notes where a name stands; each may stand once, or rankings would not say which tool they mean.
fn note(names: &mut HashMap<String, u64>, name: &str, number: u64) -> Result<(), String> {
    match names.entry(name.to_owned()) {
        Entry::Vacant(entry) => {
            entry.insert(number);
            Ok(())
        }
        Entry::Occupied(entry) => Err(format!(
            "the name `{}` stands on line {} already, which counts; give each tool a name of its own",
            excerpt(name, MAX_QUOTED),
            entry.get()
        )),
    }
}
