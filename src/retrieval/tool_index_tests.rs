//! What a search over tools must hold.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::domain::representation::Pattern;
use crate::embedding::Vector;

fn tool(name: &str, description: &str) -> ToolText {
    ToolText { name: name.to_owned(), description: description.to_owned(), ..ToolText::default() }
}

fn segment(tools: &[ToolText], vectors: Option<&[ToolVectors]>) -> Arc<ToolSegment> {
    Arc::new(ToolSegment::build(tools, vectors, &FieldWeights::default()))
}

fn index(tools: &[ToolText]) -> ToolIndex {
    ToolIndex::new([segment(tools, None)], Fusion::default())
}

fn by_words(index: &ToolIndex, text: &str, k: usize) -> Vec<usize> {
    index.search(&ToolQuery { text, vector: None }, k).iter().map(|found| found.position).collect()
}

fn vector(components: &[f32]) -> Vector {
    Vector::new(components.to_vec()).unwrap()
}

#[test]
fn every_field_is_searched() {
    let pattern =
        Pattern { description: "lost luggage".to_owned(), cases: vec!["my bag is gone".to_owned()], weight: 1.0 };
    let tools = [
        tool("getWeather", ""),
        tool("b", "Cancels an order."),
        ToolText { parameters: "iban".to_owned(), ..tool("c", "") },
        ToolText { tags: "Geography".to_owned(), ..tool("d", "") },
        ToolText { patterns: vec![pattern], ..tool("e", "") },
    ];
    let index = index(&tools);
    for (text, position) in [("weather", 0), ("orders", 1), ("IBAN", 2), ("geography", 3), ("bag", 4), ("luggage", 4)] {
        assert_eq!(by_words(&index, text, 5), [position], "{text}");
    }
    assert!(by_words(&index, "nothing of it", 5).is_empty());
}

#[test]
fn a_name_that_is_mentioned_wins() {
    let tools = [tool("find_order", "Orders, orders and again orders of an order."), tool("get_it", "Something else.")];
    let index = index(&tools);
    let found = index.search(&ToolQuery { text: "orders: use get_it for my order", vector: None }, 5);
    assert_eq!(
        found.iter().map(|found| (found.position, found.why.named)).collect::<Vec<_>>(),
        [(1, true), (0, false)]
    );
}

#[test]
fn meaning_finds_what_words_do_not_and_says_by_which_pattern() {
    let pattern = |text: &str| Pattern { description: text.to_owned(), cases: Vec::new(), weight: 1.0 };
    let tools = [
        tool("a", "first"),
        ToolText { patterns: vec![pattern("x"), pattern("y")], ..tool("b", "second") },
        tool("c", "third"),
    ];
    let vectors = [
        ToolVectors { description: vector(&[1.0, 0.0, 0.0]), patterns: Vec::new() },
        ToolVectors {
            description: vector(&[1.0, 1.0, 0.0]),
            patterns: vec![vector(&[0.0, 1.0, 0.0]), vector(&[0.0, 0.0, 1.0])],
        },
        ToolVectors { description: vector(&[-1.0, 0.0, -1.0]), patterns: Vec::new() },
    ];
    let index = ToolIndex::new([segment(&tools, Some(&vectors))], Fusion::default());
    let found = index.search(&ToolQuery { text: "", vector: Some(&vector(&[0.1, 0.0, 1.0])) }, 9);
    assert_eq!(found.iter().map(|found| found.position).collect::<Vec<_>>(), [1, 0]);
    let closest = found[0].why.closest.unwrap();
    assert!(closest.pattern == Some(1) && closest.cosine > 0.98, "{closest:?}");
    assert_eq!(found[1].why.closest.unwrap().pattern, None);
}

#[test]
fn nothing_is_found_where_nothing_is_asked_or_there_is_nothing() {
    assert!(by_words(&ToolIndex::default(), "x", 3).is_empty());
    assert!(by_words(&index(&[tool("a", "x")]), "", 3).is_empty());
    assert!(by_words(&index(&[tool("a", "x")]), "x", 0).is_empty());
    assert!(by_words(&index(&[tool("", "")]), "x", 3).is_empty());
}

#[test]
fn a_tool_s_words_can_be_scored_without_the_index() {
    let tools =
        [tool("find_order", "Finds an order."), tool("cancel", "Cancels the order of a customer."), tool("x", "")];
    let documents = tools.each_ref().map(|tool| ToolDocument::of(tool, &FieldWeights::default()));
    let statistics = CollectionStatistics::of(&documents);
    let text = "cancel an order, please";
    let terms = statistics.query(text);
    for found in index(&tools).search(&ToolQuery { text, vector: None }, 9) {
        assert_eq!(found.score.to_bits(), statistics.score(&terms, &documents[found.position]).to_bits());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn segments_of_any_size_give_what_one_gives(
        texts in proptest::collection::vec("[a-d ]{0,20}", 0..12), cut in 0_usize..12, query in "[a-e ]{0,12}", k in 0_usize..6,
    ) {
        let tools: Vec<ToolText> = texts.iter().map(|text| tool("n", text)).collect();
        let (left, right) = tools.split_at(cut.min(tools.len()));
        let parted = ToolIndex::new([segment(left, None), segment(right, None)], Fusion::default());
        let query = ToolQuery { text: &query, vector: None };
        let found = parted.search(&query, k);
        prop_assert!(found.len() <= k);
        prop_assert_eq!(found, index(&tools).search(&query, k));
    }
}
