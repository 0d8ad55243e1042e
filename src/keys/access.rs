//! Who comes in, and what each is allowed: what the listeners and turns ask.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use jiff::Timestamp;
use tokio::sync::Mutex;

use super::admission::Admission;
use super::known::{KeyState, KnownKey, KnownKeys, covers};
use super::ledger::{Ledger, Subject};
use super::moment::Moment;
use super::prices::{PriceSettings, Prices};
use super::refusal::{Denied, Limit, Refused};
use super::report::{KeyReport, UsageSummary};
use super::settings::{Settings, Unmetered};
use super::standing::Standing;
use super::tally::Amount;
use callwright_store::{KeyUsage, Keys, Revision, Store, StoreError, UsageReport, UsageRow};
use callwright_types::{KeyLimits, Usage, VirtualKey};

/// Keys that are read from the store at a time.
const PAGE: u32 = 500;

/// Before every revision, that of imported rows too.
const NOTHING_SEEN: Revision = -1;

/// Whose request it is; `None` where keys are not the proxy's own.
pub type Caller = Option<Arc<KnownKey>>;

/// What a request asks for.
#[derive(Debug, Clone, Copy)]
pub enum Asked<'a> {
    /// An answer of a model.
    Turn {
        /// The name that the client gave.
        model: &'a str,
        /// The names of the models that may be asked for it, at their upstreams.
        targets: &'a [&'a str],
        /// The tokens of the request, about, and those that its answer may have, where the request says.
        tokens: (u64, Option<u64>),
    },
    /// Something that is passed through.
    PassedThrough {
        /// Its path below `/v1`.
        path: &'a str,
        /// Whether a model may be used for it, which is not counted.
        may_use_model: bool,
    },
}

/// Virtual keys, and what they use.
#[derive(Debug)]
pub struct Access {
    settings: Settings,
    prices: Arc<Prices>,
    known: ArcSwap<KnownKeys>,
    is_loaded: AtomicBool,
    ledger: Arc<Ledger>,
    store: Arc<Store>,
    /// The revision up to which keys are known.
    upto: Mutex<Revision>,
    exchange: Mutex<Exchange>,
}

/// How far this process is with telling what was used, and being told.
#[derive(Debug)]
struct Exchange {
    /// The revision up to which it is known what was used.
    seen: Revision,
    /// The number of the next telling.
    number: u64,
    /// What was told and not confirmed: it may have been heard, so it is told again as it was, under the same number.
    told: Vec<UsageRow>,
}

impl Access {
    /// No key is known yet.
    pub fn new(settings: &Settings, prices: &BTreeMap<String, PriceSettings>, store: Arc<Store>) -> Self {
        Self {
            settings: settings.clone(),
            prices: Arc::new(Prices::of(prices)),
            known: ArcSwap::default(),
            is_loaded: AtomicBool::new(false),
            ledger: Arc::default(),
            store,
            upto: Mutex::new(0),
            exchange: Mutex::new(Exchange { seen: NOTHING_SEEN, number: 1, told: Vec::new() }),
        }
    }

    /// Does nobody come in without a key of the proxy's own?
    pub fn is_required(&self) -> bool {
        self.settings.is_required()
    }

    /// Is it known which keys there are, if anybody wants to know?
    pub fn is_ready(&self) -> bool {
        !self.is_required() || self.is_loaded()
    }

    /// Have the keys of the store been read since the process began?
    pub fn is_loaded(&self) -> bool {
        self.is_loaded.load(Ordering::Relaxed)
    }

    /// Whose request it is, by the key that was sent.
    ///
    /// # Errors
    /// [`Denied`], where keys are required and this is none.
    pub fn identify(&self, sent: Option<&str>) -> Result<Caller, Denied> {
        if !self.is_required() {
            return Ok(None);
        }
        if !self.is_ready() {
            return Err(Denied::NotLoaded);
        }
        let sent = sent.ok_or(Denied::Missing)?;
        self.known.load().find(sent, Timestamp::now()).map(Some)
    }

    /// Takes a request in, and counts it; `None` where there is nothing to be counted.
    ///
    /// # Errors
    /// [`Refused`], where the key may not ask for that, or not now.
    pub fn admit(&self, caller: &Caller, asked: Asked<'_>) -> Result<Option<Admission>, Box<Refused>> {
        let Some(known) = caller else { return Ok(None) };
        let subjects = self.subjects(known);
        self.is_allowed(known, &subjects, asked)?;
        let reserved = self.reserved(&subjects, asked);
        self.ledger.admit(&Moment::now(), &subjects, reserved)?;
        Ok(Some(Admission::new(Arc::clone(&self.ledger), Arc::clone(&self.prices), subjects, reserved)))
    }

    /// What is left of a caller's limits.
    pub fn standing(&self, caller: &Caller) -> Standing {
        caller
            .as_ref()
            .map_or_else(Standing::default, |known| self.ledger.standing(&Moment::now(), &self.subjects(known)))
    }

    /// The keys that are known.
    pub fn keys(&self) -> Arc<KnownKeys> {
        self.known.load_full()
    }

    /// Keys that are of use now.
    pub fn active(&self) -> usize {
        let now = Timestamp::now();
        self.known.load().iter().filter(|known| KeyState::of(known.key(), now) == KeyState::Active).count()
    }

    /// A key as operators see it, with what it used.
    pub fn report(&self, key: &VirtualKey) -> KeyReport {
        let now = Moment::now();
        let (day, month, under_way) = self.ledger.used(&now, &subject_of_key(&key.id));
        let usage = UsageSummary::of(day, month, Some(under_way));
        KeyReport::of(key, now.at, Some(usage))
    }

    /// Takes over which keys changed in the store; says whether any did.
    ///
    /// # Errors
    /// [`StoreError`]; the keys that are known stay so.
    pub async fn refresh(&self) -> Result<bool, StoreError> {
        let mut upto = self.upto.lock().await;
        let mut is_other = false;
        loop {
            let changes = self.store.keys_changed(*upto, PAGE).await?;
            if !changes.keys.is_empty() {
                is_other = true;
                self.known.store(Arc::new(self.known.load().with(changes.keys)));
            }
            *upto = changes.upto;
            if !changes.more {
                self.is_loaded.store(true, Ordering::Relaxed);
                return Ok(is_other);
            }
        }
    }

    /// Tells the store what keys used here, and takes over what they used elsewhere.
    ///
    /// # Errors
    /// [`StoreError`]; what was not told is told the next time.
    pub async fn exchange(&self) -> Result<(), StoreError> {
        let mut exchange = self.exchange.lock().await;
        let Exchange { seen, number, told } = &mut *exchange;
        if told.is_empty() {
            *told = self.ledger.untold();
        }
        let (under_way, now) = (self.ledger.under_way(), Moment::now());
        let report =
            UsageReport { number: *number, used: told, under_way: &under_way, after: *seen, since: now.month() };
        match self.store.exchange_usage(report).await {
            Ok(news) => {
                self.ledger.exchanged(&now, told, &news, *seen == NOTHING_SEEN);
                *seen = news.upto.max(0);
                *number += 1;
                told.clear();
                Ok(())
            }
            Err(error) => {
                self.ledger.alone();
                Err(error)
            }
        }
    }

    /// Tells the store everything, before the process ends; what it does not take then is lost.
    pub async fn finish(&self) {
        // What could not be told before goes first, by itself.
        let was_interrupted = !self.exchange.lock().await.told.is_empty();
        if self.exchange().await.is_ok() && was_interrupted {
            let _ = self.exchange().await;
        }
    }

    /// Time between two exchanges.
    pub fn sync_pause(&self) -> Duration {
        Duration::from_millis(self.settings.sync_milliseconds.max(1))
    }

    /// What a request may use; nothing where no limit counts that.
    fn reserved(&self, subjects: &[Subject], asked: Asked<'_>) -> Amount {
        let Asked::Turn { targets, tokens: (prompt_tokens, answer), .. } = asked else { return Amount::default() };
        if !subjects.iter().any(|subject| subject.limits.is_metered()) {
            return Amount::default();
        }
        let completion_tokens = answer.unwrap_or(self.settings.reserved_answer_tokens);
        let total_tokens = prompt_tokens.saturating_add(completion_tokens);
        let usage = Usage { prompt_tokens, completion_tokens, total_tokens, cached_tokens: 0 };
        // Whichever of the models answers.
        let nanos = targets.iter().map(|target| self.prices.nanos(target, &usage)).max().unwrap_or(0);
        Amount { requests: 0, tokens: total_tokens, nanos }
    }

    fn is_allowed(&self, known: &KnownKey, subjects: &[Subject], asked: Asked<'_>) -> Result<(), Box<Refused>> {
        let name = &known.key().name;
        let refused = |limit, message| Err(Box::new(Refused { limit, message, retry_after: None }));
        match asked {
            Asked::PassedThrough { path, may_use_model } => {
                let allowed = known.key().pass_through.as_ref().unwrap_or(&self.settings.pass_through);
                if !covers(allowed, path) {
                    let message = format!(
                        "the key `{name}` may not use `/v1{path}`: have the proxy's operator add it to the key's `pass_through` (`callwright keys \
                         update {name} --pass-through PATH`) or to `keys.pass_through`"
                    );
                    return refused(Limit::Path, message);
                }
                if !may_use_model {
                    return Ok(());
                }
                let is_limited =
                    !known.key().models.is_empty() || subjects.iter().any(|subject| subject.limits.is_metered());
                if is_limited && self.settings.unmetered == Unmetered::Refuse {
                    let message = format!(
                        "the models, tokens or money of the key `{name}` are limited, and what is passed through is not counted: use chat \
                         completions, or have the proxy's operator set `keys.unmetered = \"allow\"`"
                    );
                    return refused(Limit::Unmetered, message);
                }
                Ok(())
            }
            Asked::Turn { model, targets, .. } => {
                if !known.allows(model) {
                    return refused(Limit::Model, format!("the key `{name}` may not use the model `{model}`"));
                }
                let has_budget = subjects.iter().any(|subject| subject.limits.budget.amount > 0.0);
                if let Some(target) = targets.iter().find(|target| has_budget && !self.prices.has(target)) {
                    let message = format!(
                        "the key `{name}` has a budget, and the model `{target}` no price: have the proxy's operator add [prices.\"{target}\"]"
                    );
                    return refused(Limit::Price, message);
                }
                Ok(())
            }
        }
    }

    /// The key and its group, each with its limits.
    fn subjects(&self, known: &KnownKey) -> Vec<Subject> {
        let VirtualKey { id, name, group, limits, .. } = known.key();
        let mut subjects =
            vec![Subject { name: subject_of_key(id), shown: format!("the key `{name}`"), limits: *limits }];
        if !group.is_empty() {
            let limits = self.settings.groups.get(group).copied().unwrap_or_else(KeyLimits::default);
            subjects.push(Subject { name: format!("group:{group}"), shown: format!("the group `{group}`"), limits });
        }
        subjects
    }
}

/// What a key's use is stored under.
pub(super) fn subject_of_key(id: &str) -> String {
    format!("key:{id}")
}
