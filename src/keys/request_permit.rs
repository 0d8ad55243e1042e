//! Permit of an admitted request; it counts as in progress until the permit is dropped.

use std::sync::Arc;

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use super::ledger::{Ledger, MeteredSubject};
use super::moment::Moment;
use super::prices::ModelPrices;
use super::usage_counter::Amount;
use callwright_types::Usage;

/// An admitted request.
#[derive(Debug)]
pub struct RequestPermit {
    ledger: Arc<Ledger>,
    prices: Arc<ModelPrices>,
    subjects: Vec<MeteredSubject>,
    reserved: Amount,
}

/// Usage of one model request.
#[derive(Debug, Clone, Copy)]
pub struct Charge<'a> {
    /// Name of the model at its upstream.
    pub model: &'a str,
    /// Tokens used.
    pub usage: Usage,
}

/// Charge of a response in the background, which is replaced by the usage that the provider reports later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReservedCharge {
    /// Key and group.
    pub(super) subjects: Vec<String>,
    pub(super) day: Date,
    /// Name of the model at its upstream.
    pub(super) model: String,
    pub(super) tokens: u64,
    pub(super) nanos: u64,
}

impl RequestPermit {
    pub(super) fn new(
        ledger: Arc<Ledger>,
        prices: Arc<ModelPrices>,
        subjects: Vec<MeteredSubject>,
        reserved: Amount,
    ) -> Self {
        Self { ledger, prices, subjects, reserved }
    }

    /// Counts usage, and returns its cost in the currency of the price table.
    pub fn charge<'a>(&self, charges: impl IntoIterator<Item = Charge<'a>>) -> f64 {
        let mut amount = Amount::default();
        for Charge { model, usage } in charges {
            let (tokens, nanos) = (usage.total_tokens, self.prices.nanos(model, &usage));
            amount = amount.plus(Amount { requests: 0, tokens, nanos });
        }
        if !amount.is_none() {
            self.ledger.charge(&Moment::now(), self.names(), amount);
        }
        amount.nanos as f64 / 1e9
    }

    /// Returns a charge as it is stored until the response's usage is known.
    pub fn reserved_charge(&self, charge: Charge<'_>) -> ReservedCharge {
        ReservedCharge {
            subjects: self.names().map(str::to_owned).collect(),
            day: Moment::now().day(),
            model: charge.model.to_owned(),
            tokens: charge.usage.total_tokens,
            nanos: self.prices.nanos(charge.model, &charge.usage),
        }
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.subjects.iter().map(|subject| subject.name.as_str())
    }
}

impl Drop for RequestPermit {
    fn drop(&mut self) {
        self.ledger.ended(self.names(), self.reserved);
    }
}
