//! The kill switch: operators turn off processing at once, without editing files.
//!
//! Running turns continue unchanged; new turns are passed through as under `mode: off`. The switch is local to the
//! process and is lost at its end. For a permanent change, use a policy file.

use std::collections::BTreeMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use jiff::Timestamp;
use serde::Serialize;

use callwright_policy::Policy;
use callwright_types::rules::Mode;

/// Current state of the switch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Switched {
    /// Set if all turns are turned off.
    pub everything: Option<Thrown>,
    /// Policies whose turns are turned off.
    pub policies: BTreeMap<String, Thrown>,
}

impl Switched {
    /// Whether anything is turned off.
    pub fn is_any(&self) -> bool {
        self.everything.is_some() || !self.policies.is_empty()
    }
}

/// Time and reason of a switch-off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Thrown {
    /// Time of the switch-off.
    pub at: Timestamp,
    /// Reason given by the operator.
    pub reason: String,
}

/// The kill switch of a process.
#[derive(Debug, Default)]
pub struct Switch {
    state: ArcSwap<Switched>,
}

impl Switch {
    pub fn state(&self) -> Arc<Switched> {
        self.state.load_full()
    }

    /// Turns off the turns of one policy, or all turns. If they are already off, the first reason is kept.
    pub fn off(&self, policy: Option<&str>, reason: &str) {
        let thrown = Thrown { at: Timestamp::now(), reason: reason.to_owned() };
        self.state.rcu(|state| {
            let mut state = Switched::clone(state);
            match policy {
                None => drop(state.everything.get_or_insert_with(|| thrown.clone())),
                Some(policy) => drop(state.policies.entry(policy.to_owned()).or_insert_with(|| thrown.clone())),
            }
            state
        });
        tracing::warn!(policy = policy.unwrap_or("all"), reason, "switched off: new turns pass through unguarded");
    }

    /// Ends the switch-off of one policy, or the one for all turns. Policies that were turned off separately stay off.
    pub fn on(&self, policy: Option<&str>) {
        self.state.rcu(|state| {
            let mut state = Switched::clone(state);
            match policy {
                None => drop(state.everything.take()),
                Some(policy) => drop(state.policies.remove(policy)),
            }
            state
        });
        tracing::warn!(policy = policy.unwrap_or("all"), "switched on: new turns follow their policies");
    }

    /// Returns the policy with the switch applied.
    pub(crate) fn in_force(&self, policy: Arc<Policy>) -> Arc<Policy> {
        let state = self.state.load();
        let is_off = state.everything.is_some() || state.policies.contains_key(&policy.name);
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
