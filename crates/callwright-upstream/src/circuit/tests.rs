use proptest::prelude::*;

use super::*;

const RULES: CircuitRules = CircuitRules {
    failures: 3,
    percent: 50,
    window: Duration::from_secs(30),
    open: Duration::from_secs(10),
    probes: 2,
};

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

fn fail(circuit: &mut Circuit, now: Instant) {
    let ticket = circuit.admit(now).unwrap();
    circuit.failed(ticket, now);
}

fn succeed(circuit: &mut Circuit, now: Instant) {
    let ticket = circuit.admit(now).unwrap();
    circuit.succeeded(ticket, now);
}

fn open(now: Instant) -> Circuit {
    let mut circuit = Circuit::new(RULES, now);
    (0..3).for_each(|_| fail(&mut circuit, now));
    circuit
}

#[test]
fn failures_open_it_by_their_number_and_their_share() {
    let now = Instant::now();
    let mut circuit = Circuit::new(RULES, now);
    (0..4).for_each(|_| succeed(&mut circuit, now));
    (0..3).for_each(|_| fail(&mut circuit, now));
    assert_eq!(circuit.state(now), CircuitState::Closed, "three of seven are less than half");
    fail(&mut circuit, now);
    assert_eq!(circuit.state(now), CircuitState::Open);
    assert_eq!(circuit.admit(now + seconds(4)), Err(seconds(6)));
}

#[test]
fn failures_that_are_long_ago_do_not_count() {
    let now = Instant::now();
    let mut circuit = Circuit::new(RULES, now);
    for step in 0..10 {
        fail(&mut circuit, now + seconds(step * 20));
    }
    assert_eq!(circuit.state(now + seconds(180)), CircuitState::Closed, "there are two in any thirty seconds");
    fail(&mut circuit, now + seconds(181));
    assert_eq!(circuit.state(now + seconds(181)), CircuitState::Open);
}

#[test]
fn an_answer_that_breaks_off_is_one_request_that_failed() {
    let now = Instant::now();
    let mut circuit = Circuit::new(RULES, now);
    for _ in 0..3 {
        let ticket = circuit.admit(now).unwrap();
        circuit.succeeded(ticket, now);
        circuit.broke(ticket, now);
    }
    assert_eq!(circuit.state(now), CircuitState::Open);
}

#[test]
fn after_its_time_a_few_probes_decide() {
    let now = Instant::now();
    let later = now + seconds(10);
    let mut circuit = open(now);
    assert_eq!(circuit.state(later), CircuitState::HalfOpen);
    let (one, other) = (circuit.admit(later).unwrap(), circuit.admit(later).unwrap());
    assert_eq!(circuit.admit(later), Err(Duration::ZERO), "two at a time");
    circuit.succeeded(one, later);
    assert_eq!(circuit.admit(later), Err(Duration::ZERO), "the other one will tell");
    circuit.succeeded(other, later);
    assert_eq!(circuit.state(later), CircuitState::Closed);
    fail(&mut circuit, later);
    assert_eq!(circuit.state(later), CircuitState::Closed, "what was before it opened is forgotten");
}

#[test]
fn a_failed_probe_opens_it_again_and_an_abandoned_one_is_void() {
    let now = Instant::now();
    let later = now + seconds(10);
    let mut circuit = open(now);
    let ticket = circuit.admit(later).unwrap();
    circuit.abandoned(ticket);
    let (one, other) = (circuit.admit(later).unwrap(), circuit.admit(later).unwrap());
    circuit.failed(one, later);
    assert_eq!(circuit.admit(later + seconds(1)), Err(seconds(9)));
    circuit.succeeded(other, later);
    assert_eq!(circuit.state(later), CircuitState::Open, "a probe of before does not close it");
}

#[test]
fn what_began_before_it_opened_does_not_count_afterwards() {
    let now = Instant::now();
    let mut circuit = Circuit::new(RULES, now);
    let old = circuit.admit(now).unwrap();
    (0..3).for_each(|_| fail(&mut circuit, now));
    let later = now + seconds(10);
    succeed(&mut circuit, later);
    circuit.failed(old, later);
    assert_eq!(circuit.state(later), CircuitState::HalfOpen);
    succeed(&mut circuit, later);
    assert_eq!(circuit.state(later), CircuitState::Closed);
}

#[test]
fn with_no_failures_to_open_at_it_never_opens() {
    let now = Instant::now();
    let mut circuit = Circuit::new(CircuitRules { failures: 0, ..RULES }, now);
    (0..1_000).for_each(|_| fail(&mut circuit, now));
    assert_eq!(circuit.state(now), CircuitState::Closed);
}

#[derive(Debug, Clone, Copy)]
enum Event {
    Ask,
    Succeed(usize),
    Fail(usize),
    Break(usize),
    Leave(usize),
    Wait(u64),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => Just(Event::Ask),
        2 => any::<usize>().prop_map(Event::Succeed),
        3 => any::<usize>().prop_map(Event::Fail),
        1 => any::<usize>().prop_map(Event::Break),
        1 => any::<usize>().prop_map(Event::Leave),
        2 => (0_u64..20_000).prop_map(Event::Wait),
    ]
}

proptest! {
    /// For any sequence of events: an open circuit admits nothing before its time, a half-open one no more concurrent
    /// requests than its probes, and no circuit stays open forever.
    #[test]
    fn it_keeps_its_promises(events in prop::collection::vec(event(), 0..200)) {
        let mut now = Instant::now();
        let mut circuit = Circuit::new(RULES, now);
        let mut under_way: Vec<Ticket> = Vec::new();
        for event in events {
            let before = circuit.state(now);
            let take = |under_way: &mut Vec<Ticket>, index: usize| {
                (!under_way.is_empty()).then(|| under_way.swap_remove(index % under_way.len()))
            };
            match event {
                Event::Ask => match circuit.admit(now) {
                    Ok(ticket) => {
                        prop_assert_ne!(before, CircuitState::Open);
                        under_way.push(ticket);
                    }
                    Err(wait) => {
                        prop_assert_ne!(before, CircuitState::Closed);
                        prop_assert!(wait <= RULES.open);
                    }
                },
                Event::Succeed(index) => if let Some(ticket) = take(&mut under_way, index) {
                    circuit.succeeded(ticket, now);
                },
                Event::Fail(index) => if let Some(ticket) = take(&mut under_way, index) {
                    circuit.failed(ticket, now);
                },
                Event::Break(index) => if let Some(ticket) = take(&mut under_way, index) {
                    circuit.succeeded(ticket, now);
                    circuit.broke(ticket, now);
                },
                Event::Leave(index) => if let Some(ticket) = take(&mut under_way, index) {
                    circuit.abandoned(ticket);
                },
                Event::Wait(milliseconds) => now += Duration::from_millis(milliseconds),
            }
            if circuit.state(now) == CircuitState::HalfOpen {
                let probes = under_way.iter().filter(|ticket| ticket.era == circuit.era).count();
                prop_assert!(probes <= RULES.probes as usize);
            }
        }
        // The upstream works from here on: all in-flight requests end, and the circuit closes.
        under_way.into_iter().for_each(|ticket| circuit.abandoned(ticket));
        now += RULES.open;
        for _ in 0..RULES.probes {
            let ticket = circuit.admit(now).unwrap();
            circuit.succeeded(ticket, now);
        }
        prop_assert_eq!(circuit.state(now), CircuitState::Closed);
    }
}
