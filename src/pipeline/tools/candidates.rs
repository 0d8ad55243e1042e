//! The tools of one side that may be offered in a turn: those of toolsets, in the schema dialect of the upstream, or
//! the client's own.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, OnceLock};

use http::Method;

use callwright_common::cache::ByteCache;
use callwright_executor::Permissions;
use callwright_memory::representation::render;
use callwright_openapi::{Catalog, dialect};
use callwright_search::retrieval::{RankedTool, ToolQuery};
use callwright_types::representation::Representation;
use callwright_types::rules::{ExecuteRule, ExecuteRules, OfferRules, ToolGlobs};
use callwright_types::{Owner, SchemaDialect, Tool, tool_names};
use callwright_wire::WrittenTool;

use super::toolset_index::{LiveIndex, ToolListIndex, ToolsetIndex};

/// Cache size in bytes for the tools that policy rules name, with about one entry per policy.
const RULED_BYTES: usize = 1024 * 1024;

/// Tools in the order of their documents, or of the client's list. Expensive data is computed at first use, because
/// most of a thousand tools are never offered.
#[derive(Debug)]
pub(crate) struct Candidates {
    dialect: SchemaDialect,
    /// Approximate maximum tokens of a description with its learned patterns.
    description_tokens: usize,
    tools: Vec<CandidateTool>,
    positions: HashMap<String, usize>,
    folded: OnceLock<HashMap<String, Vec<usize>>>,
    /// Search index of the tools, in the same order.
    index: LiveIndex,
    ruled: ByteCache<NamingRules, Arc<RuledTools>>,
}

/// The rules that name tools: those always and never offered, and those of execution.
type NamingRules = (ToolGlobs, ToolGlobs, ExecuteRules);

#[derive(Debug)]
struct CandidateTool {
    tool: Arc<Tool>,
    /// Method of the operation; `None` for a client's tool.
    method: Option<Method>,
    name: Arc<str>,
    /// Index in the client's list, and a digest of the JSON text.
    own: Option<(usize, u64)>,
    learned: Option<Arc<Representation>>,
    /// JSON text without and with the learned patterns.
    written: [OnceLock<(Arc<WrittenTool>, u64)>; 2],
}

/// The tools that policy rules name.
#[derive(Debug, Default)]
pub(crate) struct RuledTools {
    /// Positions of the tools to offer always, in order.
    pub(crate) always: Vec<usize>,
    pub(crate) never: HashSet<usize>,
    /// Tools whose calls the policy can only deny. They are not offered; a call of one is refused with the reason.
    pub(crate) denied: HashSet<usize>,
}

impl Candidates {
    /// Collects the tools of those `toolsets` that the catalog has.
    pub(crate) fn of(
        catalog: &Catalog,
        toolset_index: &ToolsetIndex,
        toolsets: &[String],
        dialect: SchemaDialect,
    ) -> Self {
        let (mut tools, mut indexes) = (Vec::new(), Vec::new());
        for toolset in toolsets.iter().flat_map(|name| catalog.toolsets_of(name)) {
            indexes.extend(toolset_index.by_toolset.get(&toolset.name).cloned());
            tools.extend(toolset.operations.iter().map(|operation| {
                let learned = toolset_index.learned(&toolset.name, operation.own_name()).cloned();
                CandidateTool {
                    method: Some(operation.method.clone()),
                    ..CandidateTool::new(operation.tool.clone(), None, learned)
                }
            }));
        }
        Self::new(tools, indexes, dialect, toolset_index.description_tokens)
    }

    /// Collects the client's own tools that may be omitted, each with its index in the client's list and its JSON text.
    pub(crate) fn of_client(tools: &[(usize, &Tool, &str)], toolset_index: &ToolsetIndex) -> Self {
        let candidates = tools.iter().map(|(place, tool, text)| {
            CandidateTool::new(Arc::new((*tool).clone()), Some((*place, digest(&[text]))), None)
        });
        let index = toolset_index.of_client(&tools.iter().map(|(_, tool, _)| *tool).collect::<Vec<_>>());
        Self::new(candidates.collect(), vec![index], SchemaDialect::Openai, 0)
    }

    fn new(
        tools: Vec<CandidateTool>,
        indexes: Vec<Arc<ToolListIndex>>,
        dialect: SchemaDialect,
        description_tokens: usize,
    ) -> Self {
        let positions =
            tools.iter().enumerate().rev().map(|(at, candidate)| (candidate.tool.name.clone(), at)).collect();
        let (folded, ruled) = (OnceLock::new(), ByteCache::new(RULED_BYTES as u64, ruled_bytes));
        Self { dialect, description_tokens, tools, positions, folded, index: LiveIndex::new(indexes), ruled }
    }

    /// Returns the number of tools.
    pub(crate) fn len(&self) -> usize {
        self.tools.len()
    }

    pub(crate) fn tool(&self, position: usize) -> Option<&Arc<Tool>> {
        self.tools.get(position).map(|candidate| &candidate.tool)
    }

    /// Returns the name of the tool at a position as a shared string.
    pub(crate) fn name(&self, position: usize) -> Option<&Arc<str>> {
        self.tools.get(position).map(|candidate| &candidate.name)
    }

    /// Returns the position of the tool with this name.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.positions.get(name).copied()
    }

    /// Returns the position of the tool that a name refers to: the exact name, or a unique match without regard to
    /// spelling variants or namespace.
    pub(crate) fn meant(&self, name: &str) -> Option<usize> {
        self.position(name).or_else(|| tool_names::forms(name).find_map(|form| self.only_spelling(form)))
    }

    fn only_spelling(&self, name: &str) -> Option<usize> {
        let folded = self.folded.get_or_init(|| self.fold());
        match folded.get(&tool_names::fold(name)).map(Vec::as_slice) {
            Some([only]) => Some(*only),
            _ => None,
        }
    }

    fn fold(&self) -> HashMap<String, Vec<usize>> {
        let mut folded: HashMap<String, Vec<usize>> = HashMap::new();
        for (position, candidate) in self.tools.iter().enumerate() {
            folded.entry(tool_names::fold(&candidate.name)).or_default().push(position);
        }
        folded
    }

    /// Returns the index in the client's list if the tool at a position is one of the client's.
    pub(crate) fn own_place(&self, position: usize) -> Option<usize> {
        self.tools.get(position)?.own.map(|(place, _)| place)
    }

    /// Returns the JSON form of the tool at a position, with or without the learned patterns.
    pub(crate) fn written(&self, position: usize, learned: bool) -> Option<&Arc<WrittenTool>> {
        Some(&self.written_with_digest(position, learned)?.0)
    }

    /// Returns a digest of the JSON form of the tool at a position, which shows whether the sent bytes changed.
    pub(crate) fn digest(&self, position: usize, learned: bool) -> Option<u64> {
        match self.tools.get(position)?.own {
            Some((_, digest)) => Some(digest),
            None => Some(self.written_with_digest(position, learned)?.1),
        }
    }

    fn written_with_digest(&self, position: usize, learned: bool) -> Option<&(Arc<WrittenTool>, u64)> {
        let CandidateTool { tool, written: [plain, shown], learned: known, .. } = self.tools.get(position)?;
        let known = known.as_deref().filter(|_| learned);
        let place = if known.is_some() { shown } else { plain };
        Some(place.get_or_init(|| {
            let mut written = write(tool, self.dialect);
            if let Some(known) = known
                && let Cow::Owned(description) = render(&tool.description, known, self.description_tokens)
            {
                written = written.described(description);
            }
            let digest = digest(&[written.text()]);
            (Arc::new(written), digest)
        }))
    }

    /// Returns the tools that the rules name.
    pub(crate) fn ruled(&self, rules: &OfferRules, execute: &ExecuteRules) -> Arc<RuledTools> {
        let OfferRules { always, never, .. } = rules;
        let is_the_clients = self.tools.iter().all(|candidate| candidate.method.is_none());
        if always.is_empty() && never.is_empty() && is_the_clients {
            return Arc::default();
        }
        let execute = if is_the_clients { ExecuteRules::default() } else { execute.clone() };
        let key = (always.clone(), never.clone(), execute);
        self.ruled.get_with(key.clone(), || Arc::new(self.name_by(&key)))
    }

    fn name_by(&self, (always, never, execute): &NamingRules) -> RuledTools {
        let permissions = Permissions::new(execute);
        let mut ruled = RuledTools::default();
        for (position, candidate) in self.tools.iter().enumerate() {
            let name = match &candidate.tool.owner {
                Owner::Proxy(reference) => format!("{}/{}", reference.toolset, reference.tool),
                Owner::Client | Owner::Search => candidate.tool.name.clone(),
            };
            let is_denied = candidate.method.as_ref().is_some_and(|method| !permissions.permit(method, &name));
            if never.name(&name) {
                ruled.never.insert(position);
            } else if is_denied {
                ruled.denied.insert(position);
            } else if always.name(&name) {
                ruled.always.push(position);
            }
        }
        ruled
    }

    /// Whether semantic search is available.
    pub(crate) fn has_vectors(&self) -> bool {
        self.index.has_vectors()
    }

    /// Returns the `k` best matching tools, best first.
    pub(crate) fn search(&self, query: &ToolQuery<'_>, k: usize) -> Vec<RankedTool> {
        self.index.search(query, k)
    }

    /// Returns the description of a learned pattern of the tool at a position.
    pub(crate) fn pattern(&self, position: usize, pattern: usize) -> Option<String> {
        let mut at = position;
        for tools in &self.index.lists {
            match at.checked_sub(tools.len()) {
                Some(rest) => at = rest,
                None => return tools.pattern(at, pattern).map(str::to_owned),
            }
        }
        None
    }
}

impl CandidateTool {
    fn new(tool: Arc<Tool>, own: Option<(usize, u64)>, learned: Option<Arc<Representation>>) -> Self {
        let name = Arc::from(tool.name.as_str());
        Self { tool, method: None, name, own, learned, written: Default::default() }
    }
}

fn ruled_bytes((always, never, execute): &NamingRules, ruled: &Arc<RuledTools>) -> usize {
    let rules = execute.rules.iter().flat_map(|rule| rule.methods.iter().chain(&rule.tools));
    let globs = always.texts().iter().chain(never.texts()).chain(rules).map(|glob| glob.len() + size_of::<String>());
    let positions = ruled.always.len() + 2 * (ruled.never.len() + ruled.denied.len());
    let position_bytes = (positions * size_of::<usize>()).min(RULED_BYTES / 16);
    globs.sum::<usize>() + execute.rules.len() * size_of::<ExecuteRule>() + position_bytes
}

/// Returns a digest for comparisons within this process.
pub(crate) fn digest(texts: &[&str]) -> u64 {
    let mut hasher = DefaultHasher::new();
    texts.hash(&mut hasher);
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
