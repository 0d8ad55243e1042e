//! All policies in force, and which of them holds for a turn.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use http::HeaderMap;

use super::nearest::nearest;
use super::parse::parse;
use super::selector::Selector;
use super::sources::{Source, builtin, read_directory};
use super::tighten::tighten;
use super::{Policy, PolicyError, SelectError, Settings};

/// What selects a policy.
#[derive(Debug, Clone, Copy)]
pub struct TurnFacts<'a> {
    /// The model name as the client sent it.
    pub model: &'a str,
    /// The same, if it is an alias.
    pub alias: Option<&'a str>,
    /// The policy that the alias is bound to.
    pub alias_policy: Option<&'a str>,
    /// The request's header fields.
    pub headers: &'a HeaderMap,
    /// The policy that the request asks for (`x-callwright-policy`).
    pub requested: Option<&'a str>,
}

/// All policies in force. Immutable: a reload makes a new book.
///
/// Precedence: the policy that the alias is bound to; else, of those that match, the one of the highest priority (among
/// equals, the first file name); else the default. What a request asks for is combined with that one, rule by rule, the
/// stricter taken: see [`tighten`](super::tighten).
#[derive(Debug)]
pub struct PolicyBook {
    /// Highest priority first, then by file name.
    entries: Vec<Entry>,
    by_name: HashMap<String, usize>,
    default: usize,
    /// Policy in force × policy asked for, made when first needed.
    tightened: Vec<OnceLock<Arc<Policy>>>,
    bindings: BTreeMap<String, String>,
    place: String,
    sources: Vec<Source>,
}

#[derive(Debug)]
struct Entry {
    policy: Arc<Policy>,
    selector: Option<Selector>,
    path: PathBuf,
}

impl PolicyBook {
    /// The policies that ship with the proxy: `default`, `strict`, `shadow`.
    pub fn builtin() -> Self {
        // Not input: the texts are compiled in, and the tests parse them.
        Self::load(&Settings::default(), Path::new("")).expect("the built-in policies are valid")
    }

    /// Reads the policies that the settings name; a relative directory is taken from `base_dir`.
    ///
    /// # Errors
    /// [`PolicyError`]: a file that cannot be read or is no policy, a name given twice, no policy of the default's name.
    pub fn load(settings: &Settings, base_dir: &Path) -> Result<Self, PolicyError> {
        let (sources, place) = match directory(settings, base_dir) {
            Some(directory) => (read_directory(&directory)?, directory.display().to_string()),
            None => (builtin(), "the built-in policies".to_owned()),
        };
        Self::of(sources, &settings.default, place)
    }

    /// Checks that every policy that an alias is bound to exists, and remembers that, so that a reload checks it too. Takes
    /// pairs of alias and policy.
    ///
    /// # Errors
    /// [`PolicyError::Missing`].
    pub fn bind(mut self, bindings: impl IntoIterator<Item = (String, String)>) -> Result<Self, PolicyError> {
        self.bindings = bindings.into_iter().collect();
        for (alias, policy) in &self.bindings {
            if !self.by_name.contains_key(policy) {
                return Err(self.missing(policy, format!("`[aliases.{alias}]`")));
            }
        }
        Ok(self)
    }

    /// Finds the policy that holds for a turn.
    ///
    /// # Errors
    /// [`SelectError`], where the request asks for a policy that it cannot have.
    pub fn resolve(&self, facts: &TurnFacts<'_>) -> Result<Arc<Policy>, SelectError> {
        let base = self.base(facts)?;
        let Some(name) = facts.requested else { return Ok(Arc::clone(&self.entries[base].policy)) };
        let asked = *self.by_name.get(name).ok_or_else(|| self.unknown(name))?;
        if asked == base {
            return Ok(Arc::clone(&self.entries[base].policy));
        }
        if !self.entries[asked].policy.selectable {
            return Err(SelectError::NotSelectable { name: name.to_owned() });
        }
        let tightened = &self.tightened[base * self.entries.len() + asked];
        let combine = || Arc::new(tighten(&self.entries[base].policy, &self.entries[asked].policy));
        Ok(Arc::clone(tightened.get_or_init(combine)))
    }

    /// The policy of this name.
    pub fn get(&self, name: &str) -> Option<&Arc<Policy>> {
        self.by_name.get(name).map(|index| &self.entries[*index].policy)
    }

    /// Every policy, highest priority first, then by file name.
    pub fn policies(&self) -> impl Iterator<Item = &Arc<Policy>> {
        self.entries.iter().map(|entry| &entry.policy)
    }

    /// The bindings that [`PolicyBook::bind`] checked.
    pub(super) fn bindings(&self) -> &BTreeMap<String, String> {
        &self.bindings
    }

    /// The texts that it was made of.
    pub(super) fn sources(&self) -> &[Source] {
        &self.sources
    }

    pub(super) fn of(sources: Vec<Source>, default: &str, place: String) -> Result<Self, PolicyError> {
        let mut entries = Vec::with_capacity(sources.len());
        for source in &sources {
            let (policy, selector) = parse(source)?;
            entries.push(Entry { policy: Arc::new(policy), selector, path: source.path.clone() });
        }
        entries.sort_by(|one, other| {
            other.policy.priority.cmp(&one.policy.priority).then_with(|| one.path.cmp(&other.path))
        });
        let by_name = index(&entries)?;
        let tightened = std::iter::repeat_with(OnceLock::new).take(entries.len().pow(2)).collect();
        let mut book = Self { entries, by_name, default: 0, tightened, bindings: BTreeMap::new(), place, sources };
        let found = book.by_name.get(default).copied();
        book.default = found.ok_or_else(|| book.missing(default, "`[policies] default`".to_owned()))?;
        Ok(book)
    }

    fn base(&self, facts: &TurnFacts<'_>) -> Result<usize, SelectError> {
        if let Some(name) = facts.alias_policy {
            return self.by_name.get(name).copied().ok_or_else(|| SelectError::Unbound { name: name.to_owned() });
        }
        let fits = |entry: &Entry| entry.selector.as_ref().is_some_and(|selector| selector.matches(facts));
        Ok(self.entries.iter().position(fits).unwrap_or(self.default))
    }

    fn unknown(&self, name: &str) -> SelectError {
        let selectable = self.policies().filter(|policy| policy.selectable).map(|policy| policy.name.as_str());
        SelectError::Unknown { name: name.to_owned(), nearest: nearest(name, selectable).map(str::to_owned) }
    }

    fn missing(&self, name: &str, user: String) -> PolicyError {
        let near = nearest(name, self.policies().map(|policy| policy.name.as_str())).map(str::to_owned);
        PolicyError::Missing { name: name.to_owned(), user, place: self.place.clone(), nearest: near }
    }
}

/// The directory that the settings name, if they name one.
pub(super) fn directory(settings: &Settings, base_dir: &Path) -> Option<PathBuf> {
    let directory = (!settings.directory.is_empty()).then(|| base_dir.join(&settings.directory))?;
    Some(std::path::absolute(&directory).unwrap_or(directory))
}

fn index(entries: &[Entry]) -> Result<HashMap<String, usize>, PolicyError> {
    let mut by_name = HashMap::with_capacity(entries.len());
    for (position, entry) in entries.iter().enumerate() {
        let name = entry.policy.name.clone();
        if let Some(first) = by_name.insert(name.clone(), position) {
            let shown = |position: usize| entries[position].path.display().to_string();
            return Err(PolicyError::Duplicate { name, first: shown(first), second: shown(position) });
        }
    }
    Ok(by_name)
}
