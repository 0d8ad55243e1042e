//! The kill switch: what operators turn off at once, without touching files.
//!
//! Turns that run when it is thrown go on as they began; new ones pass through as under `mode: off`. It is this process's own, and is forgotten
//! when the process ends: what is to stay off stands in a policy file.

use std::collections::BTreeMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use jiff::Timestamp;
use serde::Serialize;

use callwright_policy::Policy;
use callwright_types::rules::Mode;

/// What is turned off now.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Switched {
    /// All turns, where they are.
    pub everything: Option<Thrown>,
    /// The turns of these policies.
    pub policies: BTreeMap<String, Thrown>,
}

impl Switched {
    /// Is anything turned off?
    pub fn is_any(&self) -> bool {
        self.everything.is_some() || !self.policies.is_empty()
    }
}

/// When and why something was turned off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Thrown {
    /// When.
    pub at: Timestamp,
    /// Why, as whoever did it says.
    pub reason: String,
}

/// The switch.
#[derive(Debug, Default)]
pub struct Switch {
    state: ArcSwap<Switched>,
}

impl Switch {
    /// What is turned off now.
    pub fn state(&self) -> Arc<Switched> {
        self.state.load_full()
    }

    /// Turns off the turns of a policy, or all. Where they are off already, the first reason stays.
    pub fn off(&self, policy: Option<&str>, reason: &str) {
        let thrown = || Thrown { at: Timestamp::now(), reason: reason.to_owned() };
        self.state.rcu(|state| {
            let mut state = Switched::clone(state);
            match policy {
                None => drop(state.everything.get_or_insert_with(thrown)),
                Some(policy) => drop(state.policies.entry(policy.to_owned()).or_insert_with(thrown)),
            }
            state
        });
        tracing::warn!(policy = policy.unwrap_or("all"), reason, "switched off: new turns pass through unguarded");
    }

    /// Lets the turns of a policy, or those that were not turned off by their policy, be guarded again.
    pub fn on(&self, policy: Option<&str>) {
        self.state.rcu(|state| {
            let mut state = Switched::clone(state);
            match policy {
                None => drop(state.everything.take()),
                Some(policy) => drop(state.policies.remove(policy)),
            }
            state
        });
        tracing::warn!(policy = policy.unwrap_or("all"), "switched on: new turns are as their policies say");
    }

    /// The policy as it is in force.
    pub(crate) fn in_force(&self, policy: Arc<Policy>) -> Arc<Policy> {
        let state = self.state.load();
        // `base+requested`: what a request asks for besides makes its turn stricter, and turns nothing off.
        let base = policy.name.split_once('+').map_or(policy.name.as_str(), |(base, _)| base);
        let is_off = state.everything.is_some() || state.policies.contains_key(base);
        if is_off { Arc::new(Policy { mode: Mode::Off, ..Policy::clone(&policy) }) } else { policy }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modes(switch: &Switch) -> [Mode; 2] {
        ["default", "strict"].map(|name| {
            let policy = Policy { name: name.to_owned(), mode: Mode::Guard, ..Policy::default() };
            switch.in_force(Arc::new(policy)).mode
        })
    }

    #[test]
    fn a_policy_or_everything_is_off_until_it_is_on_again() {
        let switch = Switch::default();
        switch.off(Some("strict"), "too strict");
        assert_eq!(modes(&switch), [Mode::Guard, Mode::Off]);
        switch.off(None, "an incident");
        switch.off(None, "again");
        assert_eq!(switch.state().everything.as_ref().unwrap().reason, "an incident");
        assert_eq!(modes(&switch), [Mode::Off, Mode::Off]);
        switch.on(None);
        assert_eq!(modes(&switch), [Mode::Guard, Mode::Off], "what was off by itself stays so");
        switch.on(Some("strict"));
        assert_eq!((modes(&switch), &*switch.state()), ([Mode::Guard, Mode::Guard], &Switched::default()));
    }
}
