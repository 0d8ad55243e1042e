//! Detects text that was copied from samples.

use unicode_segmentation::UnicodeSegmentation;

/// Minimum number of words of a sample whose repetition discloses it; shorter samples are common phrases.
const MIN_DISCLOSING_WORDS: usize = 4;

/// Returns the words of a text in lower case, without punctuation. In scripts without spaces, each character is a word.
pub(crate) fn words(text: &str) -> Vec<String> {
    text.unicode_words().map(str::to_lowercase).collect()
}

/// Returns the largest share of a sample's words that a case contains as a phrase; `None` if it is in no sample.
pub(crate) fn copied_share(case: &[String], samples: &[Vec<String>]) -> Option<f32> {
    let containing = samples.iter().filter(|sample| contains_phrase(case, sample));
    containing.map(|sample| share(case.len(), sample.len())).max_by(f32::total_cmp)
}

/// Whether a text repeats a whole sample.
pub(crate) fn repeats_a_sample(text: &[String], samples: &[Vec<String>]) -> bool {
    samples.iter().any(|sample| sample.len() >= MIN_DISCLOSING_WORDS && contains_phrase(sample, text))
}

fn contains_phrase(phrase: &[String], text: &[String]) -> bool {
    !phrase.is_empty() && text.windows(phrase.len()).any(|window| window == phrase)
}

#[expect(clippy::cast_precision_loss, reason = "words of a sample are few")]
fn share(part: usize, whole: usize) -> f32 {
    part as f32 / whole as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share_of(case: &str, samples: &[&str]) -> Option<f32> {
        copied_share(&words(case), &samples.iter().map(|sample| words(sample)).collect::<Vec<_>>())
    }

    #[test]
    fn phrases_are_found_regardless_of_punctuation() {
        assert_eq!(share_of("Lost my card", &["I've LOST \"my card\", help!"]), Some(0.6));
        assert_eq!(share_of("my card lost", &["I lost my card"]), None, "words in another order are no copy");
        assert_eq!(share_of("", &["a"]), None);
        assert_eq!(share_of("a", &[""]), None);
    }

    #[test]
    fn largest_copied_share_counts() {
        assert_eq!(share_of("lost card", &["a lost card is a bad thing", "lost card"]), Some(1.0));
    }

    #[test]
    fn scripts_without_spaces_have_words() {
        assert_eq!(share_of("银行卡", &["我的银行卡丢了"]), Some(3.0 / 7.0));
    }

    #[test]
    fn repetition_of_a_whole_sample_is_detected() {
        let samples = [words("Where is my card?"), words("help me")];
        assert!(repeats_a_sample(&words("Requests such as where is my card"), &samples));
        assert!(!repeats_a_sample(&words("Requests about where a card is; help me"), &samples));
    }
}
