//! Authentication and request_permit of requests, for listeners and turns.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use jiff::Timestamp;
use tokio::sync::Mutex;

use super::known::{KeyState, KnownKey, KnownKeys, covers};
use super::ledger::{Ledger, MeteredSubject, QuotaStatus, subject_of_key};
use super::moment::Moment;
use super::objects::ObjectOwners;
use super::prices::{ModelPrices, PriceSettings};
use super::refusal::{KeyDenial, RefusedRequest, ViolatedLimit};
use super::report::{KeyReport, UsageSummary};
use super::request_permit::{Charge, RequestPermit, ReservedCharge};
use super::secret::may_be_ours;
use super::settings::{Settings, Unmetered};
use super::usage_counter::Amount;
use callwright_store::{MAX_PAGE, Revision, Store, StoreError, UsageReport, UsageRow};
use callwright_types::{Usage, VirtualKey};

/// Revision before all others, including that of imported rows.
const NOTHING_SEEN: Revision = -1;

/// Key of a request; `None` if virtual keys are off.
pub type Caller = Option<Arc<KnownKey>>;

/// Minimum time between two searches for unknown keys in the store.
const SEARCH_PAUSE: Duration = Duration::from_millis(100);

/// Resource that a request uses.
#[derive(Debug, Clone, Copy)]
pub enum RequestedAccess<'a> {
    /// A model's answer.
    Turn {
        /// Model name that the client sent.
        model: &'a str,
        /// Names of the models that may serve the request, at their upstreams.
        targets: &'a [&'a str],
        /// Estimated tokens of the request, and the token limit of its answer, if the request sets one.
        tokens: (u64, Option<u64>),
    },
    /// A path that is passed through.
    PassedThrough {
        /// Path below `/v1`.
        path: &'a str,
        /// Whether the path may use a model, whose usage is not metered.
        may_use_model: bool,
    },
}

/// Virtual keys and their usage.
#[derive(Debug)]
pub struct Access {
    settings: Settings,
    prices: Arc<ModelPrices>,
    known: ArcSwap<KnownKeys>,
    is_loaded: AtomicBool,
    ledger: Arc<Ledger>,
    store: Arc<Store>,
    objects: ObjectOwners,
    /// Revision up to which the keys have been read.
    upto: Mutex<Revision>,
    /// Whether a search for an unknown key found changes that no refresh has reported yet.
    has_found: AtomicBool,
    /// Begin of the last search for an unknown key.
    searched: Mutex<Option<Instant>>,
    exchange: Mutex<UsageExchange>,
}

/// State of the usage exchange with the store.
#[derive(Debug)]
struct UsageExchange {
    /// Revision up to which usage has been read.
    seen: Revision,
    /// Number of the next report.
    number: u64,
    /// Report that was sent but not confirmed. The store may have received it, so it is sent again unchanged under the
    /// same number.
    reported: Vec<UsageRow>,
}

impl Access {
    /// Creates an instance without keys.
    pub fn new(settings: &Settings, prices: &BTreeMap<String, PriceSettings>, store: Arc<Store>) -> Self {
        Self {
            settings: settings.clone(),
            prices: Arc::new(ModelPrices::of(prices)),
            known: ArcSwap::default(),
            is_loaded: AtomicBool::new(false),
            ledger: Arc::default(),
            objects: ObjectOwners::new(settings, Arc::clone(&store)),
            store,
            upto: Mutex::new(0),
            has_found: AtomicBool::new(false),
            searched: Mutex::new(None),
            exchange: Mutex::new(UsageExchange { seen: NOTHING_SEEN, number: 1, reported: Vec::new() }),
        }
    }

    /// Whether every client needs a virtual key.
    pub fn is_required(&self) -> bool {
        self.settings.is_required()
    }

    /// Replaces the charge of a response in the background by its usage, once.
    pub async fn settle(&self, id: &str, used: Usage) {
        let Some(charge) = self.objects.take_reserved(id).await else { return };
        let ReservedCharge { subjects, day, model, tokens, nanos } = charge;
        let (used_tokens, used_nanos) = (used.total_tokens, self.prices.nanos(&model, &used));
        let more =
            Amount { requests: 0, tokens: used_tokens.saturating_sub(tokens), nanos: used_nanos.saturating_sub(nanos) };
        if !more.is_none() {
            self.ledger.charge(&Moment::now(), subjects.iter().map(String::as_str), more);
        }
        let (tokens, nanos) = (tokens.saturating_sub(used_tokens), nanos.saturating_sub(used_nanos));
        if tokens == 0 && nanos == 0 {
            return;
        }
        // The charge itself may not have been reported yet.
        let refunded = match self.exchange().await {
            Ok(()) => self.store.refund_usage(&subjects, day, tokens, nanos).await,
            Err(error) => Err(error),
        };
        if let Err(error) = refunded {
            tracing::warn!(%error, "cannot correct the charge of a response in the background; its reservation stays charged");
        }
    }

    /// Returns the number of tokens that are reserved for an answer without a limit of its own.
    pub fn reserved_answer_tokens(&self) -> u64 {
        self.settings.reserved_answer_tokens
    }

    /// Returns the owners of the provider's objects.
    pub fn objects(&self) -> &ObjectOwners {
        &self.objects
    }

    /// Whether the keys are loaded, if they are required.
    pub fn is_ready(&self) -> bool {
        !self.is_required() || self.is_loaded()
    }

    /// Whether the keys of the store have been read since the process started.
    pub fn is_loaded(&self) -> bool {
        self.is_loaded.load(Ordering::Relaxed)
    }

    /// Identifies the caller by the key that was sent. An unknown key is searched in the store, because another process
    /// may just have created it.
    ///
    /// # Errors
    /// [`KeyDenial`], if keys are required and this one is not valid.
    pub async fn identify(&self, sent: Option<&str>) -> Result<Caller, KeyDenial> {
        match self.identify_loaded(sent) {
            Err(KeyDenial::Unknown) if sent.is_some_and(may_be_ours) => {
                self.search().await;
                self.identify_loaded(sent)
            }
            result => result,
        }
    }

    /// Reads changed keys from the store. Concurrent callers share one read, and invalid keys cause at most one read per
    /// [`SEARCH_PAUSE`].
    async fn search(&self) {
        let arrived = Instant::now();
        let mut searched = self.searched.lock().await;
        if let Some(before) = *searched {
            if before >= arrived {
                return;
            }
            tokio::time::sleep(SEARCH_PAUSE.saturating_sub(before.elapsed())).await;
        }
        *searched = Some(Instant::now());
        // If the store cannot be read, the loaded keys stay in use.
        if self.read_changes().await == Ok(true) {
            self.has_found.store(true, Ordering::Relaxed);
        }
    }

    /// Identifies the caller among the loaded keys.
    fn identify_loaded(&self, sent: Option<&str>) -> Result<Caller, KeyDenial> {
        if !self.is_required() {
            return Ok(None);
        }
        if !self.is_ready() {
            return Err(KeyDenial::NotLoaded);
        }
        let sent = sent.ok_or(KeyDenial::Missing)?;
        self.known.load().find(sent, Timestamp::now()).map(Some)
    }

    /// Admits a request and counts it; `None` if virtual keys are off.
    ///
    /// # Errors
    /// [`RefusedRequest`], if the key lacks the permission or a limit is reached.
    pub fn admit(
        &self,
        caller: &Caller,
        requested: RequestedAccess<'_>,
    ) -> Result<Option<RequestPermit>, Box<RefusedRequest>> {
        let Some(known) = caller else { return Ok(None) };
        let mut subjects = self.subjects(known);
        self.is_allowed(known, &subjects, requested)?;
        if let RequestedAccess::PassedThrough { may_use_model: false, .. } = requested {
            // It costs nothing, and may fetch a response whose reservation has used up the limit.
            subjects.iter_mut().for_each(|subject| subject.limits = subject.limits.of_requests());
        }
        let reserved = self.reserved(&subjects, requested);
        self.ledger.admit(&Moment::now(), &subjects, reserved)?;
        Ok(Some(RequestPermit::new(Arc::clone(&self.ledger), Arc::clone(&self.prices), subjects, reserved)))
    }

    /// Returns the cost of requests to models in the currency of the price table; `None` if none of the models has a
    /// price.
    pub fn cost<'a>(&self, charges: impl IntoIterator<Item = Charge<'a>>) -> Option<f64> {
        let priced = charges.into_iter().filter(|charge| self.prices.has(charge.model));
        let nanos = priced.map(|charge| self.prices.nanos(charge.model, &charge.usage));
        nanos.reduce(u64::saturating_add).map(|nanos| nanos as f64 / 1e9)
    }

    /// Returns the remaining limits of a caller.
    pub fn standing(&self, caller: &Caller) -> QuotaStatus {
        let subjects = caller.as_ref().map(|known| self.subjects(known)).unwrap_or_default();
        self.ledger.standing(&Moment::now(), &subjects)
    }

    /// Returns the loaded keys.
    pub fn keys(&self) -> Arc<KnownKeys> {
        self.known.load_full()
    }

    /// Returns the number of active keys.
    pub fn active(&self) -> usize {
        let now = Timestamp::now();
        self.known.load().iter().filter(|known| KeyState::of(known.key(), now) == KeyState::Active).count()
    }

    /// Returns a key with its usage, as operators see it.
    pub fn report(&self, key: &VirtualKey) -> KeyReport {
        let now = Moment::now();
        let (day, month, under_way) = self.ledger.used(&now, &subject_of_key(&key.id));
        let usage = UsageSummary::of(day, month, Some(under_way));
        KeyReport::of(key, now.at, Some(usage))
    }

    /// Reads changed keys from the store; returns whether any changed since the last refresh.
    ///
    /// # Errors
    /// [`StoreError`]; the loaded keys stay in use.
    pub async fn refresh(&self) -> Result<bool, StoreError> {
        let has_changed = self.read_changes().await?;
        Ok(self.has_found.swap(false, Ordering::Relaxed) || has_changed)
    }

    async fn read_changes(&self) -> Result<bool, StoreError> {
        let mut upto = self.upto.lock().await;
        let mut is_other = false;
        loop {
            let changes = self.store.keys_changed(*upto, MAX_PAGE).await?;
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

    /// Reports the usage of this process to the store, and reads that of other processes.
    ///
    /// # Errors
    /// [`StoreError`]; usage that was not reported is part of the next exchange.
    pub async fn exchange(&self) -> Result<(), StoreError> {
        self.objects.flush().await;
        let mut exchange = self.exchange.lock().await;
        let UsageExchange { seen, number, reported } = &mut *exchange;
        if reported.is_empty() {
            *reported = self.ledger.unreported();
        }
        let (under_way, now) = (self.ledger.under_way(), Moment::now());
        let report =
            UsageReport { number: *number, used: reported, under_way: &under_way, after: *seen, since: now.month() };
        match self.store.exchange_usage(report).await {
            Ok(news) => {
                self.ledger.exchanged(&now, reported, &news, *seen == NOTHING_SEEN);
                *seen = news.upto.max(0);
                *number += 1;
                reported.clear();
                Ok(())
            }
            Err(error) => {
                self.ledger.alone();
                Err(error)
            }
        }
    }

    /// Reports all usage before the process ends; usage that the store does not accept then is lost.
    pub async fn finish(&self) {
        // A previously failed report is sent first, separately.
        let was_interrupted = !self.exchange.lock().await.reported.is_empty();
        if self.exchange().await.is_ok() && was_interrupted {
            let _ = self.exchange().await;
        }
    }

    /// Returns the maximum usage of a request, or nothing if no limit meters it.
    fn reserved(&self, subjects: &[MeteredSubject], requested: RequestedAccess<'_>) -> Amount {
        let RequestedAccess::Turn { targets, tokens: (prompt_tokens, answer), .. } = requested else {
            return Amount::default();
        };
        if !subjects.iter().any(|subject| subject.limits.is_metered()) {
            return Amount::default();
        }
        let completion_tokens = answer.unwrap_or(self.settings.reserved_answer_tokens);
        let total_tokens = prompt_tokens.saturating_add(completion_tokens);
        let usage = Usage { prompt_tokens, completion_tokens, total_tokens, cached_tokens: 0 };
        // The most expensive of the models that may answer.
        let nanos = targets.iter().map(|target| self.prices.nanos(target, &usage)).max().unwrap_or(0);
        Amount { requests: 0, tokens: total_tokens, nanos }
    }

    fn is_allowed(
        &self,
        known: &KnownKey,
        subjects: &[MeteredSubject],
        requested: RequestedAccess<'_>,
    ) -> Result<(), Box<RefusedRequest>> {
        let VirtualKey { name, pass_through, models, .. } = known.key();
        match requested {
            RequestedAccess::PassedThrough { path, may_use_model } => {
                if !covers(pass_through.as_ref().unwrap_or(&self.settings.pass_through), path) {
                    let message = format!(
                        "the key `{name}` may not use `/v1{path}`: the proxy's operator must add it to the key's `pass_through` (`callwright keys \
                         update {name} --pass-through PATH`) or to `keys.pass_through`"
                    );
                    return Err(refused(ViolatedLimit::Path, message));
                }
                let is_limited = !models.is_empty() || subjects.iter().any(|subject| subject.limits.is_metered());
                if may_use_model && is_limited && self.settings.unmetered == Unmetered::Refuse {
                    let message = format!(
                        "the models, tokens or money of the key `{name}` are limited, but pass-through requests are not metered: use chat \
                         completions; the proxy's operator can also set `keys.unmetered = \"allow\"`"
                    );
                    return Err(refused(ViolatedLimit::Unmetered, message));
                }
            }
            RequestedAccess::Turn { model, targets, .. } => {
                if !known.allows(model) {
                    let message = format!("the key `{name}` may not use the model `{model}`");
                    return Err(refused(ViolatedLimit::Model, message));
                }
                let has_budget = subjects.iter().any(|subject| subject.limits.budget.amount > 0.0);
                if let Some(target) = targets.iter().find(|target| has_budget && !self.prices.has(target)) {
                    let message = format!(
                        "the key `{name}` has a budget, but the model `{target}` has no price: the proxy's operator must add [prices.\"{target}\"]"
                    );
                    return Err(refused(ViolatedLimit::Price, message));
                }
            }
        }
        Ok(())
    }

    /// Returns the key and its group, each with its limits.
    fn subjects(&self, known: &KnownKey) -> Vec<MeteredSubject> {
        let VirtualKey { id, name, group, limits, .. } = known.key();
        let mut subjects =
            vec![MeteredSubject { name: subject_of_key(id), shown: format!("the key `{name}`"), limits: *limits }];
        if !group.is_empty() {
            let limits = self.settings.groups.get(group).copied().unwrap_or_default();
            subjects.push(MeteredSubject {
                name: format!("group:{group}"),
                shown: format!("the group `{group}`"),
                limits,
            });
        }
        subjects
    }
}

fn refused(limit: ViolatedLimit, message: String) -> Box<RefusedRequest> {
    Box::new(RefusedRequest { limit, message, retry_after: None })
}
