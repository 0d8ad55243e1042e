//! Retirement of harmful lessons and procedures by a sequential test with a fixed error rate that may be evaluated
//! after every turn.
//!
//! A lesson that is found for a turn is shown or withheld at random with a probability that is recorded ([`draw`]).
//! The probability falls while there is no evidence of harm. If the lesson is harmless, failed turns were shown it no
//! more often than this probability. [`observe`] bets against that hypothesis. Each turn multiplies the capital,
//! initially 1, by the ratio of two likelihoods of the turn's draw: as estimated from earlier turns with the same
//! outcome, and as actually drawn.
//!
//! Without an effect, the expected factor is 1 regardless of history, and below 1 if the lesson helps. The capital
//! therefore reaches 1/α with probability at most α (Ville's inequality; Ramdas et al., "Game-theoretic statistics and
//! safe anytime-valid inference", Statistical Science 38, 2023). The estimates are Krichevsky-Trofimov estimates,
//! started at the draw's probability and clipped to the side of harm, because the test is one-sided: it detects harm,
//! not benefit.

use jiff::Timestamp;

use super::Settings;
use callwright_types::UsageCounter;
use callwright_types::memory::Retirement;

/// Minimum number of failed turns with the lesson before it is retired, regardless of the test. A few successful turns
/// without the lesson are no evidence of harm.
const MIN_FAILED_TURNS: u64 = 5;

/// Minimum number of turns before a lesson is retired.
const MIN_TURNS: u64 = 20;

/// Number of turns without evidence of harm after which a lesson is withheld less often: in proportion to the inverse
/// square root of the turns.
const ANNEALED_AFTER: f64 = 100.0;

/// Minimum share of the initial probability, so that a change of the API is still noticed.
const MIN_SHARE: f64 = 0.1;

/// Turn for which a lesson was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ObservedTurn {
    /// Probability that the lesson was shown ([`Recalled::chance`](callwright_types::memory::Recalled::chance)).
    pub chance: f64,
    /// Whether the lesson was withheld.
    pub withheld: bool,
    /// Whether calls that the lesson is about had a fault or failed.
    pub failed: bool,
}

/// Decides at random whether a found lesson with these results is withheld. Returns `true` to withhold it, and the
/// probability that it is shown. Each lesson of a turn is drawn independently.
pub fn draw(settings: &Settings, usage: &UsageCounter, random: &mut fastrand::Rng) -> (bool, f64) {
    let withhold = settings.withhold * withheld_share(usage);
    (random.f64() < withhold, 1.0 - withhold)
}

/// Returns the share of [`Settings::withhold`] that applies after these turns. It depends on earlier turns only, so the
/// error rate of the test holds: the test uses the probability of each turn.
fn withheld_share(usage: &UsageCounter) -> f64 {
    // While the bet against harmlessness gains, every withheld turn shortens the time until the harm is certain.
    if usage.evidence > 0.0 {
        return 1.0;
    }
    let turns = turn_count(usage).max(1) as f64;
    (ANNEALED_AFTER / turns).sqrt().clamp(MIN_SHARE, 1.0)
}

/// Counts a turn and updates the capital with its draw.
pub fn observe(usage: &mut UsageCounter, turn: ObservedTurn) {
    let (shown, withheld) = match turn.failed {
        true => (usage.hurt, usage.withheld_hurt),
        false => (usage.helped, usage.withheld.saturating_sub(usage.withheld_hurt)),
    };
    // A draw with only one possible result carries no information.
    if turn.chance > 0.0 && turn.chance < 1.0 {
        let estimate = (shown as f64 + turn.chance) / ((shown + withheld) as f64 + 1.0);
        let clipped = if turn.failed { estimate.max(turn.chance) } else { estimate.min(turn.chance) };
        usage.evidence += match turn.withheld {
            true => ((1.0 - clipped) / (1.0 - turn.chance)).ln(),
            false => (clipped / turn.chance).ln(),
        };
    }
    match (turn.withheld, turn.failed) {
        (true, failed) => {
            usage.withheld += 1;
            usage.withheld_hurt += u64::from(failed);
        }
        (false, failed) => {
            usage.uses += 1;
            usage.hurt += u64::from(failed);
            usage.helped += u64::from(!failed);
        }
    }
}

/// Returns the reason to retire a lesson; `None` while there is no evidence of harm. May be called after every turn.
pub fn retirement(usage: &UsageCounter, settings: &Settings, at: Timestamp) -> Option<Retirement> {
    let has_data = usage.hurt >= MIN_FAILED_TURNS && turn_count(usage) >= MIN_TURNS;
    let is_significant = usage.evidence >= -settings.error_rate.ln();
    (has_data && is_significant).then(|| Retirement { at, reason: reason(usage, settings) })
}

/// Returns the number of turns that a lesson was found for.
pub(super) fn turn_count(usage: &UsageCounter) -> u64 {
    usage.uses + usage.withheld
}

fn reason(usage: &UsageCounter, settings: &Settings) -> String {
    let UsageCounter { uses, hurt, withheld, withheld_hurt, .. } = usage;
    format!(
        "related calls failed in {hurt} of {uses} turns with it and in {withheld_hurt} of {withheld} turns without it; \
         if it were harmless, the probability of this result would be at most {}",
        settings.error_rate
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of turns after which a lesson is retired.
    fn retired_after(with: f64, without: f64, turns: u64, random: &mut fastrand::Rng) -> Option<u64> {
        let settings = Settings::default();
        let mut usage = UsageCounter::default();
        (1..=turns).find(|_| {
            let (withheld, chance) = draw(&settings, &usage, random);
            let failed = random.f64() < if withheld { without } else { with };
            observe(&mut usage, ObservedTurn { chance, withheld, failed });
            retirement(&usage, &settings, Timestamp::UNIX_EPOCH).is_some()
        })
    }

    #[test]
    fn harmless_lessons_are_retired_within_the_error_rate() {
        let mut random = fastrand::Rng::with_seed(1);
        for (with, without) in [(0.1, 0.1), (0.5, 0.5), (0.9, 0.9), (0.1, 0.4)] {
            let retired = (0..1000).filter(|_| retired_after(with, without, 1000, &mut random).is_some()).count();
            assert!(retired <= 50, "{retired} of 1000 at {with} and {without}");
        }
    }

    #[test]
    fn harmful_lessons_are_retired_soon() {
        let mut random = fastrand::Rng::with_seed(2);
        let soon = (0..1000).filter(|_| retired_after(0.4, 0.1, 400, &mut random).is_some()).count();
        assert!(soon >= 950, "{soon} of 1000 within 400 turns");
    }

    #[test]
    fn lessons_without_evidence_of_harm_are_withheld_less_often() {
        let settings = Settings::default();
        let mut random = fastrand::Rng::with_seed(5);
        let mut chance_after = |helped: u64, evidence: f64| {
            let usage = UsageCounter { uses: helped, helped, evidence, ..UsageCounter::default() };
            draw(&settings, &usage, &mut random).1
        };
        for (turns, expected) in [(0, 0.8), (100, 0.8), (400, 0.9), (10_000, 0.98), (1_000_000, 0.98)] {
            assert!((chance_after(turns, -1.0) - expected).abs() < 1e-9, "{turns}");
        }
        assert!((chance_after(10_000, 0.5) - 0.8).abs() < 1e-9, "evidence of harm restores the initial probability");
    }

    #[test]
    fn correlated_failures_do_not_retire_a_harmless_lesson() {
        // An API that is down fails all turns for a while, with and without the lesson.
        let settings = Settings::default();
        let mut random = fastrand::Rng::with_seed(3);
        let retired = (0..1000).filter(|_| {
            let mut usage = UsageCounter::default();
            (0..1000).any(|turn| {
                let (withheld, chance) = draw(&settings, &usage, &mut random);
                observe(&mut usage, ObservedTurn { chance, withheld, failed: turn / 50 % 2 == 0 });
                retirement(&usage, &settings, Timestamp::UNIX_EPOCH).is_some()
            })
        });
        let retired = retired.count();
        assert!(retired <= 50, "{retired} of 1000");
    }

    #[test]
    fn expected_factor_is_one_without_an_effect() {
        let mut random = fastrand::Rng::with_seed(4);
        let mut usage = UsageCounter::default();
        for _ in 0..500 {
            let (chance, failed) = (0.05 + 0.9 * random.f64(), random.bool());
            let factor = |withheld: bool| {
                let mut after = usage;
                observe(&mut after, ObservedTurn { chance, withheld, failed });
                (after.evidence - usage.evidence).exp()
            };
            let mean = chance * factor(false) + (1.0 - chance) * factor(true);
            assert!((mean - 1.0).abs() < 1e-9, "{mean}");
            assert!(if failed { factor(false) >= factor(true) } else { factor(false) <= factor(true) + 1e-12 });
            observe(&mut usage, ObservedTurn { chance, withheld: random.f64() > chance, failed });
        }
    }

    #[test]
    fn few_turns_never_retire_a_lesson() {
        let settings = Settings { error_rate: 0.9, withhold: 0.5, ..Settings::default() };
        let mut usage = UsageCounter::default();
        for turn in 0..MIN_TURNS {
            assert_eq!(retirement(&usage, &settings, Timestamp::UNIX_EPOCH), None);
            let withheld = turn % 2 == 0;
            observe(&mut usage, ObservedTurn { chance: 0.5, withheld, failed: !withheld });
        }
        let reason = retirement(&usage, &settings, Timestamp::UNIX_EPOCH).unwrap().reason;
        assert!(reason.contains("in 10 of 10 turns with it and in 0 of 10 turns without it"), "{reason}");
        // Turns without a draw are counted but are no evidence.
        let mut always = UsageCounter::default();
        for _ in 0..1000 {
            observe(&mut always, ObservedTurn { chance: 1.0, withheld: false, failed: true });
        }
        assert_eq!((always.hurt, always.evidence), (1000, 0.0));
        assert_eq!(retirement(&always, &settings, Timestamp::UNIX_EPOCH), None);
    }
}
