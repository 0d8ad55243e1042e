//! Detects text that was copied from samples.

use unicode_segmentation::UnicodeSegmentation;

/// Minimum number of words of a sample whose repetition discloses it; shorter samples are common phrases.
const TELLING_WORDS: usize = 4;

/// Returns the words of a text in lower case, without punctuation. In scripts without spaces, each character is a word.
pub(crate) fn words(text: &str) -> Vec<String> {
    text.unicode_words().map(str::to_lowercase).collect()
}

/// Returns the largest share of a sample's words that a case contains as a phrase; `None` if it is in no sample.
pub(crate) fn copied_share(case: &[String], samples: &[Vec<String>]) -> Option<f32> {
    let holding = samples.iter().filter(|sample| stands_in(case, sample));
    holding.map(|sample| share(case.len(), sample.len())).max_by(f32::total_cmp)
}

/// Whether a text repeats a whole sample.
pub(crate) fn repeats_one(text: &[String], samples: &[Vec<String>]) -> bool {
    samples.iter().any(|sample| sample.len() >= TELLING_WORDS && stands_in(sample, text))
}

fn stands_in(phrase: &[String], text: &[String]) -> bool {
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
    fn a_phrase_is_found_whatever_stands_around_its_words() {
        assert_eq!(share_of("Lost my card", &["I've LOST \"my card\", help!"]), Some(0.6));
        assert_eq!(share_of("my card lost", &["I lost my card"]), None, "words in another order are no copy");
        assert_eq!(share_of("", &["a"]), None);
        assert_eq!(share_of("a", &[""]), None);
    }

    #[test]
    fn the_sample_that_is_copied_most_counts() {
        assert_eq!(share_of("lost card", &["a lost card is a bad thing", "lost card"]), Some(1.0));
    }

    #[test]
    fn scripts_without_spaces_have_words_too() {
        assert_eq!(share_of("银行卡", &["我的银行卡丢了"]), Some(3.0 / 7.0));
    }

    #[test]
    fn a_text_that_repeats_a_whole_sample_gives_it_away() {
        let samples = [words("Where is my card?"), words("help me")];
        assert!(repeats_one(&words("Requests such as where is my card"), &samples));
        assert!(!repeats_one(&words("Requests about where a card is; help me"), &samples));
    }
}
