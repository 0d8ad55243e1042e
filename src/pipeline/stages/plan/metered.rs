//! The model for plans and outlines, with the cost of its requests.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::pipeline::services::Pipeline;
use crate::pipeline::state::{ChatDraft, Turn, milliseconds};
use crate::pipeline::tools::Offering;
use callwright_types::trace::Attempt;
use callwright_types::{Cost, Message, Purpose, Usage};
use callwright_upstream::{Exchange, Manner, TextModel, TextSource, Upstream};
use callwright_wire::Role;

/// A model for requests of a turn, limited by the turn's time and cancelled when the client disconnects.
#[derive(Debug)]
pub(in crate::pipeline::stages) struct MeteredModel {
    model: TextModel,
    upstream: String,
    /// The model's name there.
    pub(super) name: String,
    purpose: Purpose,
    attempts: Mutex<Vec<(Attempt, Duration, Cost)>>,
    cancelled: CancellationToken,
    /// Remaining time of the turn.
    deadline: Duration,
    started: Instant,
    /// Time from the request's arrival to `started`.
    started_after: Duration,
}

impl MeteredModel {
    /// Creates the planning model of a turn for this purpose.
    pub(in crate::pipeline::stages) fn new(context: &StageContext<'_>, purpose: Purpose) -> Self {
        let turn = &*context.turn;
        let (upstream, name) = planning_model(context.pipeline, turn);
        let model = context.pipeline.caches.planning_model(&upstream, &name, &context.pipeline.own_requests);
        Self {
            // The upstream selects which of the client's header fields it forwards.
            model: model.for_client(turn.headers.clone()),
            upstream: upstream.name().to_owned(),
            name,
            purpose,
            attempts: Mutex::default(),
            cancelled: turn.cancelled.clone(),
            deadline: turn.time_left(),
            started: Instant::now(),
            started_after: turn.record.elapsed(),
        }
    }

    /// Records the requests in the trace, and returns their cost.
    pub(in crate::pipeline::stages) fn charge(self, context: &mut StageContext<'_>) -> Cost {
        let mut cost = Cost::default();
        for (attempt, took, spent) in self.attempts.into_inner().unwrap_or_else(PoisonError::into_inner) {
            cost.add(spent);
            context.turn.record.attempt(attempt, took);
        }
        cost
    }

    /// Awaits a request within the time limit.
    ///
    /// # Errors
    /// The reason if the client disconnected or the time is over.
    async fn in_time<T>(&self, asked: impl Future<Output = T>) -> Result<T, String> {
        let left = self.deadline.saturating_sub(self.started.elapsed());
        tokio::select! {
            biased;
            () = self.cancelled.cancelled() => Err("the client went away".to_owned()),
            asked = tokio::time::timeout(left, asked) => asked.map_err(|_| "the turn's time is up".to_owned()),
        }
    }

    fn note(&self, outcome: &str, requests: u64, usage: Usage, took: Duration) {
        let ended_after = self.started_after + self.started.elapsed();
        let attempt = Attempt {
            model: self.name.clone(),
            started_ms: milliseconds(ended_after.saturating_sub(took)),
            ..Attempt::unjudged(self.purpose, &self.upstream, outcome, usage, milliseconds(took))
        };
        let cost = Cost { requests, prompt_tokens: usage.prompt_tokens, completion_tokens: usage.completion_tokens };
        self.attempts.lock().unwrap_or_else(PoisonError::into_inner).push((attempt, took, cost));
    }
}

/// Returns the upstream and the name of the model that generates the plans of a turn. The alias in the configuration
/// takes precedence over the model of the turn.
fn planning_model(pipeline: &Pipeline, turn: &Turn) -> (Arc<Upstream>, String) {
    let configured = &pipeline.planner.alias;
    match pipeline.aliases.get(configured) {
        Some(alias) => {
            let (upstream, model) = alias.main_target(configured);
            (pipeline.upstream(upstream), model.to_owned())
        }
        None => (turn.upstream.clone(), turn.model.clone()),
    }
}

impl TextSource for MeteredModel {
    fn ask<'a>(&'a self, messages: &'a [(Role, String)], manner: Manner<'a>) -> BoxFuture<'a, Exchange> {
        Box::pin(async move {
            let started = Instant::now();
            let asked = self.in_time(TextModel::ask(&self.model, messages, manner)).await;
            let exchange = asked.unwrap_or_else(|reason| Exchange { answered: Err(reason), requests: 1, usage: None });
            let outcome = if exchange.answered.is_ok() { "success" } else { "other" };
            self.note(outcome, exchange.requests, exchange.usage.unwrap_or_default(), started.elapsed());
            exchange
        })
    }
}

/// The turn, its offering and its growing request: the data that a plan reads and may change.
pub(in crate::pipeline::stages) struct StageContext<'a> {
    pub(in crate::pipeline::stages) pipeline: &'a Pipeline,
    pub(in crate::pipeline::stages) turn: &'a mut Turn,
    pub(in crate::pipeline::stages) offering: &'a mut Offering,
    pub(in crate::pipeline::stages) draft: &'a mut ChatDraft,
}

impl StageContext<'_> {
    /// Offers the tools that the plan calls, as far as the turn may use them: only calls of offered tools are
    /// validated.
    pub(in crate::pipeline::stages) fn offer<'t>(&mut self, tools: impl Iterator<Item = &'t str>) {
        if self.offering.take_in(self.pipeline, self.turn, tools) {
            self.draft.offer(&self.offering.offer);
        }
    }

    /// Returns the conversation for the model, including the proxy's calls and failures.
    pub(in crate::pipeline::stages) fn conversation(&self) -> Vec<Message> {
        self.draft.committed.messages().into_iter().map(Message::from).collect()
    }
}
