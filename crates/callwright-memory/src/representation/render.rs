//! Renders a representation for models: appended to the tool's description, within a token budget, and deterministic.

use std::borrow::Cow;
use std::fmt::Write;

use callwright_common::tokens::BYTES_PER_TOKEN;
use callwright_types::representation::{Pattern, Representation};

/// Heading between the tool's description and the patterns.
const HEADING: &str = "Use for:";

/// Returns a tool's description with its patterns. The description comes first and is never truncated. Whole patterns
/// follow, best first, while the total is within `tokens`.
///
/// Equal inputs give equal bytes, which preserves hits in the provider's prompt cache.
pub fn render<'a>(description: &'a str, representation: &Representation, tokens: usize) -> Cow<'a, str> {
    let own = description.trim_end();
    let separator = if own.is_empty() { "" } else { "\n\n" };
    let room = tokens.saturating_mul(BYTES_PER_TOKEN);
    let Some(room) = room.checked_sub(own.len() + separator.len() + HEADING.len()) else {
        return Cow::Borrowed(description);
    };
    let mut lines = String::new();
    for pattern in &representation.patterns {
        let before = lines.len();
        line(&mut lines, pattern);
        if lines.len() > room {
            lines.truncate(before);
            break;
        }
    }
    if lines.is_empty() {
        return Cow::Borrowed(description);
    }
    Cow::Owned(format!("{own}{separator}{HEADING}{lines}"))
}

/// Appends one pattern: `- Lost cards. For example "lost my card", "card is gone".`
fn line(lines: &mut String, pattern: &Pattern) {
    let description = pattern.description.trim();
    let end = if description.ends_with(['.', '!', '?', '。', '！', '？', '।', '؟']) { "" } else { "." };
    // Writing to a string cannot fail.
    let _ = write!(lines, "\n- {description}{end}");
    for (position, case) in pattern.cases.iter().enumerate() {
        let begin = if position == 0 { " For example " } else { ", " };
        // Quotation marks within a case are replaced, so that user text cannot escape from its quotation.
        let _ = write!(lines, "{begin}\"{}\"", case.replace('"', "'"));
    }
    if !pattern.cases.is_empty() {
        lines.push('.');
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pattern(description: &str, cases: &[&str]) -> Pattern {
        let cases = cases.iter().map(|case| (*case).to_owned()).collect();
        Pattern { description: description.to_owned(), cases, weight: 1.0 }
    }

    fn lost_card() -> Representation {
        let patterns = vec![
            pattern("Cards that are lost or stolen.", &["lost my card", "someone \"took\" it"]),
            pattern("Cards to be blocked", &[]),
        ];
        Representation { tool: "lost_card".to_owned(), patterns }
    }

    #[test]
    fn patterns_follow_the_tool_description() {
        let shown = render("Blocks a card.\n", &lost_card(), 256);
        let expected = "Blocks a card.\n\nUse for:\n- Cards that are lost or stolen. For example \"lost my card\", \
                        \"someone 'took' it\".\n- Cards to be blocked.";
        assert_eq!(shown, expected);
        assert!(render("", &lost_card(), 256).starts_with("Use for:\n- Cards"));
    }

    #[test]
    fn patterns_beyond_the_budget_are_omitted_entirely() {
        let whole = render("Blocks a card.", &lost_card(), 256).into_owned();
        assert_eq!(render("Blocks a card.", &lost_card(), whole.len().div_ceil(4)), whole);
        let one = render("Blocks a card.", &lost_card(), whole.len().div_ceil(4) - 1).into_owned();
        assert!(one.ends_with("\"someone 'took' it\"."), "{one}");
        for tokens in [0, 1, 10] {
            assert_eq!(render("Blocks a card.\n", &lost_card(), tokens), "Blocks a card.\n");
        }
        assert_eq!(render("Blocks a card.\n", &Representation::default(), 256), "Blocks a card.\n");
    }

    #[test]
    fn tool_description_is_never_truncated() {
        let long = "word ".repeat(100_000);
        assert_eq!(render(&long, &lost_card(), 256), long);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn budget_holds_and_a_larger_one_extends_the_text(
            own in "\\PC{0,200}",
            patterns in prop::collection::vec(("\\PC{1,80}", prop::collection::vec("\\PC{1,30}", 0..3)), 0..5),
            tokens in 0_usize..200,
        ) {
            let patterns = patterns.iter().map(|(description, cases)| {
                pattern(description, &cases.iter().map(String::as_str).collect::<Vec<_>>())
            });
            let representation = Representation { tool: "t".to_owned(), patterns: patterns.collect() };
            let shown = render(&own, &representation, tokens);
            prop_assert!(shown.starts_with(own.trim_end()));
            if shown != own {
                prop_assert!(shown.len() <= tokens * BYTES_PER_TOKEN);
                prop_assert!(render(&own, &representation, tokens + 50).starts_with(&*shown));
            }
        }
    }
}
