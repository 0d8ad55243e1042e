//! The only loop of a turn, as a pure state machine. It decides between upstream requests, execution of calls and
//! answering, from verdicts, outcomes and the remaining limits. It does no I/O and reads no clock. It always terminates
//! (see the property test below): every step except an answer spends an upstream request, or follows one that did.

use callwright_types::{Limits, Purpose, TurnLimit};

/// Next action of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DialogueStep {
    /// Appends the faults found by the scan as feedback, then queries the upstream.
    FeedBack(Purpose),
    /// Queries the upstream.
    Ask(Purpose),
    /// Executes the checked calls of the last answer that the proxy owns.
    Run,
    /// Executes the calls that the proxy owns, and answers with the client's calls. The client returns with their
    /// results.
    RunAndAnswer,
    /// Answers the client.
    Answer(TurnEnding),
}

/// Final state of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TurnEnding {
    /// The turn ends with the last answer, as validated.
    Judged,
    /// A limit was reached, and the model gave a final answer without calls.
    Closed(TurnLimit),
    /// The turn ends with the last answer although it is faulty. The `on_exhausted` rule of the policy determines its
    /// form.
    Exhausted(TurnLimit),
    /// The turn ends with a record of the attempts, for a person. The last answer's calls are the proxy's own, so the
    /// client cannot use it.
    Handover(TurnLimit),
}

impl TurnEnding {
    /// Returns the limit that ended the turn, if any.
    pub(crate) const fn limit(self) -> Option<TurnLimit> {
        match self {
            Self::Judged => None,
            Self::Closed(limit) | Self::Exhausted(limit) | Self::Handover(limit) => Some(limit),
        }
    }
}

/// Summary of a validated answer, including calls accepted earlier in the turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct JudgedSummary {
    /// Whether the answer has faulty calls, or a text that should have been a call.
    pub(crate) faulty: bool,
    /// Whether the answer may be a call or only describe one, and nothing else is faulty.
    pub(crate) unsure: bool,
    /// Whether the answer was not validated within its budget. Nothing in it is known to be right or wrong, and nothing
    /// in it may be executed.
    pub(crate) unjudged: bool,
    /// Whether the client has the answer.
    pub(crate) delivered: bool,
    /// Whether the fault is an empty answer (E6).
    pub(crate) no_answer: bool,
    /// Whether the client can use the faulty parts. Calls of the catalog's tools are useless to the client.
    pub(crate) faults_are_the_clients: bool,
    /// Number of calls that the client executes: checked calls, and calls that the proxy does not validate.
    pub(crate) client_calls: usize,
    /// Number of checked calls that the proxy executes.
    pub(crate) proxy_calls: usize,
}

/// Resources that the turn has used so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TurnSpending {
    /// Tokens of all attempts.
    pub(crate) tokens: u64,
    /// Whole seconds since the request arrived.
    pub(crate) seconds: u64,
}

/// State of the dialogue of one turn.
#[derive(Debug, Clone)]
pub(crate) struct Dialogue {
    limits: Limits,
    /// Whether only one round is allowed: the client requested several choices, or the mode is not `guard`.
    single: bool,
    requests: u32,
    static_rounds: u32,
    dynamic_rounds: u32,
    /// Number of answers that came from a plan, not from the upstream.
    planned: u32,
    /// Whether the model was requested to confirm a call since the last results; at most once.
    confirmed: bool,
    /// Whether the model was sent the message about an empty answer; at most once per turn.
    nudged: bool,
    /// The limit that made the last request a closing one.
    closing: Option<TurnLimit>,
}

impl Dialogue {
    /// Creates a dialogue with `limits`; a `single` dialogue makes one upstream request.
    pub(crate) fn new(limits: Limits, single: bool) -> Self {
        // No struct update: the limits of a default dialogue would be built and thrown away in each turn.
        Self {
            limits,
            single,
            requests: 0,
            static_rounds: 0,
            dynamic_rounds: 0,
            planned: 0,
            confirmed: false,
            nudged: false,
            closing: None,
        }
    }

    /// Returns the first step. It always sends the client's own request, independent of the limits.
    pub(crate) fn start(&mut self) -> Purpose {
        self.requests += 1;
        Purpose::First
    }

    /// Whether a plan may answer instead of the upstream. Each answer of a plan makes at least one call, and
    /// `plan_calls` limits them.
    pub(crate) fn may_follow_plan(&self) -> bool {
        !self.single && self.planned < self.limits.plan_calls
    }

    /// Records that a plan answered: the upstream request of the last step is not made.
    pub(crate) fn planned(&mut self) {
        self.planned += 1;
        self.requests = self.requests.saturating_sub(1);
    }

    /// Returns the step after the validation of an answer.
    pub(crate) fn judged(&mut self, judged: JudgedSummary, spent: TurnSpending) -> DialogueStep {
        if self.single || judged.delivered {
            return DialogueStep::Answer(TurnEnding::Judged);
        }
        if judged.unjudged {
            // Another request would give the same text, and cost the same time.
            let limit = TurnLimit::Judgement;
            return DialogueStep::Answer(match judged.faults_are_the_clients {
                true => TurnEnding::Exhausted(limit),
                false => TurnEnding::Handover(limit),
            });
        }
        if let Some(limit) = self.closing {
            let still_calls = judged.faulty && !judged.unsure || judged.proxy_calls > 0;
            return DialogueStep::Answer(if still_calls {
                TurnEnding::Handover(limit)
            } else {
                TurnEnding::Closed(limit)
            });
        }
        if judged.unsure {
            let is_first = !std::mem::replace(&mut self.confirmed, true);
            return self.feed_back_or_answer(is_first, Purpose::Confirmation, spent);
        }
        if judged.no_answer {
            let is_first = !std::mem::replace(&mut self.nudged, true);
            return self.feed_back_or_answer(is_first, Purpose::StaticFeedback, spent);
        }
        if judged.faulty {
            return match self.exceeded(spent) {
                None if self.static_rounds < self.limits.static_feedback => self.feed_back(Purpose::StaticFeedback),
                exceeded => {
                    let limit = exceeded.unwrap_or(TurnLimit::StaticFeedback);
                    if judged.faults_are_the_clients {
                        DialogueStep::Answer(TurnEnding::Exhausted(limit))
                    } else {
                        self.close(limit, spent, DialogueStep::FeedBack)
                    }
                }
            };
        }
        match (judged.proxy_calls, judged.client_calls) {
            (0, _) => DialogueStep::Answer(TurnEnding::Judged),
            (_, 0) => DialogueStep::Run,
            _ => DialogueStep::RunAndAnswer,
        }
    }

    /// Returns the step after the execution of the proxy's calls.
    pub(crate) fn ran(&mut self, any_failed: bool, spent: TurnSpending) -> DialogueStep {
        self.confirmed = false;
        if let Some(limit) = self.exceeded(spent) {
            return DialogueStep::Answer(TurnEnding::Handover(limit));
        }
        if !any_failed {
            return self.ask(Purpose::ToolResults);
        }
        if self.dynamic_rounds < self.limits.dynamic_feedback {
            self.dynamic_rounds += 1;
            self.ask(Purpose::DynamicFeedback)
        } else {
            self.close(TurnLimit::DynamicFeedback, spent, DialogueStep::Ask)
        }
    }

    /// Returns the ending after a repeated request without a usable answer. `useful` is whether the client can use the
    /// last validated answer.
    pub(crate) fn failed_again(&self, useful: bool) -> TurnEnding {
        let limit = self.closing.unwrap_or(TurnLimit::Upstream);
        if useful { TurnEnding::Exhausted(limit) } else { TurnEnding::Handover(limit) }
    }

    /// Returns the step for an answer that is forwarded unchanged unless feedback is possible: an empty answer, or one
    /// that may be a call.
    fn feed_back_or_answer(&mut self, is_first: bool, purpose: Purpose, spent: TurnSpending) -> DialogueStep {
        if is_first && self.static_rounds < self.limits.static_feedback && self.exceeded(spent).is_none() {
            self.feed_back(purpose)
        } else {
            DialogueStep::Answer(TurnEnding::Judged)
        }
    }

    fn feed_back(&mut self, purpose: Purpose) -> DialogueStep {
        self.static_rounds += 1;
        self.requests += 1;
        DialogueStep::FeedBack(purpose)
    }

    fn ask(&mut self, purpose: Purpose) -> DialogueStep {
        self.requests += 1;
        DialogueStep::Ask(purpose)
    }

    fn close(&mut self, limit: TurnLimit, spent: TurnSpending, step: fn(Purpose) -> DialogueStep) -> DialogueStep {
        if self.exceeded(spent).is_some() {
            return DialogueStep::Answer(TurnEnding::Handover(limit));
        }
        self.closing = Some(limit);
        self.requests += 1;
        step(Purpose::Closing)
    }

    fn exceeded(&self, spent: TurnSpending) -> Option<TurnLimit> {
        if self.requests >= self.limits.upstream_requests {
            Some(TurnLimit::UpstreamRequests)
        } else if self.limits.tokens > 0 && spent.tokens >= self.limits.tokens {
            Some(TurnLimit::Tokens)
        } else if spent.seconds >= self.limits.seconds {
            Some(TurnLimit::Seconds)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXT: JudgedSummary = JudgedSummary {
        faulty: false,
        unsure: false,
        unjudged: false,
        delivered: false,
        no_answer: false,
        faults_are_the_clients: false,
        client_calls: 0,
        proxy_calls: 0,
    };
    const CLEAN: JudgedSummary = JudgedSummary { client_calls: 1, ..TEXT };
    const FAULTY: JudgedSummary = JudgedSummary { faulty: true, faults_are_the_clients: true, ..TEXT };
    const OWN: JudgedSummary = JudgedSummary { proxy_calls: 1, ..TEXT };
    const OWN_FAULTY: JudgedSummary = JudgedSummary { faulty: true, ..TEXT };
    const EMPTY: JudgedSummary = JudgedSummary { no_answer: true, ..FAULTY };
    const NOTHING: TurnSpending = TurnSpending { tokens: 0, seconds: 0 };

    fn dialogue() -> Dialogue {
        let mut dialogue = Dialogue::new(Limits::default(), false);
        assert_eq!(dialogue.start(), Purpose::First);
        dialogue
    }

    #[test]
    fn a_clean_answer_is_answered_at_once() {
        assert_eq!(dialogue().judged(CLEAN, NOTHING), DialogueStep::Answer(TurnEnding::Judged));
        assert_eq!(dialogue().judged(TEXT, NOTHING), DialogueStep::Answer(TurnEnding::Judged));
    }

    #[test]
    fn faulty_answers_go_back_until_the_static_limit() {
        let mut dialogue = dialogue();
        for _ in 0..3 {
            assert_eq!(dialogue.judged(FAULTY, NOTHING), DialogueStep::FeedBack(Purpose::StaticFeedback));
        }
        assert_eq!(
            dialogue.judged(FAULTY, NOTHING),
            DialogueStep::Answer(TurnEnding::Exhausted(TurnLimit::StaticFeedback))
        );
    }

    #[test]
    fn an_empty_answer_goes_back_once_within_the_static_limit() {
        let mut dialogue = dialogue();
        assert_eq!(dialogue.judged(EMPTY, NOTHING), DialogueStep::FeedBack(Purpose::StaticFeedback));
        assert_eq!(dialogue.judged(OWN, NOTHING), DialogueStep::Run);
        assert_eq!(dialogue.ran(false, NOTHING), DialogueStep::Ask(Purpose::ToolResults));
        assert_eq!(dialogue.judged(EMPTY, NOTHING), DialogueStep::Answer(TurnEnding::Judged), "once in a turn");
        let mut none = Dialogue::new(Limits { static_feedback: 0, ..Limits::default() }, false);
        none.start();
        assert_eq!(none.judged(EMPTY, NOTHING), DialogueStep::Answer(TurnEnding::Judged));
        let mut single = Dialogue::new(Limits::default(), true);
        single.start();
        assert_eq!(single.judged(EMPTY, NOTHING), DialogueStep::Answer(TurnEnding::Judged));
    }

    #[test]
    fn faulty_proxy_calls_end_in_a_closing_request_then_a_handover() {
        let mut dialogue = dialogue();
        for _ in 0..3 {
            assert_eq!(dialogue.judged(OWN_FAULTY, NOTHING), DialogueStep::FeedBack(Purpose::StaticFeedback));
        }
        assert_eq!(dialogue.judged(OWN_FAULTY, NOTHING), DialogueStep::FeedBack(Purpose::Closing));
        let mut obedient = dialogue.clone();
        assert_eq!(obedient.judged(TEXT, NOTHING), DialogueStep::Answer(TurnEnding::Closed(TurnLimit::StaticFeedback)));
        assert_eq!(
            dialogue.judged(OWN, NOTHING),
            DialogueStep::Answer(TurnEnding::Handover(TurnLimit::StaticFeedback))
        );
    }

    #[test]
    fn failed_outcomes_are_explained_until_the_dynamic_limit() {
        let mut dialogue = dialogue();
        for _ in 0..2 {
            assert_eq!(dialogue.judged(OWN, NOTHING), DialogueStep::Run);
            assert_eq!(dialogue.ran(true, NOTHING), DialogueStep::Ask(Purpose::DynamicFeedback));
        }
        assert_eq!(dialogue.judged(OWN, NOTHING), DialogueStep::Run);
        assert_eq!(dialogue.ran(true, NOTHING), DialogueStep::Ask(Purpose::Closing));
    }

    #[test]
    fn of_mixed_calls_the_proxys_run_and_the_clients_are_answered() {
        let mixed = JudgedSummary { proxy_calls: 2, ..CLEAN };
        assert_eq!(dialogue().judged(mixed, NOTHING), DialogueStep::RunAndAnswer);
        let faulty = JudgedSummary { faulty: true, faults_are_the_clients: true, ..mixed };
        assert_eq!(dialogue().judged(faulty, NOTHING), DialogueStep::FeedBack(Purpose::StaticFeedback));
    }

    #[test]
    fn an_unsure_answer_is_confirmed_once_and_is_text_otherwise() {
        let unsure = JudgedSummary { unsure: true, ..FAULTY };
        let mut once = dialogue();
        assert_eq!(once.judged(unsure, NOTHING), DialogueStep::FeedBack(Purpose::Confirmation));
        assert_eq!(once.judged(unsure, NOTHING), DialogueStep::Answer(TurnEnding::Judged));
        let mut without = Dialogue::new(Limits { static_feedback: 0, ..Limits::default() }, false);
        without.start();
        assert_eq!(without.judged(unsure, NOTHING), DialogueStep::Answer(TurnEnding::Judged));
    }

    #[test]
    fn an_unjudged_answer_ends_the_turn_and_runs_nothing() {
        let of_client = JudgedSummary { faulty: true, unjudged: true, faults_are_the_clients: true, ..TEXT };
        assert_eq!(
            dialogue().judged(of_client, NOTHING),
            DialogueStep::Answer(TurnEnding::Exhausted(TurnLimit::Judgement))
        );
        let mixed = JudgedSummary { proxy_calls: 2, client_calls: 1, ..of_client };
        assert_eq!(
            dialogue().judged(mixed, NOTHING),
            DialogueStep::Answer(TurnEnding::Exhausted(TurnLimit::Judgement))
        );
        let of_proxy = JudgedSummary { faults_are_the_clients: false, ..of_client };
        assert_eq!(
            dialogue().judged(of_proxy, NOTHING),
            DialogueStep::Answer(TurnEnding::Handover(TurnLimit::Judgement))
        );
    }

    #[test]
    fn tokens_and_time_end_a_turn() {
        let mut limited = Dialogue::new(Limits { tokens: 100, ..Limits::default() }, false);
        limited.start();
        let spent = TurnSpending { tokens: 100, seconds: 0 };
        assert_eq!(limited.judged(FAULTY, spent), DialogueStep::Answer(TurnEnding::Exhausted(TurnLimit::Tokens)));
        let late = TurnSpending { tokens: 0, seconds: 300 };
        assert_eq!(dialogue().judged(FAULTY, late), DialogueStep::Answer(TurnEnding::Exhausted(TurnLimit::Seconds)));
    }

    #[test]
    fn a_single_round_never_asks_twice() {
        let mut dialogue = Dialogue::new(Limits::default(), true);
        dialogue.start();
        assert_eq!(dialogue.judged(FAULTY, NOTHING), DialogueStep::Answer(TurnEnding::Judged));
        let mut dialogue = Dialogue::new(Limits::default(), true);
        dialogue.start();
        assert_eq!(dialogue.judged(OWN, NOTHING), DialogueStep::Answer(TurnEnding::Judged));
    }

    fn any_limits() -> impl Strategy<Value = Limits> {
        (0..6_u32, 0..6_u32, 0..20_u32, 0..500_u64, 0..50_u64, 0..6_u32).prop_map(
            |(static_feedback, dynamic_feedback, upstream_requests, tokens, seconds, plan_calls)| Limits {
                static_feedback,
                dynamic_feedback,
                upstream_requests,
                tokens,
                seconds,
                plan_calls,
                ..Limits::default()
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: proptest::test_runner::RngSeed::Fixed(1), cases: 2_000, ..ProptestConfig::default() })]

        /// The dialogue ends within its limits for any model answers and API results.
        #[test]
        fn every_dialogue_ends_within_its_limits(
            limits in any_limits(),
            single in any::<bool>(),
            events in prop::collection::vec((any::<[bool; 4]>(), 0..3_usize, 0..3_usize, 0..60_u64, 0..5_u64), 64),
        ) {
            let mut dialogue = Dialogue::new(limits.clone(), single);
            let mut spent = TurnSpending::default();
            let mut events = events.into_iter().cycle();
            let (mut asks, mut planned, mut runs, mut steps) = (0_u32, 0_u32, 0_u32, 0_u32);
            let (mut static_rounds, mut dynamic_rounds) = (0, 0);
            let mut step = DialogueStep::Ask(dialogue.start());
            loop {
                steps += 1;
                prop_assert!(steps <= 3 * (limits.upstream_requests.max(1) + limits.plan_calls) + 3, "no end in sight");
                let (flags, client_calls, proxy_calls, tokens, seconds) = events.next().unwrap();
                spent.tokens += tokens;
                spent.seconds += seconds;
                step = match step {
                    DialogueStep::FeedBack(purpose) | DialogueStep::Ask(purpose) => {
                        let is_plans =
                            flags[3] && dialogue.may_follow_plan() && purpose != Purpose::StaticFeedback;
                        if is_plans && purpose != Purpose::Closing {
                            dialogue.planned();
                            planned += 1;
                        } else {
                            asks += 1;
                        }
                        static_rounds +=
                            u32::from(matches!(purpose, Purpose::StaticFeedback | Purpose::Confirmation));
                        dynamic_rounds += u32::from(purpose == Purpose::DynamicFeedback);
                        let [faulty, faults_are_the_clients, unsure, no_answer] = flags;
                        let no_answer = no_answer && faulty;
                        let unsure = unsure && faulty && !no_answer;
                        let judged = JudgedSummary {
                            faulty,
                            unsure,
                            no_answer,
                            faults_are_the_clients,
                            client_calls,
                            proxy_calls,
                            ..TEXT
                        };
                        dialogue.judged(judged, spent)
                    }
                    DialogueStep::Run => {
                        runs += 1;
                        dialogue.ran(flags[2], spent)
                    }
                    DialogueStep::RunAndAnswer => {
                        runs += 1;
                        break;
                    }
                    DialogueStep::Answer(_) => break,
                };
            }
            prop_assert!(asks <= limits.upstream_requests.max(1), "{asks} requests");
            prop_assert!(planned <= limits.plan_calls, "{planned} answers of plans");
            prop_assert!(runs <= asks + planned);
            prop_assert!(static_rounds <= limits.static_feedback && dynamic_rounds <= limits.dynamic_feedback);
            prop_assert!(!single || asks + planned == 1);
        }
    }
}
