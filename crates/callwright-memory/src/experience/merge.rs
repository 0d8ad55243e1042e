//! Merges near-duplicate lessons and detects lessons that contradict each other.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use jiff::Timestamp;
use regex::Regex;

use super::Settings;
use super::retirement::turn_count;
use crate::memory::LearnOutcome;
use callwright_search::retrieval::{Term, content_terms, tokens};
use callwright_types::ids::lesson_id;
use callwright_types::memory::{Author, ClientFacts, Wording};
use callwright_types::{Evidence, Lesson, LessonDraft, Polarity, Scope, UsageCounter};

/// Maximum number of events that a lesson keeps: the first, which records how it was learned, and the latest.
const MAX_EVIDENCE: usize = 256;

/// Names in backquotes or double quotes.
static QUOTED: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new("`([^`]+)`|\"([^\"]+)\"").ok());

/// Learns a draft that `evidence` verifies. `existing` are the lessons that it may duplicate, from
/// `LessonStore::similar`. A retired duplicate stays retired, because a harmful lesson
/// must not be learned again. A draft that may contain text of a client's own tools is not learned.
pub fn learn<'a>(
    draft: LessonDraft,
    evidence: Evidence,
    scope: &Scope,
    author: Author,
    existing: impl IntoIterator<Item = &'a Lesson>,
    at: Timestamp,
    settings: &Settings,
) -> LearnOutcome<Lesson> {
    if !draft.is_isolated() {
        return LearnOutcome::Unchanged;
    }
    let new = Lesson {
        id: lesson_id(at),
        scope: scope.clone(),
        toolset: draft.toolset,
        tools: draft.tools,
        polarity: draft.polarity,
        key: draft.key,
        value: draft.value,
        author,
        composed: None,
        client: draft.client,
        evidence: vec![evidence],
        tally: UsageCounter::default(),
        retired: None,
        created_at: at,
        updated_at: at,
    };
    let properties = LessonProperties::new(&new);
    let duplicate = existing
        .into_iter()
        .find(|lesson| lesson.scope == new.scope && properties.is_near(&LessonProperties::new(lesson), settings));
    match duplicate {
        None => LearnOutcome::New(new),
        Some(lesson) if new.evidence.iter().all(|event| has_event(lesson, event)) => LearnOutcome::Unchanged,
        // The existing lesson keeps its id, even if both were learned in the same millisecond.
        Some(lesson) => {
            let (id, created_at) = (lesson.id.clone(), lesson.created_at);
            LearnOutcome::Confirmed(Lesson { id, created_at, updated_at: at, ..merged(lesson, &new) })
        }
    }
}

/// Merges two lessons with the same meaning. The result has the id of the older lesson, each event once, and the
/// wording of the lesson with more evidence. Outcome counts are not added up, because one turn may have been shown both
/// lessons; the counts over more turns are kept.
fn merged(one: &Lesson, other: &Lesson) -> Lesson {
    let (older, newer) =
        if (other.created_at, &other.id) < (one.created_at, &one.id) { (other, one) } else { (one, other) };
    let wording_source = if newer.evidence.len() > older.evidence.len() { newer } else { older };
    let mut evidence = older.evidence.clone();
    for event in &newer.evidence {
        if !evidence.iter().any(|existing| existing.is_same_event(event)) {
            evidence.push(event.clone());
        }
    }
    evidence.sort_by_key(|event| event.at);
    if let Some(surplus) = evidence.len().checked_sub(MAX_EVIDENCE) {
        evidence.drain(1..=surplus);
    }
    Lesson {
        key: wording_source.key.clone(),
        value: wording_source.value.clone(),
        author: wording_source.author,
        composed: wording_source.composed.clone(),
        evidence,
        tally: if turn_count(&newer.tally) > turn_count(&older.tally) { newer.tally } else { older.tally },
        retired: older.retired.clone().or_else(|| newer.retired.clone()),
        updated_at: older.updated_at.max(newer.updated_at),
        ..older.clone()
    }
}

/// Whether two lessons contradict each other: one from a success and one from a failure of the same call. Both are
/// kept.
pub(super) fn is_conflict(one: &Lesson, other: &Lesson, settings: &Settings) -> bool {
    let (own, others) = (LessonProperties::new(one), LessonProperties::new(other));
    one.scope == other.scope
        && one.polarity != other.polarity
        && (own.toolset, own.tools) == (others.toolset, others.tools)
        && own.client.map(|facts| &facts.tool) == others.client.map(|facts| &facts.tool)
        && similarity(own.key, others.key) >= settings.near_duplicate
}

/// Returns the time of the lesson's latest event.
pub(super) fn latest(lesson: &Lesson) -> Option<Timestamp> {
    lesson.evidence.iter().map(|event| event.at).max()
}

/// Returns the ids of the lessons above the limit of a scope: those with the least evidence first, then the oldest.
/// Retired lessons are removed last, because they prevent harmful lessons from being learned again.
pub fn surplus<'a>(lessons: impl IntoIterator<Item = &'a Lesson>, settings: &Settings) -> Vec<String> {
    let mut lessons: Vec<&Lesson> = lessons.into_iter().collect();
    let Some(surplus) = lessons.len().checked_sub(settings.lessons_per_scope).filter(|surplus| *surplus > 0) else {
        return Vec::new();
    };
    lessons.sort_by_key(|lesson| (lesson.retired.is_some(), lesson.evidence.len(), latest(lesson), &lesson.id));
    lessons.into_iter().take(surplus).map(|lesson| lesson.id.clone()).collect()
}

fn has_event(lesson: &Lesson, event: &Evidence) -> bool {
    lesson.evidence.iter().any(|existing| existing.is_same_event(event))
}

/// Properties by which two lessons are compared.
#[derive(Debug, Clone, Copy)]
struct LessonProperties<'a> {
    toolset: Option<&'a str>,
    tools: &'a [String],
    polarity: Polarity,
    key: &'a str,
    value: &'a str,
    client: Option<&'a ClientFacts>,
}

impl<'a> LessonProperties<'a> {
    fn new(lesson: &'a Lesson) -> Self {
        let Lesson { toolset, tools, polarity, key, value, client, .. } = lesson;
        // A draft is composed, so compare it with the composed wording and not with a model's rewording.
        let (key, value) = lesson.composed.as_ref().map_or((key, value), |Wording { key, value }| (key, value));
        Self { toolset: toolset.as_deref(), tools, polarity: *polarity, key, value, client: client.as_ref() }
    }

    /// Whether both state nearly the same and name the same things. Two texts may differ in a single word that matters,
    /// such as "the 3rd letter" and "the 4th letter", or two parameters of one tool.
    fn is_near(&self, other: &Self, settings: &Settings) -> bool {
        if self.client.is_some() || other.client.is_some() {
            return (self.client, self.polarity) == (other.client, other.polarity);
        }
        (self.toolset, self.tools, self.polarity) == (other.toolset, other.tools, other.polarity)
            && names(self.key) == names(other.key)
            && names(self.value) == names(other.value)
            && similarity(self.key, other.key) >= settings.near_duplicate
            && similarity(self.value, other.value) >= settings.near_duplicate
    }
}

/// Whether a text names only things that `other` names.
pub(super) fn has_no_other_names(text: &str, other: &str) -> bool {
    names(text).is_subset(&names(other))
}

/// Returns the words with digits and the quoted names of a text.
fn names(text: &str) -> BTreeSet<String> {
    let with_digits = tokens(text).into_iter().filter(|token| token.bytes().any(|byte| byte.is_ascii_digit()));
    let quoted = QUOTED.iter().flat_map(|quoted| quoted.captures_iter(text));
    let quoted = quoted.filter_map(|found| found.get(1).or(found.get(2))).map(|found| found.as_str().to_lowercase());
    with_digits.chain(quoted).collect()
}

/// Returns the cosine similarity of two texts' sets of content words; 1 if both sets are empty.
fn similarity(one: &str, other: &str) -> f32 {
    let one: BTreeSet<Term> = content_terms(one).into_iter().collect();
    let other: BTreeSet<Term> = content_terms(other).into_iter().collect();
    if one.is_empty() && other.is_empty() {
        return 1.0;
    }
    let shared = one.intersection(&other).count() as f32;
    shared / ((one.len() * other.len()) as f32).sqrt().max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use callwright_types::EvidenceKind;
    use callwright_types::memory::{Backing, Retirement};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn event(trace: &str, second: i64) -> Evidence {
        Evidence {
            kind: EvidenceKind::Mended,
            trace: Some(trace.to_owned()),
            session: None,
            source: None,
            at: at(second),
        }
    }

    fn draft(key: &str, value: &str) -> LessonDraft {
        LessonDraft {
            kind: EvidenceKind::Mended,
            toolset: Some("hotel".to_owned()),
            tools: vec!["book".to_owned()],
            polarity: Polarity::Negative,
            key: key.to_owned(),
            value: value.to_owned(),
            client: None,
            backing: Backing::Seen,
        }
    }

    fn learned(draft: LessonDraft, event: Evidence, existing: &[Lesson]) -> LearnOutcome<Lesson> {
        let when = event.at;
        learn(draft, event, &Scope::of_group("g"), Author::Composed, existing, when, &Settings::default())
    }

    fn lesson(key: &str, value: &str, event: Evidence) -> Lesson {
        let LearnOutcome::New(lesson) = learned(draft(key, value), event, &[]) else { panic!() };
        lesson
    }

    const KEY: &str = "book, missing parameter, books a hotel room";
    const VALUE: &str = "`book` cannot be called without `day` (first night).";

    #[test]
    fn repeated_drafts_confirm_the_lesson_once_per_event() {
        let first = lesson(KEY, VALUE, event("a", 1));
        let again = draft("book, missing parameter, books one hotel room", VALUE);
        let LearnOutcome::Confirmed(second) = learned(again.clone(), event("b", 2), std::slice::from_ref(&first))
        else {
            panic!()
        };
        assert_eq!(
            (&second.id, &second.key, second.evidence.len()),
            (&first.id, &first.key, 2),
            "the first wording stays"
        );
        assert_eq!(second.updated_at, at(2));
        assert_eq!(learned(again, event("b", 3), &[second]), LearnOutcome::Unchanged);
    }

    #[test]
    fn lessons_with_different_names_are_not_merged() {
        let first = lesson(KEY, VALUE, event("a", 1));
        for (key, value) in [
            (KEY, "`book` cannot be called without `board` (first night)."),
            ("book, missing parameter, lists cheap flights", VALUE),
            ("book, missing parameter, books a hotel room 2", VALUE),
        ] {
            assert!(
                matches!(learned(draft(key, value), event("b", 2), std::slice::from_ref(&first)), LearnOutcome::New(_)),
                "{key} {value}"
            );
        }
        let other = LessonDraft { tools: vec!["list".to_owned()], ..draft(KEY, VALUE) };
        assert!(matches!(
            learned(other, event("b", 2), &[Lesson { scope: Scope::of_key("x"), ..first.clone() }, first]),
            LearnOutcome::New(_)
        ));
    }

    #[test]
    fn merging_keeps_the_better_proven_wording_and_the_older_id() {
        let older = lesson(KEY, VALUE, event("a", 1));
        let mut newer = Lesson { value: "better".to_owned(), ..lesson(KEY, VALUE, event("b", 2)) };
        newer.evidence.push(event("a", 1));
        newer.tally.uses = 3;
        for merged in [merged(&older, &newer), merged(&newer, &older)] {
            assert_eq!((merged.id.as_str(), merged.value.as_str()), (older.id.as_str(), "better"));
            assert_eq!((merged.evidence.as_slice(), merged.tally.uses), (&[event("a", 1), event("b", 2)][..], 3));
        }
    }

    #[test]
    fn retired_lessons_are_not_learned_again() {
        let retired = Some(Retirement { at: at(2), reason: "harm".to_owned() });
        let lesson = Lesson { retired, ..lesson(KEY, VALUE, event("a", 1)) };
        let LearnOutcome::Confirmed(again) = learned(draft(KEY, VALUE), event("b", 3), &[lesson]) else { panic!() };
        assert!(again.retired.is_some());
    }

    #[test]
    fn success_and_failure_of_the_same_call_are_both_kept() {
        let settings = Settings::default();
        let failed = lesson(KEY, VALUE, event("a", 1));
        let good = Lesson { polarity: Polarity::Positive, ..lesson(KEY, "`book` was right.", event("b", 2)) };
        let [failure, success] = [&failed, &good].map(LessonProperties::new);
        assert!(is_conflict(&failed, &good, &settings) && !failure.is_near(&success, &settings));
        assert!(!is_conflict(&failed, &failed, &settings) && failure.is_near(&failure, &settings));
    }

    #[test]
    fn evidence_is_bounded_and_keeps_the_first_event() {
        let mut lesson = lesson(KEY, VALUE, event("first", 0));
        for number in 1..=300 {
            let LearnOutcome::Confirmed(next) =
                learned(draft(KEY, VALUE), event(&number.to_string(), number), &[lesson])
            else {
                panic!()
            };
            lesson = next;
        }
        assert_eq!(lesson.evidence.len(), MAX_EVIDENCE);
        assert_eq!((&lesson.evidence[0], &lesson.evidence[MAX_EVIDENCE - 1]), (&event("first", 0), &event("300", 300)));
    }

    #[test]
    fn surplus_lessons_have_the_least_evidence() {
        let settings = Settings { lessons_per_scope: 2, ..Settings::default() };
        let lessons =
            [lesson("a", "a", event("a", 3)), lesson("b", "b", event("b", 1)), lesson("c", "c", event("c", 2))];
        assert_eq!(surplus(&lessons, &settings), [lessons[1].id.clone()]);
        assert!(surplus(&lessons[..2], &settings).is_empty());
    }
}
