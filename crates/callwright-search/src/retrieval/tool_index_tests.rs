//! Properties of a search over tools.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::embedding::Vector;
use callwright_types::representation::Pattern;

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
fn weights_learned_without_vectors_apply_without_vectors() {
    let weighted_tool = |name: &str, weight: f32| ToolText {
        patterns: vec![Pattern { description: "orders".to_owned(), cases: Vec::new(), weight }],
        ..tool(name, "")
    };
    let segment = segment(&[weighted_tool("seldom", 0.1), weighted_tool("often", 5.0)], None);
    let learned = |sharpness: f32| ToolIndex::new([segment.clone()], Fusion { sharpness, words: 1.0 });
    assert_eq!(by_words(&learned(0.0), "my order", 2), [1, 0]);
    assert_eq!(
        by_words(&learned(10.0), "my order", 2),
        [0, 1],
        "weights that were learned for vectors do not apply to words"
    );
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
fn meaning_finds_tools_without_matching_words_by_pattern() {
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
fn empty_queries_and_indexes_have_no_results() {
    assert!(by_words(&ToolIndex::default(), "x", 3).is_empty());
    assert!(by_words(&index(&[tool("a", "x")]), "", 3).is_empty());
    assert!(by_words(&index(&[tool("a", "x")]), "x", 0).is_empty());
    assert!(by_words(&index(&[tool("", "")]), "x", 3).is_empty());
}

#[test]
fn a_tool_s_words_can_be_scored_without_the_index() {
    let tools =
        [tool("find_order", "Finds an order."), tool("cancel", "Cancels the order of a customer."), tool("x", "")];
    let documents = tools.each_ref().map(|tool| ToolDocument::new(tool, &FieldWeights::default()));
    let statistics = CollectionStatistics::new(&documents);
    let text = "cancel an order, please";
    let terms = statistics.query(text);
    for found in index(&tools).search(&ToolQuery { text, vector: None }, 9) {
        assert_eq!(found.score.to_bits(), statistics.score(&terms, &documents[found.position]).to_bits());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn results_do_not_depend_on_the_segments(
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

#[test]
fn tools_with_and_without_vectors_share_an_index() {
    let with = [tool("a", "x")];
    let vectors = [ToolVectors { description: vector(&[1.0, 0.0]), patterns: Vec::new() }];
    let index = ToolIndex::new([segment(&with, Some(&vectors)), segment(&[tool("b", "bee")], None)], Fusion::default());
    let found = |text: &str, components: &[f32]| {
        let vector = vector(components);
        let found = index.search(&ToolQuery { text, vector: Some(&vector) }, 9);
        found.iter().map(|found| found.position).collect::<Vec<_>>()
    };
    assert!(found("", &[1.0, 0.0]).is_empty());
    assert_eq!(found("bee", &[1.0, 0.0]), [1], "vectors of one are no reason to prefer it to one that has none yet");
    assert_eq!(found("bee", &[0.0, 0.0]), [1], "a request without meaning for the model is ranked by words");
    assert_eq!(found("bee", &[1.0, 0.0, 1.0]), [1], "vectors of another embedder are compared with none");
}

#[test]
fn invalid_weights_are_harmless() {
    let pattern = |weight| Pattern { description: "x".to_owned(), cases: Vec::new(), weight };
    let patterns: Vec<Pattern> = [f32::NAN, f32::INFINITY, -1.0, 0.0].map(pattern).to_vec();
    let tools = [ToolText { patterns, ..tool("a", "y") }, tool("b", "x y")];
    let vectors = tools.each_ref().map(|tool| ToolVectors {
        description: vector(&[1.0, 0.0]),
        patterns: vec![vector(&[0.0, 1.0]); tool.patterns.len()],
    });
    let index = ToolIndex::new([segment(&tools, Some(&vectors))], Fusion::default());
    for text in ["x", "y", ""] {
        let found = index.search(&ToolQuery { text, vector: Some(&vector(&[1.0, 1.0])) }, 9);
        assert!(found.len() == 2 && found.iter().all(|found| found.score.is_finite()), "{found:?}");
    }
}

/// Returns a vector near one of some topics.
fn topical(random: &mut fastrand::Rng, topics: &[Vec<f32>]) -> Vector {
    let topic = &topics[random.usize(0..topics.len())];
    vector(&topic.iter().map(|component| component + 0.8 * (random.f32() - 0.5)).collect::<Vec<_>>())
}

#[test]
fn a_large_index_approximates_exact_comparison() {
    let mut random = fastrand::Rng::with_seed(11);
    let topics: Vec<Vec<f32>> = (0..40).map(|_| (0..384).map(|_| random.f32() - 0.5).collect()).collect();
    let tools: Vec<ToolText> = (0..6_000).map(|number| tool(&format!("t_{number}"), "")).collect();
    let own = |_| ToolVectors { description: topical(&mut random, &topics), patterns: Vec::new() };
    let vectors: Vec<ToolVectors> = (0..tools.len()).map(own).collect();
    let index = ToolIndex::new([segment(&tools, Some(&vectors))], Fusion::default());
    let (mut found, mut expected) = (0, 0);
    for _ in 0..20 {
        let vector = topical(&mut random, &topics);
        let query = ToolQuery { text: "", vector: Some(&vector) };
        let narrowed: Vec<usize> = index.search(&query, 10).iter().map(|found| found.position).collect();
        let exact = index.search_exactly(&query, 10);
        expected += exact.len();
        found += exact.iter().filter(|exact| narrowed.contains(&exact.position)).count();
    }
    assert!(expected == 200 && found >= 190, "{found} of {expected}");
    let last = ToolQuery { text: "t_5999", vector: Some(&vectors[0].description) };
    assert_eq!(index.search(&last, 1)[0].position, 5_999, "a named tool is never narrowed away");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_panics_and_every_score_is_a_number(
        texts in proptest::collection::vec(("\\PC{0,12}", "\\PC{0,40}"), 0..8), query in "\\PC{0,40}", k in 0_usize..10,
        seed in 0_u64..1000,
    ) {
        let mut random = fastrand::Rng::with_seed(seed);
        let tools: Vec<ToolText> = texts.iter().map(|(name, description)| tool(name, description)).collect();
        let mut any = || vector(&(0..7).map(|_| random.f32() - 0.5).collect::<Vec<_>>());
        let vectors: Vec<ToolVectors> =
            tools.iter().map(|_| ToolVectors { description: any(), patterns: Vec::new() }).collect();
        let query_vector = any();
        let index = ToolIndex::new([segment(&tools, Some(&vectors))], Fusion::default());
        for vector in [None, Some(&query_vector)] {
            let found = index.search(&ToolQuery { text: &query, vector }, k);
            prop_assert!(found.len() <= k);
            prop_assert!(found.iter().all(|found| found.score.is_finite() && found.position < tools.len()));
            let better = |pair: &[RankedTool]| (pair[0].why.named, pair[0].score) >= (pair[1].why.named, pair[1].score);
            prop_assert!(found.windows(2).all(better));
        }
    }
}
