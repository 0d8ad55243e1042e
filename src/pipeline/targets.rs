//! Selection of the upstream for a turn, and the failover order.

use sha2::{Digest, Sha256};

use super::settings::{AliasSettings, TargetSettings};

/// An upstream's name (empty: the default one), and a model's name there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Name of the upstream; empty: the default one.
    pub upstream: String,
    /// Model's name at that upstream.
    pub model: String,
}

impl Target {
    /// Creates a target; without a model, it has the model name of its `alias`.
    fn new(upstream: &str, model: &str, alias: &str) -> Self {
        Self { upstream: upstream.to_owned(), model: if model.is_empty() { alias } else { model }.to_owned() }
    }
}

/// Returns the targets of an alias in failover order; never an empty list. The same `affinity` gives the same order in
/// every process. Adding or removing a target moves only the turns that it gets or had, so the prompt cache of an
/// upstream stays useful for a conversation. Over many affinities, each target comes first in proportion to its weight.
pub(crate) fn targets(name: &str, alias: &AliasSettings, affinity: &str) -> Vec<Target> {
    let mut ranked: Vec<(f64, &TargetSettings)> =
        alias.targets.iter().map(|target| (score(target, affinity), target)).collect();
    ranked.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    let mut order: Vec<Target> =
        ranked.iter().map(|(_, ranked)| Target::new(&ranked.upstream, &ranked.model, name)).collect();
    if order.is_empty() {
        order.push(Target::new(&alias.upstream, &alias.model, name));
    }
    order.extend(alias.fallbacks.iter().map(|fallback| Target::new(&fallback.upstream, &fallback.model, name)));
    order
}

/// Weighted rendezvous hashing: the highest score wins (Schindelhauer and Schomaker, "Weighted Distributed Hash
/// Tables", 2005).
fn score(target: &TargetSettings, affinity: &str) -> f64 {
    let mut hash = Sha256::new();
    for part in [affinity, &target.upstream, &target.model] {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    let digest = hash.finalize();
    let number =
        digest.iter().take(size_of::<u64>()).fold(0, |number: u64, byte| number << u8::BITS | u64::from(*byte));
    // Between 0 and 1, both exclusive.
    let share = ((number >> (u64::BITS + 1 - f64::MANTISSA_DIGITS)) as f64 + 0.5) * f64::EPSILON;
    f64::from(target.weight) / -share.ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::settings::FallbackSettings;

    fn alias(weights: &[(&str, u32)]) -> AliasSettings {
        let targets = weights
            .iter()
            .map(|(upstream, weight)| TargetSettings {
                upstream: (*upstream).to_owned(),
                model: String::new(),
                weight: *weight,
            })
            .collect();
        let fallbacks = vec![FallbackSettings { upstream: "last".to_owned(), model: "small".to_owned() }];
        AliasSettings { targets, fallbacks, ..AliasSettings::default() }
    }

    fn first(alias: &AliasSettings, session: u32) -> String {
        targets("m", alias, &format!("session {session}")).remove(0).upstream
    }

    #[test]
    fn an_alias_without_targets_has_its_upstream_and_its_own_name() {
        let alias = AliasSettings { upstream: "a".to_owned(), ..AliasSettings::default() };
        assert_eq!(targets("m", &alias, "s"), [Target { upstream: "a".into(), model: "m".into() }]);
    }

    #[test]
    fn all_targets_stand_in_for_each_other_and_fallbacks_come_last() {
        let order = targets("m", &alias(&[("a", 1), ("b", 1), ("c", 0)]), "s");
        let names: Vec<&str> = order.iter().map(|target| target.upstream.as_str()).collect();
        assert_eq!(order.len(), 4);
        assert_eq!((names[2], names[3], order[3].model.as_str()), ("c", "last", "small"));
        assert!(names.contains(&"a") && names.contains(&"b"));
    }

    #[test]
    fn weights_are_kept() {
        let alias = alias(&[("a", 3), ("b", 1), ("c", 0)]);
        let of_a = (0..10_000).filter(|session| first(&alias, *session) == "a").count();
        let of_c = (0..10_000).filter(|session| first(&alias, *session) == "c").count();
        assert!((7_300..7_700).contains(&of_a), "{of_a} of 10000");
        assert_eq!(of_c, 0, "no weight, no turn of its own");
    }

    #[test]
    fn a_session_stays_where_it_is_and_a_new_target_only_takes() {
        let before = alias(&[("a", 1), ("b", 1)]);
        let after = alias(&[("b", 1), ("new", 1), ("a", 1)]);
        let mut taken = 0;
        for session in 0..1_000 {
            let (old, new) = (first(&before, session), first(&after, session));
            assert_eq!(old, first(&before, session));
            assert!(new == old || new == "new", "{old} became {new}");
            taken += usize::from(new == "new");
        }
        assert!((250..420).contains(&taken), "{taken} of 1000");
    }
}
