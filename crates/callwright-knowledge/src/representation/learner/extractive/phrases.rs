//! Extracts phrases of a sample.

use unicode_segmentation::UnicodeSegmentation;

/// Minimum and maximum number of words of a phrase. Single words are covered by the description.
const PHRASE_WORDS: (usize, usize) = (2, 12);

/// Maximum number of words of a sample that are read; the intent usually comes earlier.
const MAX_WORDS: usize = 120;

/// Returns the phrases of a text with at most `share` of its words, verbatim. A text that is too short for two-word
/// phrases yields its words. With a share of 1, returns the whole text.
pub(super) fn phrases(text: &str, share: f32) -> Vec<&str> {
    if share >= 1.0 {
        return vec![text.trim()];
    }
    let words: Vec<(usize, &str)> = text.unicode_word_indices().take(MAX_WORDS).collect();
    let most = (words.len() as f32 * share).floor() as usize;
    let lengths = PHRASE_WORDS.0.min(most).max(1)..=most.min(PHRASE_WORDS.1);
    let phrases = lengths.flat_map(|length| words.windows(length)).filter_map(|words| {
        let (first, last) = (words.first()?, words.last()?);
        text.get(first.0..last.0 + last.1.len())
    });
    phrases.collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn phrases_are_parts_of_their_sample() {
        assert_eq!(phrases("I've lost (my card)!", 0.6), ["I've lost", "lost (my", "my card"]);
        assert_eq!(phrases("lost card", 0.6), ["lost", "card"]);
        assert!(phrases("lost", 0.6).is_empty(), "a single word would be the whole sample");
        assert!(phrases("?!", 0.6).is_empty());
    }

    #[test]
    fn share_of_one_returns_whole_samples() {
        assert_eq!(phrases(" I lost my card! ", 1.0), ["I lost my card!"]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn phrases_do_not_exceed_their_share(text in "[a-zé北 ,.'-]{0,80}", share in 0.1_f32..0.9) {
            let all = text.unicode_words().count() as f32;
            for phrase in phrases(&text, share) {
                prop_assert!(text.contains(phrase));
                prop_assert!(phrase.unicode_words().count() as f32 <= share * all + 1e-3);
            }
        }
    }
}
