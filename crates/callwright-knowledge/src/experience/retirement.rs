//! When a lesson, or a procedure, does harm: a sequential test with a stated error rate, which may be looked at after every turn.
//!
//! A lesson that is found for a turn is shown to it or withheld by a random draw of known chance ([`draw`]). If it does no harm, a turn that fails was shown
//! it no more often than the draw says. [`observe`] bets against that: each turn multiplies a capital, 1 at first, by how likely the turn's
//! draw is in the light of earlier turns with the same end, over how likely the draw made it. Without an effect that factor is 1 in the mean whatever came
//! before, and where the lesson helps it is less; so the capital ever reaches 1/α with a chance of α at most (Ville's inequality; Ramdas et
//! al., "Game-theoretic statistics and safe anytime-valid inference", Statistical Science 38, 2023). Estimates are those of Krichevsky and
//! Trofimov, begun at the draw's own chance, and never on the lesson's side: it is not asked whether it helps, only whether it hurts.

use jiff::Timestamp;

use super::Settings;
use callwright_types::Tally;
use callwright_types::memory::Retirement;

/// Turns with a fault, of those that a lesson was shown to, without which it is not retired, whatever the test says: a few withheld turns that
/// went well are no harm that anybody has seen.
const LEAST_HURT: u64 = 5;

/// Turns without which it is not retired.
const LEAST_TURNS: u64 = 20;

/// A turn for which a lesson was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Watched {
    /// How likely the lesson was to be shown ([`Recalled::chance`](callwright_types::memory::Recalled::chance)).
    pub chance: f64,
    /// Was it withheld?
    pub withheld: bool,
    /// Had calls that the lesson is about a fault or a failure?
    pub failed: bool,
}

/// Decides by chance whether a lesson that was found is withheld: `true` to withhold it, and how likely it was to be shown. Each lesson
/// of a turn is drawn for by itself.
pub fn draw(settings: &Settings, random: &mut fastrand::Rng) -> (bool, f64) {
    (random.f64() < settings.withhold, 1.0 - settings.withhold)
}

/// Counts a turn, and bets on its draw by what earlier turns said.
pub fn observe(tally: &mut Tally, turn: Watched) {
    let (shown, withheld) = match turn.failed {
        true => (tally.hurt, tally.withheld_hurt),
        false => (tally.helped, tally.withheld.saturating_sub(tally.withheld_hurt)),
    };
    // A draw that could end one way alone says nothing.
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

/// Why a lesson is to be used no more; `None` as long as nothing shows that it does harm. May be asked after every turn.
pub fn retirement(tally: &Tally, settings: &Settings, at: Timestamp) -> Option<Retirement> {
    let has_data = tally.hurt >= LEAST_HURT && tally.uses + tally.withheld >= LEAST_TURNS;
    let is_shown = tally.evidence >= -settings.error_rate.ln();
    (has_data && is_shown).then(|| Retirement { at, reason: reason(tally, settings) })
}

fn reason(tally: &Tally, settings: &Settings) -> String {
    let Tally { uses, hurt, withheld, withheld_hurt, .. } = tally;
    format!(
        "calls that it is about went wrong in {hurt} of {uses} turns that it was shown to, and in {withheld_hurt} of {withheld} turns that it \
         was withheld from; without any harm it comes to this with a chance of {} at most",
        settings.error_rate
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After how many turns a lesson is retired.
    fn retired_after(with: f64, without: f64, turns: u64, random: &mut fastrand::Rng) -> Option<u64> {
        let settings = Settings::default();
        let mut tally = Tally::default();
        (1..=turns).find(|_| {
            let (withheld, chance) = draw(&settings, random);
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
    fn failures_that_come_in_streaks_do_not_deceive_it() {
        // An API that is down fails all turns for a while, shown or not.
        let settings = Settings::default();
        let mut random = fastrand::Rng::with_seed(3);
        let retired = (0..1000).filter(|_| {
            let mut tally = Tally::default();
            (0..1000).any(|turn| {
                let (withheld, chance) = draw(&settings, &mut random);
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
        let mut tally = Tally::default();
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
        let mut tally = Tally::default();
        for turn in 0..LEAST_TURNS {
            assert_eq!(retirement(&tally, &settings, Timestamp::UNIX_EPOCH), None);
            let withheld = turn % 2 == 0;
            observe(&mut tally, Watched { chance: 0.5, withheld, failed: !withheld });
        }
        let reason = retirement(&tally, &settings, Timestamp::UNIX_EPOCH).unwrap().reason;
        assert!(reason.contains("in 10 of 10 turns that it was shown to, and in 0 of 10 turns"), "{reason}");
        // Turns without a draw are counted, and say nothing.
        let mut always = Tally::default();
        for _ in 0..1000 {
            observe(&mut always, Watched { chance: 1.0, withheld: false, failed: true });
        }
        assert_eq!((always.hurt, always.evidence), (1000, 0.0));
        assert_eq!(retirement(&always, &settings, Timestamp::UNIX_EPOCH), None);
    }
}
