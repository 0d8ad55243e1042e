//! Extracts phrases of a sample, and chooses those that represent a cluster.

use callwright_search::embedding::Vector;
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

/// Phrase and the sample of the cluster in which it was found first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CasePhrase<T> {
    pub(super) text: T,
    pub(super) sample: usize,
}

/// Greedily chooses at most `count` phrases. Each choice brings the mean of the vectors, including that of the
/// `general` sentence, closest to `target`. Each phrase is of another sample, so that no user text can be reassembled
/// from its parts.
pub(super) fn choose_phrases<'a, T>(
    target: &Vector,
    general: &Vector,
    phrases: &'a [CasePhrase<T>],
    vectors: &[&Vector],
    count: usize,
) -> Vec<&'a CasePhrase<T>> {
    let mut sum = general.components().to_vec();
    let mut remaining: Vec<(&CasePhrase<T>, &Vector)> = phrases.iter().zip(vectors.iter().copied()).collect();
    let mut chosen = Vec::new();
    while chosen.len() < count {
        let mut best: Option<(f32, &CasePhrase<T>, &Vector)> = None;
        for (phrase, vector) in &remaining {
            let gain = similarity_with(&sum, vector, target);
            if best.is_none_or(|(most, ..)| gain > most) {
                best = Some((gain, phrase, vector));
            }
        }
        let Some((_, phrase, vector)) = best else { break };
        sum.iter_mut().zip(vector.components()).for_each(|(sum, component)| *sum += component);
        chosen.push(phrase);
        remaining.retain(|(other, _)| other.sample != phrase.sample);
    }
    chosen
}

/// Returns the cosine of the sum with the added vector and the target.
fn similarity_with(sum: &[f32], vector: &Vector, target: &Vector) -> f32 {
    let (mut dot, mut square) = (0.0_f32, 0.0_f32);
    for ((sum, component), target) in sum.iter().zip(vector.components()).zip(target.components()) {
        let component_sum = sum + component;
        dot += component_sum * target;
        square += component_sum * component_sum;
    }
    if square > 0.0 { dot / square.sqrt() } else { 0.0 }
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

    fn vector(x: f32, y: f32) -> Vector {
        Vector::new(vec![x, y]).unwrap()
    }

    #[test]
    fn phrases_complement_each_other() {
        let phrases: Vec<CasePhrase<u8>> = (0..3).map(|at| CasePhrase { text: 0, sample: at }).collect();
        let vectors = [vector(1.0, 0.0), vector(0.7, 0.7), vector(0.0, 1.0)];
        let vectors: Vec<&Vector> = vectors.iter().collect();
        let chosen = choose_phrases(&vector(1.0, 1.0), &vector(1.0, 0.0), &phrases, &vectors, 1);
        assert_eq!(chosen[0].sample, 2, "the general sentence covers the other half");
        let chosen = choose_phrases(&vector(1.0, 1.0), &Vector::zero(2), &phrases, &vectors, 2);
        assert_eq!(chosen[0].sample, 1);
    }

    #[test]
    fn each_sample_contributes_one_phrase() {
        let phrases = [0, 0, 1].map(|sample| CasePhrase { text: 0, sample });
        let same = vector(1.0, 0.0);
        assert_eq!(choose_phrases(&same, &same, &phrases, &[&same; 3], 3).len(), 2);
        assert!(choose_phrases(&same, &same, &phrases[..0], &[], 3).is_empty());
    }
}
