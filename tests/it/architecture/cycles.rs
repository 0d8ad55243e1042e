//! Cycles between the modules of a crate.

use std::collections::{BTreeMap, BTreeSet};

use super::sources::Source;

type Module = Vec<String>;

/// Modules of one crate, with the other modules that each of them uses.
pub(crate) struct ModuleGraph {
    uses: BTreeMap<Module, BTreeSet<Module>>,
}

/// Maximum number of re-exports that are followed from one use, against circular re-exports.
const MAX_REEXPORTS: usize = 8;

impl ModuleGraph {
    pub(crate) fn of_package<'s>(sources: impl Iterator<Item = &'s Source>) -> Self {
        let sources: Vec<&Source> = sources.collect();
        let modules: BTreeSet<Module> = sources.iter().map(|source| source.module.clone()).collect();
        let mut children: BTreeMap<&[String], BTreeSet<String>> = BTreeMap::new();
        for module in &modules {
            if let Some((last, parent)) = module.split_last() {
                children.entry(parent).or_default().insert(last.clone());
            }
        }
        let none = BTreeSet::new();
        let inside = |module: &[String]| children.get(module).unwrap_or(&none);
        let mut reexports: BTreeMap<(Module, &str), Vec<String>> = BTreeMap::new();
        for source in &sources {
            for reexport in &source.scan.reexports {
                if let Some(path) = reexport.path.absolute(&source.module, inside(&source.module)) {
                    reexports.insert((source.module.clone(), &reexport.name), path);
                }
            }
        }
        let mut uses: BTreeMap<Module, BTreeSet<Module>> = BTreeMap::new();
        for source in &sources {
            let used = uses.entry(source.module.clone()).or_default();
            for path in &source.scan.paths {
                let Some(mut path) = path.absolute(&source.module, inside(&source.module)) else { continue };
                for _ in 0..MAX_REEXPORTS {
                    let (module, name) = deepest_module(&path, &modules);
                    match name.and_then(|name| reexports.get(&(module.to_vec(), name))) {
                        Some(origin) => path = origin.clone(),
                        None => break,
                    }
                }
                let module = deepest_module(&path, &modules).0.to_vec();
                if module != source.module {
                    used.insert(module);
                }
            }
        }
        Self { uses }
    }

    /// Returns the strongly connected sets of two or more modules.
    pub(crate) fn cycles(&self) -> Vec<Vec<String>> {
        let reached: BTreeMap<&Module, BTreeSet<&Module>> =
            self.uses.keys().map(|module| (module, self.reachable(module))).collect();
        let mut seen = BTreeSet::new();
        let mut cycles = Vec::new();
        for module in self.uses.keys() {
            if seen.contains(module) || !reached[module].contains(module) {
                continue;
            }
            let cycle: Vec<&Module> =
                reached[module].iter().copied().filter(|other| reached[other].contains(module)).collect();
            seen.extend(cycle.iter().copied());
            if cycle.len() > 1 {
                cycles.push(cycle.into_iter().map(|module| module.join("::")).collect());
            }
        }
        cycles
    }

    fn reachable(&self, from: &Module) -> BTreeSet<&Module> {
        let mut reached = BTreeSet::new();
        let mut next: Vec<&Module> = self.uses.get(from).into_iter().flatten().collect();
        while let Some(module) = next.pop() {
            if self.uses.contains_key(module) && reached.insert(module) {
                next.extend(&self.uses[module]);
            }
        }
        reached
    }
}

/// Returns the longest prefix of a path that is a module, and the next name.
fn deepest_module<'p>(path: &'p [String], modules: &BTreeSet<Module>) -> (&'p [String], Option<&'p str>) {
    let length = (0..=path.len()).rev().find(|length| modules.contains(&path[..*length])).unwrap_or(0);
    (&path[..length], path.get(length).map(String::as_str))
}
