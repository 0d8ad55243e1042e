use jiff::civil::date;
use proptest::prelude::*;

use super::*;
use callwright_common::text::one_line;
use callwright_types::representation::Pattern;

fn of_text(content: &str) -> Result<RepresentationFile, RepresentationError> {
    RepresentationFile::parse(&FolderFile { path: PathBuf::from("bank.yaml"), text: content.to_owned() })
}

fn error(content: &str) -> String {
    of_text(content).unwrap_err().to_string()
}

/// Returns a file with one tool with these pattern lines.
fn with_patterns(patterns: &str) -> String {
    format!("tools:\n- tool: lost_card\n  patterns:\n{patterns}")
}

fn pattern(description: &str, cases: &[&str], weight: f32) -> Pattern {
    Pattern {
        description: description.to_owned(),
        cases: cases.iter().map(|case| (*case).to_owned()).collect(),
        weight,
    }
}

fn sample() -> RepresentationFile {
    let day = date(2026, 11, 22);
    let lost = pattern("Requests to block a card that was lost or stolen.", &["lost my card", "card is gone"], 1.0);
    let old = pattern(
        "Ä card: that \"is\" #old, and no longer wanted by anybody, neither at home nor while travelling, in shops or at machines that give money.",
        &["- yes", "1.0", "null"],
        0.25,
    );
    RepresentationFile {
        toolset: Some("bank/v1.yaml".to_owned()),
        learned: Some(LearnerRun {
            date: day,
            proposer: "extractive".to_owned(),
            embedder: Some("static table 1".to_owned()),
            seed: u64::MAX,
            macro_f1: Some((53.81, 88.02)),
        }),
        ranking: Some(Ranking { sharpness: 10.0, words: 0.05 }),
        classifier: None,
        tools: vec![
            StoredRepresentation {
                tool: "lost_card".to_owned(),
                patterns: vec![
                    StoredPattern::learned(&lost, "extractive", 1.234, day),
                    StoredPattern { pattern: old, source: PatternSource::Written, gain: None, date: None },
                ],
            },
            StoredRepresentation { tool: "no".to_owned(), patterns: Vec::new() },
        ],
    }
}

#[test]
fn written_files_are_read_back_unchanged() {
    let mut file = sample();
    let text = file.to_text().unwrap();
    file.tools[0].patterns[0].gain = Some(1.23);
    assert_eq!(of_text(&text).unwrap(), file);
    assert_eq!(file.to_text().unwrap(), text, "equal content gives equal bytes");
}

#[test]
fn written_file_is_readable() {
    insta::assert_snapshot!(sample().to_text().unwrap());
}

/// Generates tidied texts that a learner or a model may produce.
fn any_text(chars: usize) -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "\\PC{1,80}",
        2 => "[ a-zäß:#'\"{}\\[\\],&*!|>%@`?=~0-9.\\-]{1,400}",
        1 => prop::sample::select(vec!["null", "~", "true", "off", "1e3", "0x1f", ".nan", "2026-11-22", "=", "<<", "---", "...", "? a", "- b", "key: value", "# c", "!tag", "&a", "*a", "|", ">-", "'", "\"", "\\", "%YAML"])
            .prop_map(str::to_owned),
        1 => any::<String>(),
    ]
    .prop_map(move |text| shortened(&one_line(&text), chars).to_owned())
    .prop_filter("texts are not empty", |text| !text.is_empty())
}

prop_compose! {
    fn any_pattern()(
        description in any_text(limits::DESCRIPTION_CHARS),
        cases in prop::collection::vec(any_text(limits::CASE_CHARS), 0..4),
        weight in 0.000_001_f32..100.0,
        gain in prop::option::of((-10_000_i32..10_000).prop_map(|gain| f64::from(gain) / 100.0)),
        date in prop::option::of((1..=9999_i16, 1..=12_i8, 1..=28_i8)),
        source in prop_oneof![
            any_text(60).prop_map(PatternSource::Learned), Just(PatternSource::Edited), Just(PatternSource::Written),
        ],
    ) -> StoredPattern {
        let date = date.map(|(year, month, day)| jiff::civil::date(year, month, day));
        StoredPattern { pattern: Pattern { description, cases, weight }, source, gain, date }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_written_file_is_read_back(
        toolset in prop::option::of(any_text(60)),
        tools in prop::collection::btree_map(any_text(60), prop::collection::vec(any_pattern(), 0..4), 0..4),
        sharpness in 0.0_f32..100.0,
        words in 0.0_f32..1.0,
    ) {
        let tools = tools.into_iter().map(|(tool, mut patterns)| {
            let mut seen = std::collections::HashSet::new();
            patterns.retain(|stored| seen.insert((stored.pattern.description.clone(), stored.pattern.cases.clone())));
            StoredRepresentation { tool, patterns }
        });
        let ranking = Some(Ranking { sharpness, words });
        let file = RepresentationFile { toolset, learned: None, ranking, classifier: None, tools: tools.collect() };
        let text = file.to_text().unwrap();
        prop_assert_eq!(of_text(&text).unwrap_or_else(|error| panic!("{error}\n{text}")), file, "{}", text);
    }

    #[test]
    fn parsing_never_panics(text in any::<String>()) {
        let _ = of_text(&text);
        let _ = of_text(&with_patterns(&format!("  - {text}")));
    }
}

#[test]
fn handwritten_patterns_require_only_a_description() {
    let file = of_text(&with_patterns("  - description: Lost cards.\n")).unwrap();
    let expected = StoredPattern {
        pattern: pattern("Lost cards.", &[], 1.0),
        source: PatternSource::Written,
        gain: None,
        date: None,
    };
    assert_eq!(file.tool("lost_card").unwrap().patterns, [expected]);
    assert_eq!(of_text("# nothing yet\n").unwrap(), RepresentationFile::default());
}

#[test]
fn changed_words_are_edits_and_line_breaks_are_not() {
    let text = sample().to_text().unwrap();
    let source = |text: &str| of_text(text).unwrap().tools[0].patterns[0].clone();
    assert_eq!(source(&text).source, PatternSource::Learned("extractive".to_owned()));
    let own = "description: Requests to block a card that was lost or stolen.";
    assert!(text.contains(own), "{text}");
    let folded = text.replace(own, "description: >\n      Requests to block a card\n      that was lost or stolen.\n");
    assert_eq!(source(&folded).source, PatternSource::Learned("extractive".to_owned()));
    for edited in [
        text.replace("lost or stolen", "lost, or stolen"),
        text.replacen("weight: 1.0", "weight: 1.5", 1),
        text.replace("- card is gone\n", "- card has gone\n"),
    ] {
        assert_ne!(edited, text);
        let stored = source(&edited);
        assert_eq!((&stored.source, stored.gain), (&PatternSource::Edited, None), "{edited}");
    }
}

#[test]
fn edited_patterns_stay_marked_after_rewriting() {
    let text = sample().to_text().unwrap().replace("lost or stolen", "lost, or stolen");
    let again = of_text(&text).unwrap().to_text().unwrap();
    assert!(again.contains("source: edited"), "{again}");
    assert_eq!(of_text(&again).unwrap(), of_text(&text).unwrap());
}

#[test]
fn errors_state_location_and_fix() {
    let cases = [
        ("tool: []\n".to_owned(), "bank.yaml:1:1: unknown key `tool`; did you mean `tools`?"),
        (
            with_patterns("  - description: a\n    case: [b]\n"),
            "bank.yaml:5:5: unknown key `case`; did you mean `cases`?",
        ),
        (with_patterns("  - description: ''\n"), "bank.yaml:4:18: the description is empty; describe"),
        (with_patterns("  - description: a\n    cases: [b, ' ']\n"), "bank.yaml:5:16: the case is empty"),
        (
            with_patterns("  - description: a\n    weight: .nan\n"),
            "bank.yaml:5:13: `weight` is NaN; it must be above 0",
        ),
        (with_patterns("  - description: a\n    weight: -1\n"), "bank.yaml:5:13: `weight` is -1; it must be above 0"),
        (with_patterns("  - description: a\n    weight: 0\n"), "bank.yaml:5:13: `weight` is 0; it must be above 0"),
        (with_patterns("  - description: a\n    weight: .inf\n"), "bank.yaml:5:13: `weight` is inf"),
        (with_patterns("  - description: a\n    gain: .nan\n"), "bank.yaml:5:11: `gain` is NaN"),
        (with_patterns("  - description: \"a\\u0007b\"\n"), "bank.yaml:4:18: the description has the character U+0007"),
        (with_patterns("  - description: \"a\\u202eb\"\n"), "bank.yaml:4:18: the description has the character U+202E"),
        (with_patterns("  - description: a\n  - description: a\n"), "bank.yaml:5:5: duplicate of pattern number 1"),
        (with_patterns("  - description: a\n    source: learnt x\n"), "bank.yaml:5:13: "),
        (with_patterns("  - {description: a, date: yesterday}\n"), "bank.yaml:4:"),
        (
            with_patterns(&"  - description: a\n".repeat(13)),
            "bank.yaml:4:5: `lost_card` has 13 patterns; 12 are allowed",
        ),
        (
            with_patterns(&format!("  - description: {}\n", "a".repeat(501))),
            "bank.yaml:4:18: the description has 501 characters; 500 are allowed",
        ),
        (
            with_patterns(&format!("  - description: a\n    cases: [{}]\n", "b, ".repeat(9))),
            "bank.yaml:5:12: 9 cases are too many",
        ),
        (
            "tools:\n- tool: a\n- tool: b\n- tool: a\n".to_owned(),
            "bank.yaml:4:9: duplicate tool `a`, already number 1 of the list",
        ),
        ("tools:\n- tool: ''\n".to_owned(), "bank.yaml:2:9: the name of the tool must be"),
        ("tools:\n- patterns: []\n".to_owned(), "bank.yaml:2:3: missing field `tool`"),
        ("toolset: ' a'\n".to_owned(), "bank.yaml:1:10: the name of the toolset must be"),
        ("ranking: {sharpness: -1, words: 0}\n".to_owned(), "bank.yaml:1:22: `sharpness` is -1"),
        (
            "learned: {date: '2026-11-22', proposer: a, seed: 1, macro_f1: {before: 0.1, after: 101}}\n".to_owned(),
            "bank.yaml:1:84: `after` is 101; it is in percent",
        ),
        ("tools: [\n".to_owned(), "bank.yaml:"),
        ("- a\n".to_owned(), "bank.yaml:1:1: "),
        ("toolset: a\n---\ntoolset: b\n".to_owned(), "bank.yaml:"),
    ];
    let wrong: Vec<String> = cases
        .iter()
        .map(|(text, expected)| (error(text), expected))
        .filter(|(error, expected)| !error.starts_with(*expected))
        .map(|(error, expected)| format!("{error}\n  expected: {expected}"))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn binary_large_and_missing_files_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bank.yaml");
    std::fs::write(&path, b"toolset: a\ntools: [\xff]\n").unwrap();
    let error = RepresentationFile::read(&path).unwrap_err().to_string();
    assert!(error.contains("bank.yaml: line 2 is not UTF-8"), "{error}");
    std::fs::File::create(&path).unwrap().set_len(limits::FILE_BYTES as u64 + 1).unwrap();
    let error = RepresentationFile::read(&path).unwrap_err().to_string();
    assert!(error.contains("bank.yaml holds more than"), "{error}");
    assert!(RepresentationFile::read(&folder.path().join("none.yaml")).unwrap_err().to_string().contains("none.yaml"));
}

#[test]
fn hostile_yaml_is_rejected_in_bounded_time() {
    let deep = format!("tools: {}", "[".repeat(100_000));
    let bomb = (1..40).fold("a0: &a0 [x, x]\n".to_owned(), |text, level| {
        format!("{text}a{level}: &a{level} [*a{0}, *a{0}, *a{0}, *a{0}]\n", level - 1)
    });
    for text in [deep, bomb, "\u{0}".to_owned(), "tools: &a [*a]".to_owned()] {
        assert!(of_text(&text).is_err());
    }
}

#[test]
fn invalid_content_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bank.yaml");
    sample().write(&path).unwrap();
    let before = std::fs::read(&path).unwrap();
    let mut file = sample();
    file.tools[0].patterns[1].pattern.weight = f32::NAN;
    let error = file.write(&path).unwrap_err().to_string();
    assert!(error.contains("bank.yaml: /tools/0/patterns/1/weight: `weight` is NaN"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file remains");
    let error = sample().write(&folder.path().join("none/bank.yaml")).unwrap_err().to_string();
    assert!(error.contains("cannot write") && error.contains("use an existing, writable folder"), "{error}");
}

#[test]
fn a_toolset_is_written_to_its_own_file_or_one_of_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let location = |toolset| {
        let (path, file) = locate_file(folder.path(), toolset).unwrap();
        (path.file_name().unwrap().to_string_lossy().into_owned(), file.is_some())
    };
    assert_eq!(location(None), ("tools.yaml".to_owned(), false));
    assert_eq!(location(Some("rooms/v1.json")), ("rooms-v1.json.yaml".to_owned(), false));
    assert_eq!(location(Some("../..")), ("toolset.yaml".to_owned(), false));
    std::fs::write(folder.path().join("mine.yaml"), "toolset: rooms/v1.json\n").unwrap();
    assert_eq!(location(Some("rooms/v1.json")), ("mine.yaml".to_owned(), true));
    std::fs::write(folder.path().join("a-b.yaml"), "toolset: a/b\n").unwrap();
    assert_eq!(location(Some("a-b")), ("a-b-2.yaml".to_owned(), false), "another toolset's file is not overwritten");
}

#[test]
fn documented_file_is_valid() {
    let document = include_str!("../../../../../docs/representations.md");
    let (_, rest) = document.split_once("```yaml\n").unwrap();
    let file = of_text(rest.split("```").next().unwrap()).unwrap();
    let sources: Vec<&PatternSource> = file.tools[0].patterns.iter().map(|stored| &stored.source).collect();
    assert_eq!(sources, [&PatternSource::Learned("extractive".to_owned()), &PatternSource::Written]);
}
