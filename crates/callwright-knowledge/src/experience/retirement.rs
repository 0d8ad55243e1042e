//! Retirement of harmful lessons and procedures by a sequential test with a fixed error rate that may be evaluated
//! after every turn.
//!
//! A lesson that is found for a turn is shown or withheld at random with a known probability ([`draw`]), which falls
//! while there is no evidence of harm. If the lesson
//! is harmless, failed turns were shown it no more often than this probability. [`observe`] bets against that
//! hypothesis. Each turn multiplies the capital, initially 1, by the ratio of two likelihoods of the turn's draw: as
//! estimated from earlier turns with the same outcome, and as actually drawn.
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
const LEAST_HURT: u64 = 5;

/// Minimum number of turns before a lesson is retired.
const LEAST_TURNS: u64 = 20;

/// Number of turns without evidence of harm after which a lesson is withheld less often: in proportion to the inverse
/// square root of the turns.
const ANNEALED_AFTER: f64 = 100.0;

/// Minimum share of the initial probability, so that a change of the API is still noticed.
const LEAST_SHARE: f64 = 0.1;

/// Turn for which a lesson was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Watched {
    /// Probability that the lesson was shown ([`Recalled::chance`](callwright_types::memory::Recalled::chance)).
    pub chance: f64,
    /// Whether the lesson was withheld.
    pub withheld: bool,
    /// Whether calls that the lesson is about had a fault or failed.
    pub failed: bool,
}

/// Decides at random whether a found lesson with these results is withheld. Returns `true` to withhold it, and the
/// probability that it is shown. Each lesson of a turn is drawn independently.
pub fn draw(settings: &Settings, tally: &UsageCounter, random: &mut fastrand::Rng) -> (bool, f64) {
    let withhold = settings.withhold * withheld_share(tally);
    (random.f64() < withhold, 1.0 - withhold)
}

/// Returns the share of [`Settings::withhold`] that applies after these turns. It depends on earlier turns only, so the
/// error rate of the test holds: the test uses the probability of each turn.
fn withheld_share(tally: &UsageCounter) -> f64 {
    // While the bet against harmlessness gains, every withheld turn shortens the time until the harm is certain.
    if tally.evidence > 0.0 {
        return 1.0;
    }
    let turns = turns(tally).max(1) as f64;
    (ANNEALED_AFTER / turns).sqrt().clamp(LEAST_SHARE, 1.0)
}

/// Counts a turn and updates the capital with its draw.
pub fn observe(tally: &mut UsageCounter, turn: Watched) {
    let (shown, withheld) = match turn.failed {
        true => (tally.hurt, tally.withheld_hurt),
        false => (tally.helped, tally.withheld.saturating_sub(tally.withheld_hurt)),
    };
    // A draw with only one possible result carries no information.
    if turn.chance > 0.0 && turn.chance < 1.0 {
        let estimate = (shown as f64 + turn.chance) / ((shown + withheld) as f64 + 1.0);
        let believed = if turn.failed { estimate.max(turn.chance) } else { estimate.min(turn.chance) };
        tally.evidence += match turn.withheld {
            true => ((1.0 - believed) / (1.0 - turn.chance)).ln(),
            false => (believed / turn.chance).ln(),
        };
    }
    match (turn.withheld, turn.failed) {
        (true, failed) => {
            tally.withheld += 1;
            tally.withheld_hurt += u64::from(failed);
        }
        (false, failed) => {
            tally.uses += 1;
            tally.hurt += u64::from(failed);
            tally.helped += u64::from(!failed);
        }
    }
}

/// Returns the reason to retire a lesson; `None` while there is no evidence of harm. May be called after every turn.
pub fn retirement(tally: &UsageCounter, settings: &Settings, at: Timestamp) -> Option<Retirement> {
    let has_data = tally.hurt >= LEAST_HURT && turns(tally) >= LEAST_TURNS;
    let is_shown = tally.evidence >= -settings.error_rate.ln();
    (has_data && is_shown).then(|| Retirement { at, reason: reason(tally, settings) })
}

/// Returns the number of turns that a lesson was found for.
pub(super) fn turns(tally: &UsageCounter) -> u64 {
    tally.uses + tally.withheld
}

fn reason(tally: &UsageCounter, settings: &Settings) -> String {
    let UsageCounter { uses, hurt, withheld, withheld_hurt, .. } = tally;
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
        let mut tally = UsageCounter::default();
        (1..=turns).find(|_| {
            let (withheld, chance) = draw(&settings, &tally, random);
            let failed = random.f64() < if withheld { without } else { with };
            observe(&mut tally, Watched { chance, withheld, failed });
            retirement(&tally, &settings, Timestamp::UNIX_EPOCH).is_some()
        })
    }

    #[test]
    fn harmless_lessons_are_retired_no_more_often_than_the_error_rate_says() {
        let mut random = fastrand::Rng::with_seed(1);
        for (with, without) in [(0.1, 0.1), (0.5, 0.5), (0.9, 0.9), (0.1, 0.4)] {
            let retired = (0..1000).filter(|_| retired_after(with, without, 1000, &mut random).is_some()).count();
            assert!(retired <= 50, "{retired} of 1000 at {with} and {without}");
        }
    }

    #[test]
    fn a_lesson_that_does_harm_is_retired_soon() {
        let mut random = fastrand::Rng::with_seed(2);
        let soon = (0..1000).filter(|_| retired_after(0.4, 0.1, 400, &mut random).is_some()).count();
        assert!(soon >= 950, "{soon} of 1000 within 400 turns");
    }

    #[test]
    fn a_lesson_without_evidence_of_harm_is_withheld_ever_less_often() {
        let settings = Settings::default();
        let mut random = fastrand::Rng::with_seed(5);
        let mut chance_after = |helped: u64, evidence: f64| {
            let tally = UsageCounter { uses: helped, helped, evidence, ..UsageCounter::default() };
            draw(&settings, &tally, &mut random).1
        };
        for (turns, expected) in [(0, 0.8), (100, 0.8), (400, 0.9), (10_000, 0.98), (1_000_000, 0.98)] {
            assert!((chance_after(turns, -1.0) - expected).abs() < 1e-9, "{turns}");
        }
        assert!((chance_after(10_000, 0.5) - 0.8).abs() < 1e-9, "suspicion restores the experiment");
    }

    #[test]
    fn failures_that_come_in_streaks_do_not_deceive_it() {
        // An API that is down fails all turns for a while, with and without the lesson.
        let settings = Settings::default();
        let mut random = fastrand::Rng::with_seed(3);
        let retired = (0..1000).filter(|_| {
            let mut tally = UsageCounter::default();
            (0..1000).any(|turn| {
                let (withheld, chance) = draw(&settings, &tally, &mut random);
                observe(&mut tally, Watched { chance, withheld, failed: turn / 50 % 2 == 0 });
                retirement(&tally, &settings, Timestamp::UNIX_EPOCH).is_some()
            })
        });
        let retired = retired.count();
        assert!(retired <= 50, "{retired} of 1000");
    }

    #[test]
    fn without_an_effect_a_turn_changes_the_capital_by_nothing_in_the_mean() {
        let mut random = fastrand::Rng::with_seed(4);
        let mut tally = UsageCounter::default();
        for _ in 0..500 {
            let (chance, failed) = (0.05 + 0.9 * random.f64(), random.bool());
            let factor = |withheld: bool| {
                let mut after = tally;
                observe(&mut after, Watched { chance, withheld, failed });
                (after.evidence - tally.evidence).exp()
            };
            let mean = chance * factor(false) + (1.0 - chance) * factor(true);
            assert!((mean - 1.0).abs() < 1e-9, "{mean}");
            assert!(if failed { factor(false) >= factor(true) } else { factor(false) <= factor(true) + 1e-12 });
            observe(&mut tally, Watched { chance, withheld: random.f64() > chance, failed });
        }
    }

    #[test]
    fn few_turns_never_retire_a_lesson() {
        let settings = Settings { error_rate: 0.9, withhold: 0.5, ..Settings::default() };
        let mut tally = UsageCounter::default();
        for turn in 0..LEAST_TURNS {
            assert_eq!(retirement(&tally, &settings, Timestamp::UNIX_EPOCH), None);
            let withheld = turn % 2 == 0;
            observe(&mut tally, Watched { chance: 0.5, withheld, failed: !withheld });
        }
        let reason = retirement(&tally, &settings, Timestamp::UNIX_EPOCH).unwrap().reason;
        assert!(reason.contains("in 10 of 10 turns with it and in 0 of 10 turns without it"), "{reason}");
        // Turns without a draw are counted but are no evidence.
        let mut always = UsageCounter::default();
        for _ in 0..1000 {
            observe(&mut always, Watched { chance: 1.0, withheld: false, failed: true });
        }
        assert_eq!((always.hurt, always.evidence), (1000, 0.0));
        assert_eq!(retirement(&always, &settings, Timestamp::UNIX_EPOCH), None);
    }
}
