//! The tools that a turn may be offered, of one side: those of toolsets, in the dialect of the upstream, or the client's own.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, OnceLock};

use moka::sync::Cache;

use crate::catalog::{Catalog, dialect};
use crate::domain::rules::{OfferRules, ToolGlobs};
use crate::domain::{Owner, SchemaDialect, Tool};
use crate::openai::WrittenTool;
use crate::retrieval::Bm25;
use crate::scanner::names;

/// Pairs of rules of which it is remembered which tools they name: as many as there are policies, or nearly.
const MAX_RULED: u64 = 64;

/// Tools in the order of their documents, or of the client's list. What costs time is done when it is asked for first: of a thousand
/// tools, most are never offered.
#[derive(Debug)]
pub(super) struct Candidates {
    dialect: SchemaDialect,
    tools: Vec<Candidate>,
    positions: HashMap<String, usize>,
    folded: OnceLock<HashMap<String, Vec<usize>>>,
    index: OnceLock<Bm25<()>>,
    ruled: Cache<(Vec<String>, Vec<String>), Arc<Ruled>>,
}

#[derive(Debug)]
struct Candidate {
    tool: Arc<Tool>,
    name: Arc<str>,
    /// Place in the client's list, and a digest of what stands there.
    own: Option<(usize, u64)>,
    written: OnceLock<(Arc<WrittenTool>, u64)>,
}

/// Which tools rules name.
#[derive(Debug, Default)]
pub(super) struct Ruled {
    /// In order.
    pub(super) always: Vec<usize>,
    pub(super) never: HashSet<usize>,
}

impl Candidates {
    /// The tools of `toolsets`, those that `catalog` has.
    pub(super) fn of(catalog: &Catalog, toolsets: &[String], dialect: SchemaDialect) -> Self {
        let toolsets = toolsets.iter().flat_map(|name| catalog.toolsets_of(name));
        let tools = toolsets.flat_map(|toolset| toolset.operations.iter().map(|operation| operation.tool.clone()));
        Self::new(tools.map(|tool| (tool, None)), dialect)
    }

    /// Those of the client's own tools that may be left out: each with its place in the client's list and its JSON text.
    pub(super) fn of_client<'a>(tools: impl IntoIterator<Item = (usize, Tool, &'a str)>) -> Self {
        let tools = tools.into_iter().map(|(place, tool, text)| (Arc::new(tool), Some((place, digest(text)))));
        Self::new(tools, SchemaDialect::Openai)
    }

    fn new(tools: impl Iterator<Item = (Arc<Tool>, Option<(usize, u64)>)>, dialect: SchemaDialect) -> Self {
        let candidate = |(tool, own): (Arc<Tool>, _)| {
            let name = Arc::from(tool.name.as_str());
            Candidate { tool, name, own, written: OnceLock::new() }
        };
        let tools: Vec<Candidate> = tools.map(candidate).collect();
        let positions =
            tools.iter().enumerate().rev().map(|(at, candidate)| (candidate.tool.name.clone(), at)).collect();
        let (folded, index) = (OnceLock::new(), OnceLock::new());
        Self { dialect, tools, positions, folded, index, ruled: Cache::new(MAX_RULED) }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.tools.len()
    }

    /// The tool at a position.
    pub(super) fn tool(&self, position: usize) -> Option<&Arc<Tool>> {
        self.tools.get(position).map(|candidate| &candidate.tool)
    }

    /// The name of the tool at a position, to be kept.
    pub(super) fn name(&self, position: usize) -> Option<&Arc<str>> {
        self.tools.get(position).map(|candidate| &candidate.name)
    }

    /// Where the tool of this name stands.
    pub(super) fn position(&self, name: &str) -> Option<usize> {
        self.positions.get(name).copied()
    }

    /// Where the tool stands that a name means: the one of this name, or the only one that differs in writing alone.
    pub(super) fn meant(&self, name: &str) -> Option<usize> {
        let only = |name: &str| {
            let folded = self.folded.get_or_init(|| self.fold());
            match folded.get(&names::fold(name)).map(Vec::as_slice) {
                Some([only]) => Some(*only),
                _ => None,
            }
        };
        self.position(name).or_else(|| only(name)).or_else(|| only(names::without_namespace(name)?))
    }

    fn fold(&self) -> HashMap<String, Vec<usize>> {
        let mut folded: HashMap<String, Vec<usize>> = HashMap::new();
        for (position, candidate) in self.tools.iter().enumerate() {
            folded.entry(names::fold(&candidate.name)).or_default().push(position);
        }
        folded
    }

    /// Place in the client's list, where the tool at a position is one of the client's.
    pub(super) fn own_place(&self, position: usize) -> Option<usize> {
        self.tools.get(position)?.own.map(|(place, _)| place)
    }

    /// The tool at a position as it is sent.
    pub(super) fn written(&self, position: usize) -> Option<&Arc<WrittenTool>> {
        Some(&self.written_with_digest(position)?.0)
    }

    /// What tells whether the tool at a position is sent in the same bytes as before.
    pub(super) fn digest(&self, position: usize) -> Option<u64> {
        match self.tools.get(position)?.own {
            Some((_, digest)) => Some(digest),
            None => Some(self.written_with_digest(position)?.1),
        }
    }

    fn written_with_digest(&self, position: usize) -> Option<&(Arc<WrittenTool>, u64)> {
        let Candidate { tool, written, .. } = self.tools.get(position)?;
        Some(written.get_or_init(|| {
            let written = write(tool, self.dialect);
            let digest = digest(written.text());
            (Arc::new(written), digest)
        }))
    }

    /// Which tools the rules name.
    pub(super) fn ruled(&self, rules: &OfferRules) -> Arc<Ruled> {
        let OfferRules { always, never, .. } = rules;
        if always.is_empty() && never.is_empty() {
            return Arc::default();
        }
        let key = (always.texts().to_vec(), never.texts().to_vec());
        self.ruled.get_with(key, || Arc::new(self.name_by(always, never)))
    }

    fn name_by(&self, always: &ToolGlobs, never: &ToolGlobs) -> Ruled {
        let mut ruled = Ruled::default();
        for (position, candidate) in self.tools.iter().enumerate() {
            let name = match &candidate.tool.owner {
                Owner::Proxy(reference) => format!("{}/{}", reference.toolset, reference.tool),
                Owner::Client | Owner::Search => candidate.tool.name.clone(),
            };
            if never.name(&name) {
                ruled.never.insert(position);
            } else if always.name(&name) {
                ruled.always.push(position);
            }
        }
        ruled
    }

    /// Positions of the tools whose texts serve a request, best first, with how well.
    pub(super) fn search(&self, request: &str) -> Vec<(usize, f32)> {
        let texts = || self.tools.iter().map(|candidate| ((), candidate.tool.search_text()));
        let index = self.index.get_or_init(|| Bm25::build(texts()));
        index.search(request, self.len()).into_iter().map(|hit| (hit.position, hit.score)).collect()
    }
}

/// A digest of what is sent, for comparisons within this process.
pub(super) fn digest(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

fn write(tool: &Arc<Tool>, dialect: SchemaDialect) -> WrittenTool {
    let translated = dialect::translate(&tool.parameters, dialect);
    if !translated.losses.is_empty() {
        let losses: Vec<String> = translated.losses.iter().map(ToString::to_string).collect();
        tracing::debug!(tool = tool.name, %dialect, "the tool's schema is simplified: {}", losses.join("; "));
    }
    let is_unchanged = translated.parameters == *tool.parameters;
    let parameters = if is_unchanged { tool.parameters.clone() } else { Arc::new(translated.parameters) };
    WrittenTool::new(tool.clone(), parameters, translated.strict)
}
