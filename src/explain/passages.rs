//! Sentences → passages: neighbours that are shown together.

use super::Settings;
use super::codes::mentioned;
use super::cohesion::Cohesion;
use super::documents::markdown;
use super::heads;
use super::outline::outline;
use super::sentences::sentences;

/// A few neighbouring sentences, before they are indexed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Piece {
    /// What a reader is shown.
    pub text: String,
    /// Codes and names that it defines, in normal form.
    pub defines: Vec<String>,
    /// Codes and names that it mentions, in normal form.
    pub mentions: Vec<String>,
}

/// Splits a text (Markdown) into passages (AutoFeedback section 3.3.1). Neighbouring sentences are joined up to `passage_chars`, but not
/// across a heading, and parted where they have least in common; a table's row stays by itself, and so does what defines a code, with all that belongs to it, because only one of a
/// list of codes explains an outcome.
pub(super) fn passages(text: &str, settings: &Settings) -> Vec<Piece> {
    outline(markdown(text), settings).into_iter().flat_map(|section| section.pieces).collect()
}

/// Joins neighbouring sentences.
pub(super) struct Joiner {
    limit: usize,
    /// What has been joined.
    pub(super) done: Vec<Piece>,
    /// Sentences that stand behind each other, none longer than the limit.
    run: Vec<Sentence>,
}

/// A sentence with the codes that it defines.
struct Sentence {
    text: String,
    chars: usize,
    defines: Vec<String>,
}

impl Joiner {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit: limit.max(1), done: Vec::new(), run: Vec::new() }
    }

    /// The sentences of a paragraph or a list item. One that defines a code begins a passage, which the block's next sentences go on with
    /// and which ends with the block.
    pub(super) fn add_prose(&mut self, text: &str) {
        let mut defining = false;
        for sentence in sentences(text) {
            match heads::of_sentence(sentence) {
                Some(head) => {
                    self.flush();
                    defining = true;
                    self.add(sentence, &head.codes);
                }
                None => self.add(sentence, &[]),
            }
        }
        if defining {
            self.flush();
        }
    }

    /// Adds a sentence, cut where it is longer than a passage.
    pub(super) fn add(&mut self, text: &str, defines: &[String]) {
        let mut rest = text;
        while !rest.is_empty() {
            let (head, tail) = if exceeds(rest, self.limit) { cut(rest, self.limit) } else { (rest, "") };
            let sentence = Sentence { text: head.to_owned(), chars: head.chars().count(), defines: defines.to_vec() };
            self.run.push(sentence);
            rest = tail;
        }
    }

    /// Ends the run of sentences: it becomes one passage if it fits, or else several, parted where the sentences have least in common.
    pub(super) fn flush(&mut self) {
        let run = std::mem::take(&mut self.run);
        let mut rest = run.as_slice();
        let mut cohesion = None;
        while !rest.is_empty() {
            let fitting = fitting(rest, self.limit);
            let taken = if fitting < rest.len() {
                let cohesion =
                    cohesion.get_or_insert_with(|| Cohesion::of(run.iter().map(|sentence| sentence.text.as_str())));
                let begin = run.len() - rest.len();
                let least = fitting_half(rest, fitting, self.limit);
                // Of gaps that are equal the last: the passage is the longest.
                let gaps = (least..=fitting).rev().map(|taken| (cohesion.at(begin + taken), taken));
                gaps.min_by(|left, right| left.0.total_cmp(&right.0)).map(|(_, taken)| taken)
            } else {
                Some(fitting)
            };
            let (passage, behind) = rest.split_at(taken.unwrap_or(fitting).max(1));
            self.done.extend(joined(passage));
            rest = behind;
        }
    }
}

/// How many of the sentences fit into a passage; at least one.
fn fitting(sentences: &[Sentence], limit: usize) -> usize {
    let mut chars = 0;
    let fits = |sentence: &&Sentence| {
        chars += sentence.chars + usize::from(chars > 0);
        chars <= limit
    };
    sentences.iter().take_while(fits).count().max(1)
}

/// How many sentences a passage must have, of those that fit, to be half full: parting them sooner would tear apart what is read together.
fn fitting_half(sentences: &[Sentence], fitting: usize, limit: usize) -> usize {
    let mut chars = 0;
    let short = |sentence: &&Sentence| {
        chars += sentence.chars + 1;
        chars < limit / 2
    };
    (sentences.iter().take_while(short).count() + 1).min(fitting)
}

fn joined(sentences: &[Sentence]) -> Option<Piece> {
    let texts: Vec<&str> = sentences.iter().map(|sentence| sentence.text.as_str()).collect();
    let text = texts.join(" ");
    let mentions = texts.iter().flat_map(|text| mentioned(text)).collect();
    let defines = sentences.iter().flat_map(|sentence| sentence.defines.iter().cloned()).collect();
    (!text.is_empty()).then_some(Piece { text, defines, mentions })
}

/// Has the text more than `limit` characters?
pub(super) fn exceeds(text: &str, limit: usize) -> bool {
    text.chars().nth(limit).is_some()
}

/// Cuts a text of more than `limit` characters at the last space before the limit, or at the limit where there is none.
pub(super) fn cut(text: &str, limit: usize) -> (&str, &str) {
    let hard = text.char_indices().nth(limit).map_or(text.len(), |(at, _)| at);
    let soft = text[..hard].rfind(char::is_whitespace).filter(|at| *at > 0).unwrap_or(hard);
    (text[..soft].trim_end(), text[soft..].trim_start())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn split(text: &str, limit: usize) -> Vec<Piece> {
        passages(text, &Settings { passage_chars: limit, entry_chars: limit, ..Settings::default() })
    }

    fn texts(text: &str, limit: usize) -> Vec<String> {
        split(text, limit).into_iter().map(|piece| piece.text).collect()
    }

    #[test]
    fn neighbours_are_joined_up_to_the_limit() {
        assert_eq!(
            texts("One is one. Two is two. Three is three.", 24),
            ["One is one. Two is two.", "Three is three."]
        );
        assert_eq!(texts("Intro.\n\n# Head\n\nBody is here.", 99), ["Intro.", "Head Body is here."]);
    }

    #[test]
    fn what_does_not_fit_is_parted_where_the_subject_changes() {
        let doors = "The door of the locker opens. The door closes the locker. The locker locks the door.";
        let vans = "A van leaves the depot. The van carries parcels to the depot.";
        assert_eq!(texts(&format!("{doors} {vans}"), 120), [doors, vans]);
    }

    #[test]
    fn a_row_and_a_definition_stay_by_themselves() {
        let text =
            "Codes:\n\n| code | why |\n|---|---|\n| 1 | `a` is bad |\n| 2 | two |\n\n- `E_X`: why x\n- `E_Y`: why y\n";
        let pieces = split(text, 99);
        let shown: Vec<_> = pieces.iter().map(|piece| piece.text.as_str()).collect();
        assert_eq!(shown, ["Codes:", "1\nWhy: `a` is bad", "2\nWhy: two", "`E_X`: why x", "`E_Y`: why y"]);
        assert_eq!(pieces[1].defines, ["1"]);
        assert_eq!(pieces[1].mentions, ["a"]);
        assert_eq!(pieces[3].defines, ["e_x"]);
    }

    #[test]
    fn a_megabyte_without_a_boundary_is_cut_in_linear_time() {
        let pieces = split(&"x".repeat(1_000_000), 400);
        assert_eq!(pieces.len(), 2500);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_passage_exceeds_the_limit_and_no_word_is_lost(
            text in "([a-zé`]{1,9}[.:]? |\n|- |# ){0,60}", limit in 48_usize..160,
        ) {
            let settings = Settings { passage_chars: limit, entry_chars: limit, ..Settings::default() };
            let mut shown = String::new();
            for section in outline(markdown(&text), &settings) {
                prop_assert!(section.pieces.iter().all(|piece| piece.text.chars().count() <= limit));
                let texts = section.pieces.into_iter().map(|piece| piece.text);
                shown.extend(section.path.into_iter().chain(texts).flat_map(|text| [text, " ".to_owned()]));
            }
            for word in text.split(|character: char| !character.is_alphabetic()) {
                prop_assert!(shown.contains(word), "{word} is not in {shown}");
            }
        }
    }
}
