//! Active representations of all tools.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::file::{Ranking, RepresentationError, RepresentationFile, folder, read_classifier, shared_classifier};
use callwright_common::limits::LISTED;
use callwright_common::text::nearest;
use callwright_common::watch::{FolderDigest, FolderFile, digest};
use callwright_search::retrieval::ToolClassifier;
use callwright_types::representation::{Representation, SharedRepresentation};

/// Content of a directory of representation files. Immutable; a reload creates a new set.
#[derive(Debug, Default)]
pub struct Representations {
    /// Entries by toolset; `None` is for tools that clients send.
    by_toolset: BTreeMap<Option<String>, FileRepresentations>,
    pub(super) source_digest: FolderDigest,
}

#[derive(Debug, Clone)]
struct FileRepresentations {
    path: PathBuf,
    ranking: Option<Ranking>,
    classifier: Option<Arc<ToolClassifier>>,
    tools: HashMap<String, Arc<Representation>>,
}

impl FileRepresentations {
    /// Creates the entry of a toolset that has no file.
    fn without_file() -> Self {
        Self { path: PathBuf::from(STORE), ranking: None, classifier: None, tools: HashMap::new() }
    }
}

/// Path of representations that are in no file, for messages.
const STORE: &str = "the store";

impl Representations {
    /// Loads the directory of the settings; a relative path is resolved against `base_dir`. Without a directory, the
    /// set is empty.
    ///
    /// # Errors
    /// [`RepresentationError`]: a file cannot be read or is invalid, or two files are for the same toolset.
    pub fn load(settings: &Settings, base_dir: &Path) -> Result<Self, RepresentationError> {
        match directory(settings, base_dir) {
            Some(directory) => Self::from_directory(&directory),
            None => Ok(Self::default()),
        }
    }

    /// Loads a given directory.
    ///
    /// # Errors
    /// The same as [`Representations::load`].
    pub fn from_directory(directory: &Path) -> Result<Self, RepresentationError> {
        Self::from_files(&folder(directory).read()?)
    }

    pub(super) fn from_files(files: &[FolderFile]) -> Result<Self, RepresentationError> {
        let mut by_toolset: BTreeMap<Option<String>, FileRepresentations> = BTreeMap::new();
        for file in files {
            let RepresentationFile { toolset, ranking, classifier, tools, .. } = RepresentationFile::parse(file)?;
            let classifier = match classifier {
                Some(stored) => Some(Arc::new(read_classifier(&file.path, &stored)?)),
                None => None,
            };
            let tools = tools.iter().filter(|stored| !stored.patterns.is_empty());
            let tools = tools.map(|stored| (stored.tool.clone(), Arc::new(stored.representation()))).collect();
            let entry = FileRepresentations { path: file.path.clone(), ranking, classifier, tools };
            if let Some(first) = by_toolset.get(&toolset) {
                let (first, second) = (first.path.clone(), entry.path);
                return Err(RepresentationError::Duplicate { toolset, first, second });
            }
            by_toolset.insert(toolset, entry);
        }
        Ok(Self { by_toolset, source_digest: digest(files) })
    }

    /// Overrides the files with the representations that replicas share. Also returns a message for each invalid one.
    /// The latest of several rankings of a toolset is used.
    pub fn with_shared(&self, shared: &[SharedRepresentation]) -> (Self, Vec<String>) {
        let mut by_toolset = self.by_toolset.clone();
        let mut problems = Vec::new();
        let mut oldest_first: Vec<&SharedRepresentation> = shared.iter().collect();
        oldest_first.sort_by_key(|shared| shared.updated_at);
        for shared in oldest_first {
            match shared_classifier(shared) {
                Some(Ok(classifier)) => {
                    let entry =
                        by_toolset.entry(shared.toolset.clone()).or_insert_with(FileRepresentations::without_file);
                    entry.classifier = Some(Arc::new(classifier));
                    continue;
                }
                Some(Err(error)) => {
                    problems.push(format!("the classifier {}: {error}", shared.id));
                    continue;
                }
                None => {}
            }
            let RepresentationFile { toolset, ranking, tools, .. } = match RepresentationFile::from_shared(shared) {
                Ok(file) => file,
                Err(error) => {
                    problems.push(format!("`{}` of {}: {error}", shared.tool, shared.id));
                    continue;
                }
            };
            let entry = by_toolset.entry(toolset).or_insert_with(FileRepresentations::without_file);
            entry.ranking = ranking.or(entry.ranking);
            for stored in tools {
                if stored.patterns.is_empty() {
                    entry.tools.remove(&stored.tool);
                } else {
                    entry.tools.insert(stored.tool.clone(), Arc::new(stored.representation()));
                }
            }
        }
        (Self { by_toolset, source_digest: self.source_digest }, problems)
    }

    /// Returns the representation of a tool of a toolset.
    pub fn of_tool(&self, toolset: &str, tool: &str) -> Option<&Arc<Representation>> {
        self.by_toolset.get(&Some(toolset.to_owned()))?.tools.get(tool)
    }

    /// Returns the representation of a tool that clients send under this name.
    pub fn of_client_tool(&self, tool: &str) -> Option<&Arc<Representation>> {
        self.by_toolset.get(&None)?.tools.get(tool)
    }

    /// Returns the learned ranking of a toolset; `None` is for tools that clients send.
    pub fn ranking(&self, toolset: Option<&str>) -> Option<Ranking> {
        self.by_toolset.get(&toolset.map(str::to_owned))?.ranking
    }

    /// Returns the classifier of a toolset's requests; `None` is for tools that clients send.
    pub fn classifier(&self, toolset: Option<&str>) -> Option<&Arc<ToolClassifier>> {
        self.by_toolset.get(&toolset.map(str::to_owned))?.classifier.as_ref()
    }

    /// Returns the number of tools with a representation.
    pub fn tools(&self) -> usize {
        self.by_toolset.values().map(|entry| entry.tools.len()).sum()
    }

    /// Returns messages for names that match no toolset or tool, because the document changed or a name is misspelt.
    /// `tools_of` returns the names of a toolset's tools; `None` if the toolset does not exist.
    pub fn unknown_names<'c>(&self, toolsets: &[&str], tools_of: impl Fn(&str) -> Option<Vec<&'c str>>) -> Vec<String> {
        let mut messages = Vec::new();
        for (toolset, entry) in &self.by_toolset {
            let Some(toolset) = toolset else { continue };
            let path = entry.path.display();
            let Some(names) = tools_of(toolset) else {
                messages.push(format!("{path}: there is no toolset `{toolset}`{}", hint(toolset, toolsets)));
                continue;
            };
            let mut unknown: Vec<&str> =
                entry.tools.keys().map(String::as_str).filter(|tool| !names.contains(tool)).collect();
            unknown.sort_unstable();
            let named = unknown.iter().take(LISTED);
            messages.extend(
                named.map(|tool| format!("{path}: the toolset `{toolset}` has no tool `{tool}`{}", hint(tool, &names))),
            );
            if let Some(more) = unknown.len().checked_sub(LISTED).filter(|more| *more > 0) {
                messages.push(format!("{path}: the toolset `{toolset}` lacks {more} further tools of this file"));
            }
        }
        messages
    }
}

fn hint(name: &str, names: &[&str]) -> String {
    nearest(name, names.iter().copied()).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
}

/// Returns the absolute directory of the settings, if there is one.
pub(super) fn directory(settings: &Settings, base_dir: &Path) -> Option<PathBuf> {
    let directory = (!settings.directory.is_empty()).then(|| base_dir.join(&settings.directory))?;
    Some(std::path::absolute(&directory).unwrap_or(directory))
}

/// Source of the representations and their budget in prompts (`[representations]`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Directory of `*.yaml` and `*.yml` files, one per toolset (relative to the configuration file's directory).
    /// Empty: none.
    pub directory: String,
    /// Maximum size of a tool's description with its patterns, in estimated tokens of four bytes. The tool's own
    /// description is never truncated. 0: models get no patterns, and only the ranking uses them.
    pub description_tokens: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { directory: String::new(), description_tokens: 256 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(files: &[(&str, &str)]) -> Result<Representations, RepresentationError> {
        let file = |(path, text): &(&str, &str)| FolderFile { path: PathBuf::from(path), text: (*text).to_owned() };
        Representations::from_files(&files.iter().map(file).collect::<Vec<_>>())
    }

    fn tool(name: &str, description: &str) -> String {
        format!("- tool: {name}\n  patterns:\n  - description: {description}\n")
    }

    #[test]
    fn representations_are_found_by_toolset_and_for_clients_by_name() {
        let bank = format!("toolset: bank\nranking: {{sharpness: 8, words: 0.1}}\ntools:\n{}", tool("pay", "Paying."));
        let own = format!("tools:\n{}- tool: empty\n", tool("pay", "Paying by the client."));
        let set = set(&[("bank.yaml", &bank), ("own.yaml", &own)]).unwrap();
        let text = |found: Option<&Arc<Representation>>| found.map(|found| found.patterns[0].description.clone());
        assert_eq!(text(set.of_tool("bank", "pay")).as_deref(), Some("Paying."));
        assert_eq!(text(set.of_client_tool("pay")).as_deref(), Some("Paying by the client."));
        assert!(set.of_tool("shop", "pay").is_none() && set.of_tool("bank", "buy").is_none());
        assert!(set.of_client_tool("empty").is_none(), "a tool without patterns has no representation");
        assert_eq!(set.ranking(Some("bank")), Some(Ranking { sharpness: 8.0, words: 0.1 }));
        assert_eq!((set.ranking(None), set.tools()), (None, 2));
    }

    #[test]
    fn shared_classifier_takes_precedence_and_can_be_removed() {
        use callwright_search::retrieval::{ClassifierModel, ClassifierWeights};

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bank.yaml");
        let weights = |weight| ClassifierWeights { weight, scale: 0.5, no_tool: None };
        let mut file = RepresentationFile { toolset: Some("bank".to_owned()), ..RepresentationFile::default() };
        file.write_with(&path, Some((&ClassifierModel::default(), weights(2.0)))).unwrap();
        let shared = file.classifier_to_shared(&path, Vec::new(), jiff::Timestamp::UNIX_EPOCH).unwrap().unwrap();
        file.write_with(&path, Some((&ClassifierModel::default(), weights(1.0)))).unwrap();
        let set = Representations::from_directory(folder.path()).unwrap();
        let weight = |set: &Representations| set.classifier(Some("bank")).unwrap().weights().weight;
        let again: SharedRepresentation = serde_json::from_str(&serde_json::to_string(&shared).unwrap()).unwrap();
        let (merged, problems) = set.with_shared(std::slice::from_ref(&again));
        assert_eq!((weight(&merged), problems.as_slice(), merged.tools()), (2.0, &[][..], 0));
        assert_eq!(weight(&set.with_shared(&[]).0), 1.0, "without it, the file's classifier applies");
        let (alone, _) = Representations::default().with_shared(&[again]);
        assert_eq!(weight(&alone), 2.0, "a replica without files has it too");
        let mut broken = shared.clone();
        broken.classifier.as_mut().unwrap().text.push(' ');
        let (kept, problems) = set.with_shared(&[broken]);
        assert_eq!(weight(&kept), 1.0);
        assert!(problems[0].contains("was changed; share it again"), "{problems:?}");
        let mut wrong = shared;
        wrong.classifier.as_mut().unwrap().reference["weight"] = (-1.0).into();
        assert!(set.with_shared(&[wrong]).1[0].contains("weight"));
        assert!(file.tools.is_empty() && RepresentationFile::default().classifier.is_none());
    }

    #[test]
    fn shared_representations_override_the_files_and_can_be_removed() {
        let bank = format!(
            "toolset: bank\nranking: {{sharpness: 8, words: 0.1}}\ntools:\n{}{}",
            tool("pay", "Paying."),
            tool("refund", "Refunds.")
        );
        let set = set(&[("bank.yaml", &bank)]).unwrap();
        let shared =
            |toolset: Option<&str>, name: &str, patterns: serde_json::Value, sharpness, second| SharedRepresentation {
                id: crate::representation::shared_id(toolset, name),
                toolset: toolset.map(str::to_owned),
                tool: name.to_owned(),
                patterns,
                ranking: Some(callwright_types::representation::SharedRanking { sharpness, words: 0.5 }),
                classifier: None,
                evidence: Vec::new(),
                updated_at: jiff::Timestamp::from_second(second).unwrap(),
            };
        let buying = serde_json::json!([{"description": "Buying."}]);
        let all = [
            shared(Some("bank"), "pay", buying.clone(), 9.0, 2),
            shared(Some("bank"), "refund", serde_json::json!([]), 7.0, 1),
            shared(None, "pay", buying, 1.0, 1),
            shared(Some("bank"), "broken", serde_json::json!([{"description": ""}]), 1.0, 3),
        ];
        let (merged, problems) = set.with_shared(&all);
        let text = |set: &Representations, tool: &str| {
            set.of_tool("bank", tool).map(|found| found.patterns[0].description.clone())
        };
        assert_eq!(text(&merged, "pay").as_deref(), Some("Buying."));
        assert!(text(&merged, "refund").is_none() && merged.of_client_tool("pay").is_some());
        assert_eq!(merged.ranking(Some("bank")).unwrap().sharpness, 9.0);
        assert!(
            problems.len() == 1 && problems[0].contains("`broken`") && problems[0].contains("empty"),
            "{problems:?}"
        );
        let (back, _) = set.with_shared(&[]);
        assert_eq!(
            (text(&back, "pay").as_deref(), text(&back, "refund").as_deref()),
            (Some("Paying."), Some("Refunds."))
        );
    }

    #[test]
    fn two_files_for_one_toolset_are_an_error_that_names_both() {
        let error = set(&[("a.yaml", "toolset: bank"), ("b.yaml", "toolset: bank")]).unwrap_err().to_string();
        assert_eq!(error, "b.yaml: duplicate file for the toolset `bank`; merge it with a.yaml, or remove one");
        let error = set(&[("a.yaml", ""), ("b.yaml", "")]).unwrap_err().to_string();
        assert!(error.contains("duplicate file for tools of clients"), "{error}");
    }

    #[test]
    fn unknown_names_are_reported() {
        let many: String = (0..20).map(|number| tool(&format!("gone{number:02}"), "Gone.")).collect();
        let bank = format!("toolset: bank\ntools:\n{}{}", tool("pay", "Paying."), tool("refnd", "Refunds."));
        let shop = format!("toolset: shop\ntools:\n{many}");
        let set =
            set(&[("bank.yaml", &bank), ("own.yaml", "tools: []"), ("rom.yaml", "toolset: rom"), ("shop.yaml", &shop)]);
        let tools_of = |toolset: &str| match toolset {
            "bank" => Some(vec!["pay", "refund"]),
            "shop" => Some(Vec::new()),
            _ => None,
        };
        let messages = set.unwrap().unknown_names(&["bank", "shop", "room"], tools_of);
        assert_eq!(messages[0], "bank.yaml: the toolset `bank` has no tool `refnd`; did you mean `refund`?");
        assert_eq!(messages[1], "rom.yaml: there is no toolset `rom`; did you mean `room`?");
        assert_eq!(messages.len(), 2 + LISTED + 1);
        assert_eq!(messages[12], "shop.yaml: the toolset `shop` lacks 10 further tools of this file");
    }

    #[test]
    fn no_directory_is_an_empty_set_and_a_missing_one_is_an_error() {
        assert_eq!(Representations::load(&Settings::default(), Path::new("")).unwrap().tools(), 0);
        let folder = tempfile::tempdir().unwrap();
        let settings = Settings { directory: "learned".to_owned(), ..Settings::default() };
        let error = Representations::load(&settings, folder.path()).unwrap_err().to_string();
        assert!(error.contains(&folder.path().join("learned").display().to_string()), "{error}");
        std::fs::create_dir(folder.path().join("learned")).unwrap();
        for (name, text) in
            [("a.yml", tool("pay", "Paying.")), (".b.yaml", "x: 1".to_owned()), ("README.md", "x".to_owned())]
        {
            let text = if name == "a.yml" { format!("tools:\n{text}") } else { text };
            std::fs::write(folder.path().join("learned").join(name), text).unwrap();
        }
        assert_eq!(Representations::load(&settings, folder.path()).unwrap().tools(), 1);
    }
}
