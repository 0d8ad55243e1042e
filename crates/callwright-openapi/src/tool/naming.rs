//! Generates tool names: readable, at most 64 characters of `[a-zA-Z0-9_-]`, unique, and stable.
//!
//! A name depends on its own operation only. If several operations would get the same name, all of them get method and
//! path appended, independent of their order. Adding, removing and reordering other operations therefore keeps the
//! names.
//!
//! A name that is too long keeps its first and last words; the longest words between them are cut. It ends with a hash,
//! and differs from other names in more than the hash: names whose shortened words are the same keep the words in which
//! they differ ([`distinguished`]).

use std::collections::{BTreeMap, HashMap, HashSet};

use callwright_common::limits::PROVIDER_NAME_LENGTH;
use callwright_common::text::beginning_bytes;

/// Length of a hash: 8 hexadecimal digits.
const HASH_CHARS: usize = 8;
/// Length to which words of a long name are cut before words are dropped, with the separator.
const MIN_WORD: usize = 4;
/// Maximum length of a word that distinguishes names.
const MAX_KEPT: usize = 16;

/// Input of a tool's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NameSource<'a> {
    /// The operation's `operationId`, if it has one.
    pub(crate) operation_id: Option<&'a str>,
    /// The method, in lower case.
    pub(crate) method: String,
    /// The path as written in the document. Method and path together are unique in a document.
    pub(crate) path: &'a str,
}

/// Returns one name for each source, in the same order.
pub(crate) fn tool_names(sources: &[NameSource<'_>]) -> Vec<String> {
    let names = long_names(sources);
    let shared = repeated(&names);
    let mut taken: HashSet<String> = names.iter().filter(|name| !shared.contains(*name)).cloned().collect();
    let mut unique = Vec::with_capacity(names.len());
    for (source, name) in sources.iter().zip(names) {
        unique.push(if shared.contains(&name) { hashed_name(&name, seed(source), &mut taken) } else { name });
    }
    unique
}

/// Returns the names of all sources with at most [`PROVIDER_NAME_LENGTH`] characters. Those that several operations share have
/// method and path, because an `operationId` should be unique.
fn long_names(sources: &[NameSource<'_>]) -> Vec<String> {
    let mut names: Vec<String> = sources.iter().map(base_name).collect();
    let shared = repeated(&names);
    for (name, source) in names.iter_mut().zip(sources) {
        if source.operation_id.is_some() && shared.contains(name) {
            *name = sanitised(&format!("{name}_{}_{}", source.method, source.path));
        }
    }
    shortened(&names, sources)
}

/// Returns the names that occur more than once.
fn repeated(names: &[String]) -> HashSet<String> {
    let mut seen = HashSet::new();
    names.iter().filter(|name| !seen.insert(*name)).cloned().collect()
}

/// Shortens the names that are too long.
fn shortened(names: &[String], sources: &[NameSource<'_>]) -> Vec<String> {
    let mut stems: HashMap<String, Vec<usize>> = HashMap::new();
    for (index, name) in names.iter().enumerate().filter(|(_, name)| name.len() > PROVIDER_NAME_LENGTH) {
        stems.entry(shorten_words(&words(name), PROVIDER_NAME_LENGTH - HASH_CHARS - 1, None)).or_default().push(index);
    }
    let mut short = names.to_vec();
    for (stem, indexes) in stems {
        let group: Vec<&str> = indexes.iter().filter_map(|index| names.get(*index)).map(String::as_str).collect();
        let stems = if group.len() > 1 { distinguished(&group) } else { vec![stem] };
        for (index, stem) in indexes.into_iter().zip(stems) {
            if let (Some(name), Some(source)) = (short.get_mut(index), sources.get(index)) {
                *name = with_hash(&stem, &seed(source));
            }
        }
    }
    short
}

/// Returns stems for names whose shortened words are the same: each keeps the first word in which the names differ.
fn distinguished(names: &[&str]) -> Vec<String> {
    let room = PROVIDER_NAME_LENGTH - HASH_CHARS - 1;
    let all: Vec<Vec<&str>> = names.iter().map(|name| words(name)).collect();
    let Some(first) = all.first() else { return Vec::new() };
    let mut common = first.len();
    for other in &all {
        common = common.min(first.iter().zip(other).take_while(|(one, other)| one == other).count());
    }
    let mut stems: Vec<String> = all.iter().map(|words| shorten_words(words, room, Some(common))).collect();
    let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, stem) in stems.iter().enumerate() {
        groups.entry(stem.clone()).or_default().push(index);
    }
    // Names that are equal up to here differ in a later word.
    for indexes in groups.into_values().filter(|indexes| indexes.len() > 1 && indexes.len() < names.len()) {
        let group: Vec<&str> = indexes.iter().filter_map(|index| names.get(*index)).copied().collect();
        for (index, stem) in indexes.into_iter().zip(distinguished(&group)) {
            if let Some(slot) = stems.get_mut(index) {
                *slot = stem;
            }
        }
    }
    stems
}

/// Joins `words` in at most `room` characters: keeps the first and the last word, and cuts the longest words between
/// them. If the words are too many, those in the middle are dropped. The word at index `kept` stays recognisable.
fn shorten_words(words: &[&str], room: usize, kept: Option<usize>) -> String {
    if words.iter().map(|word| word.len()).sum::<usize>() <= room {
        return words.concat();
    }
    let [first, middle @ .., last] = words else { return beginning_bytes(&words.concat(), room).to_owned() };
    let (first, last) = (beginning_bytes(first, room / 4), tail(last, room / 3));
    let distinct = kept.and_then(|index| middle.get(index.checked_sub(1)?)).map(|word| both_ends(word));
    let reserved = distinct.as_ref().map_or(0, String::len);
    let left = room.saturating_sub(first.len() + last.len() + reserved);
    let mut longest = middle.iter().map(|word| word.len()).max().unwrap_or_default();
    while longest > MIN_WORD && middle.iter().map(|word| word.len().min(longest)).sum::<usize>() > left + longest {
        longest -= 1;
    }
    let mut joined = String::from(first);
    let mut spent = 0;
    for (index, word) in middle.iter().enumerate() {
        let word = beginning_bytes(word, longest);
        if kept == Some(index + 1) {
            joined.extend(distinct.as_deref());
        } else if spent + word.len() <= left {
            spent += word.len();
            joined.push_str(word);
        }
    }
    joined.push_str(last);
    joined
}

/// Returns a word of at most [`MAX_KEPT`] characters, or its beginning and its end.
fn both_ends(word: &str) -> String {
    if word.len() <= MAX_KEPT {
        return word.to_owned();
    }
    format!("{}{}", beginning_bytes(word, MAX_KEPT / 2), tail(word, MAX_KEPT / 2))
}

/// Returns the words of a name, each with the separators before it. A capital after a small letter begins a word.
fn words(name: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut begin = 0;
    let mut before = '_';
    for (at, letter) in name.char_indices() {
        let is_separator = matches!(letter, '_' | '-');
        let after_separator = matches!(before, '_' | '-');
        let begins = is_separator && !after_separator
            || letter.is_ascii_uppercase() && (before.is_ascii_lowercase() || before.is_ascii_digit());
        if begins && at > begin {
            words.extend(name.get(begin..at));
            begin = at;
        }
        before = letter;
    }
    words.extend(name.get(begin..).filter(|rest| !rest.is_empty()));
    words
}

/// Returns the last `bytes` bytes of an ASCII text.
fn tail(text: &str, bytes: usize) -> &str {
    text.get(text.len().saturating_sub(bytes)..).unwrap_or(text)
}

/// Returns a name for the tool `name` of `toolset` that is unique among all toolsets and not in `taken`.
pub(crate) fn prefixed(toolset: &str, name: &str, taken: &mut HashSet<String>) -> String {
    let long = sanitised(&format!("{toolset}_{name}"));
    let prefixed =
        if long.len() <= PROVIDER_NAME_LENGTH { long } else { with_hash(&long, &format!("{toolset} {name}")) };
    if taken.insert(prefixed.clone()) { prefixed } else { hashed_name(&prefixed, format!("{toolset} {name}"), taken) }
}

/// Appends a hash to `name`; on a collision, hashes again with an extended seed.
fn hashed_name(name: &str, mut seed: String, taken: &mut HashSet<String>) -> String {
    loop {
        let name = with_hash(name, &seed);
        if taken.insert(name.clone()) {
            return name;
        }
        seed.push('#');
    }
}

/// Returns the name of a source without regard to its length.
fn base_name(source: &NameSource<'_>) -> String {
    let from_id = source.operation_id.filter(|id| is_readable(id)).map(sanitised).filter(|name| !name.is_empty());
    from_id.unwrap_or_else(|| sanitised(&format!("{}_{}", source.method, source.path)))
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
    let stem = shorten_words(&words(name), PROVIDER_NAME_LENGTH - HASH_CHARS - 1, None);
    format!("{}_{:08x}", stem.trim_end_matches('_'), fnv1a(seed.as_bytes()))
}

/// FNV-1a, 32 bits (Fowler, Noll, Vo): simple, and identical on every machine and in every release.
fn fnv1a(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

/// Replacement for a name without any allowed character.
const NAMELESS: &str = "argument";

/// Returns an acceptable name for each of `names`, which are distinct and not in `taken`. A name that every provider
/// accepts is kept. Otherwise the refused characters are replaced (`filter[name]` becomes `filter_name`) and a number
/// is appended if the result is taken.
pub(crate) fn offered_names(names: &[&str], taken: &HashSet<String>) -> Vec<String> {
    let mut taken = taken.clone();
    taken.extend(names.iter().filter(|name| is_offered(name)).map(|name| (*name).to_owned()));
    let mut offered = Vec::with_capacity(names.len());
    for name in names {
        let name = if is_offered(name) { (*name).to_owned() } else { free_name(&plain(name), &taken) };
        taken.insert(name.clone());
        offered.push(name);
    }
    offered
}

/// Returns `preferred` if it is not in `taken`, else the first free name of `preferred_2`, `preferred_3`, ...
pub(crate) fn free_name(preferred: &str, taken: &HashSet<String>) -> String {
    let numbered = (2..).map(|number| {
        let end = format!("_{number}");
        format!("{}{end}", beginning_bytes(preferred, PROVIDER_NAME_LENGTH - end.len()))
    });
    std::iter::once(preferred.to_owned()).chain(numbered).find(|name| !taken.contains(name)).unwrap_or_default()
}

fn is_offered(name: &str) -> bool {
    !name.is_empty() && name.len() <= PROVIDER_NAME_LENGTH && name.chars().all(is_plain)
}

fn is_plain(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.' | '-')
}

fn plain(name: &str) -> String {
    let words: Vec<&str> = name.split(|letter| !is_plain(letter)).filter(|word| !word.is_empty()).collect();
    let joined = words.join("_");
    if joined.is_empty() { NAMELESS.to_owned() } else { beginning_bytes(&joined, PROVIDER_NAME_LENGTH).to_owned() }
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
                "listPets", "pets_show_by_id", "delete_pets_petId", "get_v1_things_json", "get_v2_things_json",
                "zur_ck", "get"
            ]
        );
    }

    #[test]
    fn operations_with_the_same_name_all_get_method_and_path() {
        let one = source(Some("get.pet"), "get", "/pets/{id}");
        let other = source(Some("get pet"), "get", "/cats/{id}");
        let names = tool_names(&[one.clone(), other.clone()]);
        assert_eq!(names, ["get_pet_get_pets_id", "get_pet_get_cats_id"]);
        assert_eq!(tool_names(&[other, one]), [names[1].clone(), names[0].clone()]);
        let alike = [source(None, "get", "/pets/{id}"), source(None, "get", "/pets/id")];
        let names = tool_names(&alike);
        assert!(names.iter().all(|name| name.starts_with("get_pets_id_") && name.len() == 20), "{names:?}");
    }

    #[test]
    fn a_long_name_keeps_its_first_and_last_words() {
        let create = source(
            Some("organizations.locations.collections.engines.servingConfigs.conversations.sessions.create"),
            "post",
            "/a",
        );
        let delete = NameSource {
            operation_id: Some(
                "organizations.locations.collections.engines.servingConfigs.conversations.sessions.delete",
            ),
            ..create.clone()
        };
        let names = tool_names(&[create, delete]);
        let stems: Vec<&str> = names.iter().map(|name| &name[..name.len() - HASH_CHARS - 1]).collect();
        assert_eq!(
            stems,
            [
                "organizations_loca_coll_engi_servConfi_conv_sess_create",
                "organizations_loca_coll_engi_servConfi_conv_sess_delete"
            ]
        );
    }

    #[test]
    fn long_names_differ_in_more_than_their_hashes() {
        let middle = ["alphabetical", "alphanumeric", "alphabets"];
        let rest = "_of_the_very_long_collection_of_many_entries_within_the_organisation_list";
        let ids: Vec<String> = middle.iter().map(|word| format!("customers_{word}{rest}")).collect();
        let paths = ["/a", "/b", "/c"];
        let sources: Vec<NameSource<'_>> =
            ids.iter().zip(paths).map(|(id, path)| source(Some(id), "get", path)).collect();
        let names = tool_names(&sources);
        let stems: HashSet<&str> = names.iter().map(|name| &name[..name.len() - HASH_CHARS - 1]).collect();
        assert_eq!(stems.len(), ids.len(), "{names:?}");
        assert!(names.iter().all(|name| name.len() <= PROVIDER_NAME_LENGTH), "{names:?}");
    }

    #[test]
    fn a_shortened_name_gets_a_hash_even_without_a_conflict() {
        let long = "a".repeat(65);
        let name = tool_names(&[source(Some(&long), "get", "/a")]).remove(0);
        assert_eq!(name.len(), PROVIDER_NAME_LENGTH);
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
            let valid = |name: &String| !name.is_empty() && name.len() <= PROVIDER_NAME_LENGTH
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
            prop_assert!(names.iter().all(valid));
            prop_assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len());

            let some: Vec<NameSource<'_>> =
                all.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(source, _)| source.clone()).collect();
            let fewer = tool_names(&some);
            for (source, name) in some.iter().zip(&fewer) {
                let before = &names[all.iter().position(|other| other == source).unwrap()];
                let short = |source: &NameSource<'_>| shorten_words(&words(&base_name(source)), PROVIDER_NAME_LENGTH - HASH_CHARS - 1, None);
                let alone = all.iter().filter(|other| short(other) == short(source)).count() == 1;
                let still_shared = some.iter().filter(|other| base_name(other) == base_name(source)).count() > 1;
                if alone || still_shared && base_name(source).len() <= PROVIDER_NAME_LENGTH / 2 {
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

    #[test]
    fn names_that_providers_refuse_are_changed_and_stay_distinct() {
        let long = "x".repeat(70);
        let longer = "x".repeat(71);
        let names =
            ["id", "filter[name]", "filter_name", "$top", "top", "@", "größe", "", &long, &longer, "a b\r\nc", "$top "];
        let offered = offered_names(&names, &HashSet::from(["argument".to_owned()]));
        let expected = [
            "id",
            "filter_name_2",
            "filter_name",
            "top_2",
            "top",
            "argument_2",
            "gr_e",
            "argument_3",
            &"x".repeat(64),
            &format!("{}_2", "x".repeat(62)),
            "a_b_c",
            "top_3",
        ];
        assert_eq!(offered, expected);
        assert!(offered.iter().all(|name| is_offered(name)));
    }

    #[test]
    fn names_accepted_by_every_provider_are_unchanged() {
        for name in ["id", "X-Request-ID", "a.b", "_", "9", &"x".repeat(64)] {
            assert_eq!(offered_names(&[name], &HashSet::new()), [name]);
        }
    }
}
