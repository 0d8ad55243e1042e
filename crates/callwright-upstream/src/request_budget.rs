//! Hard limits of the proxy's own requests to models. A request that could exceed one is not sent.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::text_model::Answered;
use callwright_common::json::raw;
use callwright_common::tokens::estimated;
use callwright_types::Usage;
use callwright_wire::Role;

/// Limits of the proxy's own requests to models: plans, outlines, checks of answers, rewording of lessons
/// (`[own_requests]`). The limits of one turn are part of the policy (`limits.plan_*`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OwnRequestSettings {
    /// Maximum number of tokens of an answer, reasoning included. Each request has this limit.
    pub answer_tokens: u64,
    /// Maximum number of tokens of all requests of this process per day (UTC), prompts and answers; 0: no limit. Beyond
    /// it, turns run without plans and outlines, and lessons keep their text, until midnight.
    pub tokens_per_day: u64,
}

/// Least number of tokens with which a model can answer any question of the proxy.
pub(crate) const LEAST_ANSWER_TOKENS: u64 = 256;

impl Default for OwnRequestSettings {
    fn default() -> Self {
        // Several times the longest answer that a question permits, so that reasoning fits too. A small model that
        // repeats itself ends here, and not at the end of its context.
        Self { answer_tokens: 4096, tokens_per_day: 0 }
    }
}

impl OwnRequestSettings {
    /// Returns why `answer_tokens` is too low, if it is.
    pub fn fault(&self) -> Option<String> {
        let most = self.answer_tokens;
        (most < LEAST_ANSWER_TOKENS)
            .then(|| format!("`own_requests.answer_tokens` is {most}; it must be {LEAST_ANSWER_TOKENS} or more"))
    }
}

/// Prices of a model's tokens, and the amount that may be spent, in the same currency.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MoneyLimit {
    /// Maximum cost of all requests.
    pub amount: f64,
    /// Price of a million prompt tokens.
    pub prompt: f64,
    /// Price of a million completion tokens.
    pub completion: f64,
}

impl MoneyLimit {
    fn cost(&self, prompt: f64, completion: f64) -> f64 {
        (prompt * self.prompt + completion * self.completion) / 1e6
    }
}

/// Limits of all requests together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RequestLimits {
    /// Maximum number of tokens of an answer.
    pub answer_tokens: u64,
    /// Maximum number of requests.
    pub requests: u64,
    /// Maximum number of tokens, prompts and answers.
    pub tokens: u64,
    /// Maximum cost, if the model has prices.
    pub money: Option<MoneyLimit>,
    /// Whether `requests` and `tokens` are those of a day (UTC).
    pub is_daily: bool,
}

impl Default for RequestLimits {
    fn default() -> Self {
        Self { answer_tokens: u64::MAX, requests: u64::MAX, tokens: u64::MAX, money: None, is_daily: false }
    }
}

impl From<OwnRequestSettings> for RequestLimits {
    fn from(settings: OwnRequestSettings) -> Self {
        let OwnRequestSettings { answer_tokens, tokens_per_day } = settings;
        let tokens = if tokens_per_day == 0 { u64::MAX } else { tokens_per_day };
        Self { answer_tokens, tokens, is_daily: true, ..Self::default() }
    }
}

/// Reason why a request is not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BudgetSpent {
    /// Number of requests.
    #[error("the budget of {0} requests is spent")]
    Requests(u64),
    /// Number of tokens.
    #[error("the next request could exceed the budget of {0} tokens")]
    Tokens(u64),
    /// Money.
    #[error("the next request could exceed the budget of money")]
    Money,
}

/// Limits that several models share, and what they used. Requests in progress count with the most that they may use.
#[derive(Debug)]
pub struct RequestBudget {
    limits: RequestLimits,
    used: Mutex<UsedBudget>,
}

#[derive(Debug, Clone, Copy)]
struct UsedBudget {
    requests: u64,
    prompt_tokens: u64,
    completion_tokens: u64,
    day: u64,
    /// Highest ratio so far of the tokens that a provider counted in a prompt to their estimate.
    ratio: f64,
}

/// Share of a budget that a request in progress may use.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RequestGrant {
    estimate: u64,
    prompt_tokens: u64,
    /// Maximum number of tokens of the answer.
    pub answer_tokens: u64,
    /// Number of requests that are left, this one included.
    pub requests: u64,
}

impl RequestGrant {
    /// Returns the estimated usage of a request of which the provider reports none.
    pub fn estimated_usage(&self, answered: Option<&Answered>) -> Usage {
        let completion_tokens = match answered {
            Some(Answered::Text(text)) => estimated(text) as u64,
            Some(Answered::CutOff) => self.answer_tokens,
            Some(Answered::Refused(_)) | None => 0,
        };
        Usage { prompt_tokens: self.estimate, completion_tokens, ..Usage::default() }
    }
}

impl Default for RequestBudget {
    fn default() -> Self {
        Self::new(OwnRequestSettings::default().into())
    }
}

impl RequestBudget {
    /// Creates a budget of which nothing is used.
    pub fn new(limits: RequestLimits) -> Self {
        let used = UsedBudget { requests: 0, prompt_tokens: 0, completion_tokens: 0, day: today(), ratio: 1.0 };
        Self { limits, used: Mutex::new(used) }
    }

    fn used(&self) -> MutexGuard<'_, UsedBudget> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserves a request with this prompt and an answer of at most `longest` tokens.
    ///
    /// # Errors
    /// The limit that the request could exceed.
    pub fn reserve_text(
        &self,
        messages: &[(Role, String)],
        form: Option<&Value>,
        longest: u64,
    ) -> Result<RequestGrant, BudgetSpent> {
        let texts: usize = messages.iter().map(|(_, text)| estimated(text)).sum();
        self.reserve((texts + form.map_or(0, |form| estimated(raw(form).get()))) as u64, longest)
    }

    fn reserve(&self, estimate: u64, longest: u64) -> Result<RequestGrant, BudgetSpent> {
        let RequestLimits { answer_tokens, requests, tokens, money, is_daily } = self.limits;
        let mut used = self.used();
        if is_daily && used.day != today() {
            let ratio = used.ratio;
            *used = UsedBudget { requests: 0, prompt_tokens: 0, completion_tokens: 0, day: today(), ratio };
        }
        if used.requests >= requests {
            return Err(BudgetSpent::Requests(requests));
        }
        let prompt_tokens = (estimate as f64 * used.ratio).ceil() as u64;
        let sum = used.prompt_tokens.saturating_add(used.completion_tokens).saturating_add(prompt_tokens);
        let mut answer = answer_tokens.min(longest).min(tokens.saturating_sub(sum));
        let least = LEAST_ANSWER_TOKENS.min(longest);
        if answer < least {
            return Err(BudgetSpent::Tokens(tokens));
        }
        if let Some(money) = money {
            let prompts = used.prompt_tokens.saturating_add(prompt_tokens) as f64;
            let left = money.amount - money.cost(prompts, used.completion_tokens as f64);
            // An answer without a price is not limited by money. The cast saturates.
            let affordable = if money.completion > 0.0 { left * 1e6 / money.completion } else { f64::MAX };
            answer = answer.min(affordable.max(0.0) as u64);
            if left < 0.0 || answer < least {
                return Err(BudgetSpent::Money);
            }
        }
        let left = requests - used.requests;
        used.requests += 1;
        used.prompt_tokens += prompt_tokens;
        used.completion_tokens += answer;
        Ok(RequestGrant { estimate, prompt_tokens, answer_tokens: answer, requests: left })
    }

    /// Replaces a reservation by what `requests` used for one answer.
    pub fn settle(&self, grant: RequestGrant, requests: u64, usage: Usage) {
        let mut used = self.used();
        used.requests += requests.saturating_sub(1);
        used.prompt_tokens = used.prompt_tokens.saturating_sub(grant.prompt_tokens).saturating_add(usage.prompt_tokens);
        used.completion_tokens =
            used.completion_tokens.saturating_sub(grant.answer_tokens).saturating_add(usage.completion_tokens);
        used.ratio = used.ratio.max(usage.prompt_tokens as f64 / grant.estimate.max(1) as f64);
    }
}

/// Returns the number of the day (UTC).
fn today() -> u64 {
    const SECONDS_PER_DAY: u64 = 24 * 60 * 60;
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() / SECONDS_PER_DAY
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(requests: u64, tokens: u64, money: Option<MoneyLimit>) -> RequestBudget {
        RequestBudget::new(RequestLimits { answer_tokens: 4096, requests, tokens, money, is_daily: false })
    }

    fn usage(prompt_tokens: u64, completion_tokens: u64) -> Usage {
        Usage { prompt_tokens, completion_tokens, ..Usage::default() }
    }

    #[test]
    fn a_request_that_could_exceed_the_budget_is_refused() {
        let budget = budget(3, 6000, None);
        let first = budget.reserve(1000, u64::MAX).unwrap();
        assert_eq!(first.answer_tokens, 4096);
        assert_eq!(budget.reserve(1000, u64::MAX), Err(BudgetSpent::Tokens(6000)), "the first is in progress");
        budget.settle(first, 1, usage(1000, 100));
        let second = budget.reserve(1000, u64::MAX).unwrap();
        assert_eq!(second.answer_tokens, 3900, "the rest");
        budget.settle(second, 1, usage(1000, 10));
        let third = budget.reserve(10, u64::MAX).unwrap();
        budget.settle(third, 1, usage(10, 1));
        assert_eq!(budget.reserve(10, u64::MAX), Err(BudgetSpent::Requests(3)));
    }

    #[test]
    fn estimates_follow_what_the_provider_counts() {
        let budget = budget(9, 4000, None);
        let first = budget.reserve(100, 300).unwrap();
        budget.settle(first, 1, usage(400, 300));
        assert_eq!(budget.reserve(800, 300), Err(BudgetSpent::Tokens(4000)), "800 are about 3200");
        assert_eq!(budget.reserve(700, 300).unwrap().prompt_tokens, 2800);
    }

    #[test]
    fn money_limits_the_answer_and_ends_the_requests() {
        let price = |amount| MoneyLimit { amount, prompt: 1.0, completion: 10.0 };
        let rich = budget(9, u64::MAX, Some(price(0.02)));
        assert_eq!(rich.reserve(10_000, u64::MAX).unwrap().answer_tokens, 1000);
        assert_eq!(rich.reserve(10, u64::MAX), Err(BudgetSpent::Money));
        let free = MoneyLimit { prompt: 0.0, completion: 0.0, ..price(0.0) };
        assert_eq!(budget(9, u64::MAX, Some(free)).reserve(10_000, u64::MAX).unwrap().answer_tokens, 4096);
        assert_eq!(budget(9, u64::MAX, Some(price(0.001))).reserve(10_000, 300), Err(BudgetSpent::Money));
    }

    #[test]
    fn no_order_of_requests_exceeds_the_budget() {
        let mut random = fastrand::Rng::with_seed(43);
        for _ in 0..1000 {
            let tokens = random.u64(500..50_000);
            let budget = budget(random.u64(1..30), tokens, None);
            let (mut spent, mut running) = (0, Vec::new());
            for _ in 0..100 {
                if random.bool() || running.is_empty() {
                    running.extend(budget.reserve(random.u64(1..2000), random.u64(1..5000)));
                } else {
                    let grant: RequestGrant = running.swap_remove(random.usize(..running.len()));
                    let (prompt, answer) = (random.u64(0..=grant.estimate), random.u64(0..=grant.answer_tokens));
                    spent += prompt + answer;
                    budget.settle(grant, 1, usage(prompt, answer));
                }
            }
            let most: u64 = running.iter().map(|grant| grant.prompt_tokens + grant.answer_tokens).sum();
            assert!(spent + most <= tokens, "{spent} + {most} of {tokens}");
        }
    }
}
