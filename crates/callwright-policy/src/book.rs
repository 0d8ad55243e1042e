//! All policies in force, and the selection of the policy of a turn.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::parse::parse;
use super::selector::MatchSelector;
use super::sources::{builtin, folder};
use super::{Policy, PolicyError, SelectError, Settings, TurnFacts};
use callwright_common::text::nearest;
use callwright_common::watch::{FolderDigest, FolderError, FolderFile, digest};
use callwright_types::rules::Mode;
use http::HeaderMap;

/// All policies in force. Immutable: a reload creates a new book.
///
/// Precedence: the policy to which the virtual key is bound; otherwise the one to which the alias is bound; otherwise
/// the matching policy with the highest priority (among equals, the first file name); otherwise the default. A policy
/// that the request selects replaces it, if the request's virtual key lists that policy.
#[derive(Debug)]
pub struct PolicyBook {
    /// Sorted by descending priority, then by file name.
    entries: Vec<PolicyEntry>,
    by_name: HashMap<String, usize>,
    default: usize,
    bindings: BTreeMap<String, AliasBinding>,
    place: String,
    seen: FolderDigest,
}

/// Requirements of a model alias on the policies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AliasBinding {
    /// Policy to which the alias is bound; empty: by matching.
    pub policy: String,
    /// Whether the alias offers toolsets that its turns may not lose in shadow mode.
    pub requires_tools: bool,
}

#[derive(Debug)]
struct PolicyEntry {
    policy: Arc<Policy>,
    selector: Option<MatchSelector>,
    path: PathBuf,
}

/// Names the setting in the error of a directory that cannot be read. Errors of single files name the file already.
fn unreadable(error: FolderError, directory: &Path, settings: &Settings, base_dir: &Path) -> PolicyError {
    match error {
        FolderError::Unreadable { path, source } if path == directory => PolicyError::Directory {
            given: settings.directory.clone(),
            path,
            base_dir: std::path::absolute(base_dir).unwrap_or_else(|_| base_dir.to_owned()),
            source,
        },
        other => other.into(),
    }
}

impl PolicyBook {
    /// Returns the policies that ship with the proxy: `default`, `strict`, `shadow`.
    pub fn builtin() -> Self {
        // This cannot fail on user input: the texts are compiled in, and the tests parse them.
        Self::load(&Settings::default(), Path::new("")).expect("the built-in policies are valid")
    }

    /// Loads the policies from the settings; a relative directory is resolved against `base_dir`.
    ///
    /// # Errors
    /// [`PolicyError`]: an unreadable file, an invalid policy, a duplicate name, or a missing default policy.
    pub fn load(settings: &Settings, base_dir: &Path) -> Result<Self, PolicyError> {
        let (sources, place) = match directory(settings, base_dir) {
            Some(directory) => {
                let sources = folder(directory.clone()).read();
                let sources = sources.map_err(|error| unreadable(error, &directory, settings, base_dir))?;
                (sources, directory.display().to_string())
            }
            None => (builtin(), "the built-in policies".to_owned()),
        };
        Self::of(&sources, &settings.default, place)
    }

    /// Checks that every policy to which an alias is bound exists, and that no alias loses its toolsets unnoticed in
    /// shadow mode. Stores the bindings by alias, so that a reload checks them too.
    ///
    /// # Errors
    /// [`PolicyError::Missing`], [`PolicyError::ShadowToolsets`].
    pub fn bind(mut self, bindings: impl IntoIterator<Item = (String, AliasBinding)>) -> Result<Self, PolicyError> {
        self.bindings = bindings.into_iter().collect();
        for (alias, binding) in &self.bindings {
            if !binding.policy.is_empty() && !self.by_name.contains_key(&binding.policy) {
                return Err(self.missing(&binding.policy, format!("`[aliases.{alias}]`")));
            }
            let facts = TurnFacts {
                model: alias,
                alias: Some(alias),
                alias_policy: Some(binding.policy.as_str()).filter(|policy| !policy.is_empty()),
                key: None,
                headers: &HeaderMap::new(),
                requested: None,
            };
            match self.resolve(&facts) {
                Ok(policy) if policy.mode == Mode::Shadow && binding.requires_tools => {
                    let (alias, policy) = (alias.clone(), policy.name.clone());
                    return Err(PolicyError::ShadowToolsets { alias, policy });
                }
                _ => {}
            }
        }
        Ok(self)
    }

    /// Returns the policy of a turn.
    ///
    /// # Errors
    /// [`SelectError`] if the request selects a policy that it may not use.
    pub fn resolve(&self, facts: &TurnFacts<'_>) -> Result<Arc<Policy>, SelectError> {
        let base = &self.entries[self.base(facts)?].policy;
        let Some(name) = facts.requested.filter(|name| *name != base.name) else { return Ok(Arc::clone(base)) };
        let name = name.to_owned();
        let Some(key) = facts.key else { return Err(SelectError::NoKey { name }) };
        if !key.selectable_policies.contains(&name) {
            return Err(SelectError::NotSelectable { name, permitted: key.selectable_policies.to_vec() });
        }
        self.get(&name).cloned().ok_or(SelectError::Unknown { name })
    }

    /// Returns the policy with this name.
    pub fn get(&self, name: &str) -> Option<&Arc<Policy>> {
        self.by_name.get(name).map(|index| &self.entries[*index].policy)
    }

    /// Returns the policy that applies if none matches.
    pub fn default_policy(&self) -> &Arc<Policy> {
        &self.entries[self.default].policy
    }

    /// Returns every policy, sorted by descending priority, then by file name.
    pub fn policies(&self) -> impl Iterator<Item = &Arc<Policy>> {
        self.entries.iter().map(|entry| &entry.policy)
    }

    /// Returns every policy with its selector, in the order of evaluation.
    pub(super) fn selectors(&self) -> impl Iterator<Item = (&Policy, Option<&MatchSelector>)> {
        self.entries.iter().map(|entry| (&*entry.policy, entry.selector.as_ref()))
    }

    /// Returns the bindings that [`PolicyBook::bind`] checked.
    pub(super) fn bindings(&self) -> &BTreeMap<String, AliasBinding> {
        &self.bindings
    }

    /// Returns the digest of the policy files.
    pub(super) fn seen(&self) -> FolderDigest {
        self.seen
    }

    /// Returns the location of the policies for error messages.
    pub(super) fn place(&self) -> &str {
        &self.place
    }

    pub(super) fn of(sources: &[FolderFile], default: &str, place: String) -> Result<Self, PolicyError> {
        let mut entries = Vec::with_capacity(sources.len());
        for source in sources {
            let (policy, selector) = parse(source)?;
            entries.push(PolicyEntry { policy: Arc::new(policy), selector, path: source.path.clone() });
        }
        entries.sort_by(|one, other| {
            other.policy.priority.cmp(&one.policy.priority).then_with(|| one.path.cmp(&other.path))
        });
        let by_name = index(&entries)?;
        let seen = digest(sources);
        let mut book = Self { entries, by_name, default: 0, bindings: BTreeMap::new(), place, seen };
        let found = book.by_name.get(default).copied();
        book.default = found.ok_or_else(|| book.missing(default, "`[policies] default`".to_owned()))?;
        Ok(book)
    }

    fn base(&self, facts: &TurnFacts<'_>) -> Result<usize, SelectError> {
        if let Some(key) = facts.key.filter(|key| !key.policy.is_empty()) {
            let bound = self.by_name.get(key.policy).copied();
            return bound
                .ok_or_else(|| SelectError::KeyUnbound { key: key.name.to_owned(), name: key.policy.to_owned() });
        }
        if let Some(name) = facts.alias_policy {
            return self.by_name.get(name).copied().ok_or_else(|| SelectError::Unbound { name: name.to_owned() });
        }
        let matching = self
            .entries
            .iter()
            .position(|entry| entry.selector.as_ref().is_some_and(|selector| selector.matches(facts)));
        Ok(matching.unwrap_or(self.default))
    }

    fn missing(&self, name: &str, user: String) -> PolicyError {
        let near = nearest(name, self.policies().map(|policy| policy.name.as_str())).map(str::to_owned);
        PolicyError::Missing { name: name.to_owned(), user, place: self.place.clone(), nearest: near }
    }
}

/// Returns the directory in the settings, if there is one.
pub(super) fn directory(settings: &Settings, base_dir: &Path) -> Option<PathBuf> {
    let directory = (!settings.directory.is_empty()).then(|| base_dir.join(&settings.directory))?;
    Some(std::path::absolute(&directory).unwrap_or(directory))
}

fn index(entries: &[PolicyEntry]) -> Result<HashMap<String, usize>, PolicyError> {
    let mut by_name = HashMap::with_capacity(entries.len());
    for (position, entry) in entries.iter().enumerate() {
        let name = entry.policy.name.clone();
        if let Some(first) = by_name.insert(name.clone(), position) {
            let [first, second] = [first, position].map(|position| entries[position].path.display().to_string());
            return Err(PolicyError::Duplicate { name, first, second });
        }
    }
    Ok(by_name)
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::*;
    use crate::KeyFacts;
    use callwright_types::rules::Mode;

    fn book(files: &[(&str, &str)]) -> Result<PolicyBook, PolicyError> {
        let files = files.iter().map(|(name, text)| FolderFile { path: PathBuf::from(name), text: (*text).to_owned() });
        PolicyBook::of(&files.collect::<Vec<_>>(), "default", "test".to_owned())
    }

    fn resolve(book: &PolicyBook, facts: TurnFacts<'_>) -> Result<String, SelectError> {
        book.resolve(&facts).map(|policy| policy.name.clone())
    }

    fn facts(headers: &HeaderMap) -> TurnFacts<'_> {
        TurnFacts { model: "gpt-5", alias: None, alias_policy: None, key: None, headers, requested: None }
    }

    const DEFAULT: (&str, &str) = ("default.yaml", "");

    #[test]
    fn an_alias_binding_precedes_a_match_and_a_match_the_default() {
        let none = HeaderMap::new();
        let book = book(&[DEFAULT, ("gpt.yaml", "match: {models: ['gpt-*']}"), ("bound.yaml", "")]).unwrap();
        assert_eq!(resolve(&book, TurnFacts { alias_policy: Some("bound"), ..facts(&none) }), Ok("bound".to_owned()));
        assert_eq!(resolve(&book, facts(&none)), Ok("gpt".to_owned()));
        assert_eq!(resolve(&book, TurnFacts { model: "o3", ..facts(&none) }), Ok("default".to_owned()));
    }

    #[test]
    fn a_key_is_bound_before_an_alias_and_lists_what_it_may_select() {
        let none = HeaderMap::new();
        let book = book(&[DEFAULT, ("bound.yaml", ""), ("own.yaml", ""), ("open.yaml", "")]).unwrap();
        let key = KeyFacts { name: "ada", group: "", policy: "own", selectable_policies: &[] };
        let facts = TurnFacts { alias_policy: Some("bound"), key: Some(key), ..facts(&none) };
        assert_eq!(resolve(&book, facts), Ok("own".to_owned()));
        let unbound = TurnFacts { key: Some(KeyFacts { policy: "", ..key }), ..facts };
        assert_eq!(resolve(&book, unbound), Ok("bound".to_owned()));
        let lost = resolve(&book, TurnFacts { key: Some(KeyFacts { policy: "lost", ..key }), ..facts });
        assert!(lost.unwrap_err().to_string().contains("the key `ada` is bound to the policy `lost`"));
        let listed = ["bound", "open", "lost"].map(str::to_owned);
        let select = |name, selectable_policies| {
            let key = KeyFacts { selectable_policies, ..key };
            resolve(&book, TurnFacts { requested: Some(name), key: Some(key), ..facts })
        };
        assert_eq!(select("open", &listed), Ok("open".to_owned()));
        assert_eq!(select("own", &[]), Ok("own".to_owned()), "it applies anyway");
        assert_eq!(select("lost", &listed), Err(SelectError::Unknown { name: "lost".to_owned() }));
        let refused = select("default", &listed).unwrap_err().to_string();
        assert!(refused.ends_with("it may select `bound`, `open`, `lost`"), "{refused}");
        let refused = select("open", &[]).unwrap_err().to_string();
        assert!(refused.ends_with("it may select none"), "{refused}");
    }

    #[test]
    fn the_highest_priority_wins_and_then_the_first_file_name() {
        let none = HeaderMap::new();
        let all = "match: {models: ['*']}";
        let low = format!("{all}\npriority: -1\nname: aaa");
        let files = [("a.yaml", low.as_str()), ("c.yaml", all), ("b.yaml", all), DEFAULT];
        assert_eq!(resolve(&book(&files).unwrap(), facts(&none)), Ok("b".to_owned()));
        let high = format!("{all}\npriority: 10");
        let files = [("b.yaml", all), ("z.yaml", high.as_str()), DEFAULT];
        assert_eq!(resolve(&book(&files).unwrap(), facts(&none)), Ok("z".to_owned()));
    }

    #[test]
    fn a_policy_without_match_holds_only_where_it_is_named() {
        let none = HeaderMap::new();
        let book = book(&[("a.yaml", "priority: 100"), DEFAULT]).unwrap();
        assert_eq!(resolve(&book, facts(&none)), Ok("default".to_owned()));
    }

    #[test]
    fn a_request_without_a_key_selects_no_policy() {
        let none = HeaderMap::new();
        let select = |name| resolve(&PolicyBook::builtin(), TurnFacts { requested: Some(name), ..facts(&none) });
        assert_eq!(select("default"), Ok("default".to_owned()));
        for name in ["strict", "strikt", ""] {
            assert_eq!(select(name), Err(SelectError::NoKey { name: name.to_owned() }));
        }
    }

    #[test]
    fn a_binding_to_no_policy_is_found_when_it_is_checked() {
        let bindings =
            |policy: &str| [("fast".to_owned(), AliasBinding { policy: policy.to_owned(), ..AliasBinding::default() })];
        assert!(PolicyBook::builtin().bind(bindings("strict")).is_ok());
        let error = PolicyBook::builtin().bind(bindings("stric")).unwrap_err().to_string();
        assert_eq!(
            error,
            "`[aliases.fast]` names the policy `stric`, which is not in the built-in policies; did you mean `strict`?"
        );
    }

    #[test]
    fn an_alias_with_toolsets_is_not_in_shadow_mode_unnoticed() {
        let bind = |policy: &str, requires_tools| {
            let binding = AliasBinding { policy: policy.to_owned(), requires_tools };
            PolicyBook::builtin().bind([("fast".to_owned(), binding)])
        };
        assert!(bind("default", true).is_ok() && bind("shadow", false).is_ok());
        let error = bind("shadow", true).unwrap_err().to_string();
        assert!(error.contains("`[aliases.fast]`") && error.contains("omit_toolsets_in_shadow = true"), "{error}");
    }

    #[test]
    fn a_duplicate_name_and_a_missing_default_are_errors() {
        let twice = book(&[DEFAULT, ("z.yaml", "name: default")]).unwrap_err().to_string();
        assert_eq!(
            twice,
            "z.yaml: there is a policy `default` already, in default.yaml; give one of them another `name`"
        );
        let missing = book(&[("defaults.yaml", "")]).unwrap_err().to_string();
        assert!(missing.contains("`[policies] default` names the policy `default`, which is not in test"), "{missing}");
        assert!(missing.ends_with("did you mean `defaults`?"), "{missing}");
    }

    #[test]
    fn the_built_in_default_may_be_another_one() {
        let none = HeaderMap::new();
        let settings = Settings { default: "shadow".to_owned(), ..Settings::default() };
        let book = PolicyBook::load(&settings, Path::new("")).unwrap();
        assert_eq!(book.resolve(&facts(&none)).unwrap().mode, Mode::Shadow);
    }

    #[test]
    fn a_directory_is_read_and_a_missing_one_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let settings = Settings { directory: "rules".to_owned(), ..Settings::default() };
        let error = PolicyBook::load(&settings, directory.path()).unwrap_err().to_string();
        assert!(error.contains(&directory.path().join("rules").display().to_string()), "{error}");
        std::fs::create_dir(directory.path().join("rules")).unwrap();
        for (name, text) in [("default.yml", ""), (".hidden.yaml", "x: 1"), ("README.md", "x: 1"), ("a.yaml~", "x: 1")]
        {
            std::fs::write(directory.path().join("rules").join(name), text).unwrap();
        }
        let book = PolicyBook::load(&settings, directory.path()).unwrap();
        assert_eq!(book.policies().map(|policy| policy.name.as_str()).collect::<Vec<_>>(), ["default"]);
    }
}
