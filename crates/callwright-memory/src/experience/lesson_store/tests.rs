//! Tests of recall, and of its independence from the order of changes.

use std::sync::Arc;

use jiff::Timestamp;
use proptest::prelude::*;

use super::*;
use crate::memory::MemoryChange;
use callwright_search::embedding::Vector;
use callwright_types::memory::{Author, Retirement};
use callwright_types::{Evidence, EvidenceKind, Polarity, UsageCounter};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn lesson(id: &str, tool: &str, key: &str) -> Lesson {
    Lesson {
        id: id.to_owned(),
        scope: Scope::of_group("g"),
        toolset: None,
        tools: if tool.is_empty() { Vec::new() } else { vec![tool.to_owned()] },
        polarity: Polarity::Negative,
        key: key.to_owned(),
        value: format!("value of {id}"),
        author: Author::Composed,
        composed: None,
        client: None,
        evidence: Vec::new(),
        tally: UsageCounter::default(),
        retired: None,
        created_at: at(0),
        updated_at: at(0),
    }
}

fn store(lessons: impl IntoIterator<Item = Lesson>) -> LessonStore {
    LessonStore::new(lessons.into_iter().map(StoredLesson::from), Settings::default())
}

fn recalled(store: &LessonStore, tools: &[&str], text: &str) -> Vec<String> {
    let tools: Vec<AvailableTool<'_>> =
        tools.iter().map(|name| AvailableTool { toolset: None, name, fingerprint: None, purpose: "" }).collect();
    let query = RecallQuery { scope: &Scope::of_group("g"), text, tools: &tools, limit: 3, vector: None };
    store.recall(&query).iter().map(|found| found.id.clone()).collect()
}

#[test]
fn rare_words_of_a_request_find_its_lessons() {
    let store = store([
        lesson("1", "book", "book room date"),
        lesson("2", "book", "book room guest"),
        lesson("3", "book", "book room breakfast"),
        lesson("4", "book", "book suite"),
    ]);
    assert_eq!(recalled(&store, &["book"], "Please book a room with breakfast"), ["3", "1", "2"]);
    assert_eq!(recalled(&store, &["book"], "a suite"), ["4"]);
}

#[test]
fn lessons_of_other_scopes_or_tools_or_retired_are_excluded() {
    let retired = Retirement { at: at(1), reason: "it does harm".to_owned() };
    let toolset = Some("hotel".to_owned());
    let store = store([
        Lesson { scope: Scope::of_key("other"), ..lesson("1", "book", "room") },
        Lesson { retired: Some(retired), ..lesson("2", "book", "room") },
        Lesson { toolset, ..lesson("3", "book", "room") },
        lesson("4", "cancel", "room"),
        Lesson { tools: vec!["book".to_owned(), "list".to_owned()], ..lesson("5", "", "room") },
        lesson("6", "", "room"),
    ]);
    assert_eq!(recalled(&store, &["book"], "a room"), ["5", "6"]);
    assert_eq!(recalled(&store, &["list"], "a room"), ["5", "6"]);
    assert_eq!(recalled(&store, &[], "a room"), ["6"]);
    let tools = [AvailableTool { toolset: Some("hotel"), name: "book", fingerprint: None, purpose: "" }];
    let query = RecallQuery { scope: &Scope::of_group("g"), text: "room", tools: &tools, limit: 3, vector: None };
    assert_eq!(store.recall(&query).iter().map(|found| found.id.as_str()).collect::<Vec<_>>(), ["3", "6"]);
    assert_eq!((store.len(), store.retired()), (6, 1));
    let about = |scope: &Scope| {
        let duplicate = lesson("0", "book", "");
        let index = store.index(scope).into_iter();
        index
            .flat_map(|index| index.about(Subject::from(&duplicate)))
            .map(|lesson| lesson.id.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(about(&Scope::of_group("g")), ["2"], "retired lessons are included so that they are not learned again");
    assert_eq!(about(&Scope::of_group("empty")), Vec::<String>::new());
}

#[test]
fn stop_words_alone_find_nothing() {
    let store = store([lesson("1", "", "what to do with the weather"), lesson("2", "", "how do I")]);
    assert_eq!(recalled(&store, &[], "What do I do with it, and how?"), Vec::<String>::new());
    assert_eq!(recalled(&store, &[], ""), Vec::<String>::new());
    assert_eq!(recalled(&store, &[], "What is the weather?"), ["1"]);
}

#[test]
fn least_match_is_a_share_of_the_key() {
    let settings = Settings { least_match: 0.5, ..Settings::default() };
    let lessons = [lesson("1", "", "one two three"), lesson("2", "", "one two")];
    let store = LessonStore::new(lessons.map(StoredLesson::from), settings);
    assert_eq!(recalled(&store, &[], "one"), ["2"]);
}

#[test]
fn ties_are_ordered_by_the_latest_confirmation() {
    let with_evidence = |id: &str, second: i64| {
        let evidence =
            Evidence { kind: EvidenceKind::Mended, trace: None, session: None, source: None, at: at(second) };
        Lesson { evidence: vec![evidence], ..lesson(id, "", "room date") }
    };
    let store = store([with_evidence("1", 5), with_evidence("2", 9), with_evidence("3", 7), with_evidence("4", 7)]);
    assert_eq!(recalled(&store, &[], "the date of the room"), ["2", "3", "4"]);
}

#[test]
fn conflicting_lessons_are_ordered_by_the_latest_confirmation() {
    let with = |id: &str, key: &str, polarity, second: i64| {
        let evidence =
            Evidence { kind: EvidenceKind::Mended, trace: None, session: None, source: None, at: at(second) };
        Lesson { polarity, evidence: vec![evidence], ..lesson(id, "", key) }
    };
    let key = "room date breakfast guest";
    let failed = with("1", key, Polarity::Negative, 5);
    let good = with("2", "room date breakfast guest night", Polarity::Positive, 9);
    assert_eq!(recalled(&store([failed.clone(), good.clone()]), &[], "room date"), ["2", "1"]);
    let good = Lesson { evidence: Vec::new(), ..good };
    assert_eq!(recalled(&store([failed, good]), &[], "room date"), ["1", "2"], "the shorter key fits better");
}

#[test]
fn semantic_similarity_orders_the_lessons_found_by_words() {
    let vector = |components: [f32; 2]| Vector::new(components.to_vec());
    let stored = |id: &str, key: &str, components: [f32; 2]| StoredLesson {
        lesson: Arc::new(lesson(id, "", key)),
        vector: vector(components),
    };
    let lessons =
        [stored("1", "room date", [1.0, 0.0]), stored("2", "room guest", [0.0, 1.0]), stored("3", "suite", [0.0, 1.0])];
    let store = LessonStore::new(lessons, Settings::default());
    let recall = |vector: Option<&Vector>| {
        let query = RecallQuery { scope: &Scope::of_group("g"), text: "a room", tools: &[], limit: 3, vector };
        store.recall(&query).iter().map(|found| found.id.clone()).collect::<Vec<_>>()
    };
    assert_eq!(recall(None), ["1", "2"]);
    assert_eq!(recall(vector([0.0, 1.0]).as_ref()), ["2", "1"], "the suite shares no word");
    assert_eq!(
        recall(Vector::new(vec![0.0, 0.0, 1.0]).as_ref()),
        ["1", "2"],
        "a vector of another embedder is ignored"
    );
}

#[test]
fn deleted_lessons_are_not_found() {
    let first = store((0..2000).map(|number| lesson(&format!("{number:04}"), "", &format!("room word{number}"))));
    assert_eq!(recalled(&first, &[], "word7"), ["0007"]);
    let later = first.with([
        MemoryChange::Deleted("0007".to_owned()),
        MemoryChange::Stored(lesson("new", "", "word7 again").into()),
    ]);
    assert_eq!(recalled(&later, &[], "word7"), ["new"]);
    assert!(later.get(&Scope::of_group("g"), "0007").is_none() && first.get(&Scope::of_group("g"), "0007").is_some());
    let none =
        later.with(later.in_scope(&Scope::of_group("g")).iter().map(|lesson| MemoryChange::Deleted(lesson.id.clone())));
    assert!(none.is_empty());
    let both = none.with([MemoryChange::Stored(lesson("a", "", "room").into()), MemoryChange::Deleted("a".to_owned())]);
    assert!(both.is_empty());
}

#[test]
fn words_of_every_key_find_the_shortest_keys() {
    let many = (0..60_000).map(|number| lesson(&format!("{number:05}"), "", &format!("room x{number} y{number}")));
    let store = store(many.chain([lesson("short", "", "room")]));
    let found = recalled(&store, &[], "room");
    assert_eq!((found.len(), found[0].as_str()), (3, "short"));
    assert_eq!(recalled(&store, &[], "room x59999")[0], "59999");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn incremental_changes_equal_a_rebuilt_store(
        steps in proptest::collection::vec((0_u8..40, "[abcd]( [abcde]){0,3}", 0_u8..5), 1..80), cut in 0_usize..80,
    ) {
        let change = |(id, key, kind): &(u8, String, u8)| match kind {
            0 => MemoryChange::Deleted(id.to_string()),
            kind => {
                let tool = if *kind == 1 { "t" } else { "" };
                let retired = (*kind == 2).then(|| Retirement { at: at(1), reason: String::new() });
                // A single letter is a stop word.
                MemoryChange::Stored(Lesson { retired, ..lesson(&id.to_string(), tool, &key.replace(' ', "x ")) }.into())
            }
        };
        let cut = cut.min(steps.len());
        let grown = store([]).with(steps[..cut].iter().map(change)).with(steps[cut..].iter().map(change));
        let singly = steps.iter().fold(store([]), |store, step| store.with([change(step)]));
        let rebuilt = store(grown.in_scope(&Scope::of_group("g")).iter().map(|lesson| (**lesson).clone()));
        prop_assert_eq!(grown.in_scope(&Scope::of_group("g")), singly.in_scope(&Scope::of_group("g")));
        for text in ["ax", "ax bx", "cx dx", "d e", "bx cx ax"] {
            let expected = recalled(&rebuilt, &["t"], text);
            prop_assert_eq!(&recalled(&grown, &["t"], text), &expected);
            prop_assert_eq!(&recalled(&singly, &["t"], text), &expected);
        }
    }
}
