//! Generates tool names: readable, at most 64 characters of `[a-zA-Z0-9_-]`, unique, and stable.
//!
//! A name depends on its own operation only. If several operations would get the same name, all of them get a hash of
//! method and path appended, independent of their order. Adding, removing and reordering other operations therefore
//! keeps the names.

use std::collections::{HashMap, HashSet};

/// Maximum length of a function name that OpenAI-compatible providers accept.
const MAX_NAME: usize = 64;
/// Length of a hash: 8 hexadecimal digits.
const HASH_CHARS: usize = 8;

/// Input of a tool's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NameSource<'a> {
    /// The operation's `operationId`, if it has one.
    pub(super) operation_id: Option<&'a str>,
    /// The method, in lower case.
    pub(super) method: String,
    /// The path as written in the document. Method and path together are unique in a document.
    pub(super) path: &'a str,
}

/// Returns one name for each source, in the same order.
pub(super) fn tool_names(sources: &[NameSource<'_>]) -> Vec<String> {
    let wishes: Vec<String> = sources.iter().map(wish).collect();
    let mut wanted: HashMap<&str, usize> = HashMap::new();
    for wish in &wishes {
        *wanted.entry(wish).or_default() += 1;
    }
    let mut taken: HashSet<String> =
        wanted.iter().filter(|(_, times)| **times == 1).map(|(wish, _)| (*wish).to_owned()).collect();
    let names = sources.iter().zip(&wishes).map(|(source, wish)| match wanted.get(wish.as_str()) {
        Some(1) => wish.clone(),
        _ => hashed_name(wish, seed(source), &mut taken),
    });
    names.collect()
}

/// Returns a name for the tool `name` of `toolset` that is unique among all toolsets and not in `taken`.
pub(super) fn prefixed(toolset: &str, name: &str, taken: &mut HashSet<String>) -> String {
    let long = sanitised(&format!("{toolset}_{name}"));
    let wish = if long.len() <= MAX_NAME { long } else { with_hash(&long, &format!("{toolset} {name}")) };
    if taken.insert(wish.clone()) { wish } else { hashed_name(&wish, format!("{toolset} {name}"), taken) }
}

/// Appends a hash to `wish`; on a collision, hashes again with an extended seed.
fn hashed_name(wish: &str, mut seed: String, taken: &mut HashSet<String>) -> String {
    loop {
        let name = with_hash(wish, &seed);
        if taken.insert(name.clone()) {
            return name;
        }
        seed.push('#');
    }
}

fn wish(source: &NameSource<'_>) -> String {
    let from_id = source.operation_id.filter(|id| is_readable(id)).map(sanitised).filter(|name| !name.is_empty());
    let name = from_id.unwrap_or_else(|| sanitised(&format!("{}_{}", source.method, source.path)));
    if name.len() <= MAX_NAME { name } else { with_hash(&name, &seed(source)) }
}

/// Whether most letters of `id` are allowed in a name. Otherwise the remaining letters are meaningless.
fn is_readable(id: &str) -> bool {
    let (kept, lost): (Vec<char>, Vec<char>) = id.chars().filter(|c| c.is_alphanumeric()).partition(char::is_ascii);
    kept.len() > lost.len()
}

fn seed(source: &NameSource<'_>) -> String {
    format!("{} {}", source.method, source.path)
}

/// Replaces every run of disallowed characters by one `_`, and trims `_` at both ends. A text without disallowed
/// characters is returned unchanged.
fn sanitised(text: &str) -> String {
    if text.chars().all(is_allowed) {
        return text.to_owned();
    }
    let mut name = String::with_capacity(text.len());
    for c in text.chars() {
        if is_allowed(c) {
            name.push(c);
        } else if !name.ends_with('_') {
            name.push('_');
        }
    }
    name.trim_matches('_').to_owned()
}

fn is_allowed(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || c == '_'
}

fn with_hash(name: &str, seed: &str) -> String {
    let room = MAX_NAME - HASH_CHARS - 1;
    let head: String = name.chars().take(room).collect();
    format!("{}_{:08x}", head.trim_end_matches('_'), fnv1a(seed.as_bytes()))
}

/// FNV-1a, 32 bits (Fowler, Noll, Vo): simple, and identical on every machine and in every release.
fn fnv1a(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn source<'a>(operation_id: Option<&'a str>, method: &str, path: &'a str) -> NameSource<'a> {
        NameSource { operation_id, method: method.to_owned(), path }
    }

    #[test]
    fn names_come_from_the_operation_id_else_from_method_and_path() {
        let sources = [
            source(Some("listPets"), "get", "/pets"),
            source(Some("pets/show by id"), "get", "/pets/{petId}"),
            source(None, "delete", "/pets/{petId}"),
            source(Some("取得"), "get", "/v1/things.json"),
            source(Some("получить2"), "get", "/v2/things.json"),
            source(Some("zurück"), "get", "/v3/things.json"),
            source(None, "get", "/"),
        ];
        assert_eq!(
            tool_names(&sources),
            [
                "listPets",
                "pets_show_by_id",
                "delete_pets_petId",
                "get_v1_things_json",
                "get_v2_things_json",
                "zur_ck",
                "get"
            ]
        );
    }

    #[test]
    fn operations_that_want_one_name_all_bear_a_hash() {
        let one = source(Some("get.pet"), "get", "/pets/{id}");
        let other = source(Some("get pet"), "get", "/cats/{id}");
        let names = tool_names(&[one.clone(), other.clone()]);
        assert_eq!(tool_names(&[other, one]), [names[1].clone(), names[0].clone()]);
        assert!(names.iter().all(|name| name.starts_with("get_pet_") && name.len() == 16), "{names:?}");
    }

    #[test]
    fn a_long_name_is_cut_and_bears_a_hash_even_when_alone() {
        let long = "a".repeat(65);
        let name = tool_names(&[source(Some(&long), "get", "/a")]).remove(0);
        assert_eq!(name.len(), MAX_NAME);
        assert_ne!(name, tool_names(&[source(Some(&long), "get", "/b")]).remove(0));
    }

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: proptest::test_runner::RngSeed::Fixed(7), ..ProptestConfig::default() })]
        #[test]
        fn names_are_valid_unique_and_independent_of_other_operations(
            operations in proptest::collection::btree_map(
                ("(get|post)", "/[a-c/{}é]{0,70}"), proptest::option::of("[a-b. ü]{0,3}|[ab]{64,66}"), 1..12),
            kept in proptest::collection::vec(any::<bool>(), 12),
        ) {
            let all: Vec<NameSource<'_>> =
                operations.iter().map(|((method, path), id)| source(id.as_deref(), method, path)).collect();
            let names = tool_names(&all);
            let valid = |name: &String| !name.is_empty() && name.len() <= MAX_NAME
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
            prop_assert!(names.iter().all(valid));
            prop_assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len());

            let some: Vec<NameSource<'_>> =
                all.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(source, _)| source.clone()).collect();
            let fewer = tool_names(&some);
            for (source, name) in some.iter().zip(&fewer) {
                let before = &names[all.iter().position(|other| other == source).unwrap()];
                let alone = all.iter().filter(|other| wish(other) == wish(source)).count() == 1;
                let still_shared = some.iter().filter(|other| wish(other) == wish(source)).count() > 1;
                if alone || still_shared {
                    prop_assert_eq!(name, before);
                }
            }

            let mut reversed: Vec<NameSource<'_>> = all.clone();
            reversed.reverse();
            let mut names_reversed = tool_names(&reversed);
            names_reversed.reverse();
            prop_assert_eq!(names_reversed, names);
        }
    }
}
