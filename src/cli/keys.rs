//! `callwright keys`: manages the virtual keys of the configured store.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use clap::{Args, Subcommand};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::errors::VerbResult;
use super::output::{outln, print_item, print_list};
use super::plain;
use super::setup::{load_config, load_policies, runtime, with_store};
use super::shared_arguments::OutputFormat;
use super::table::{Column, TextTable};
use crate::config::LoadedConfig;
use crate::keys::{IssuedSecret, KeyChange, KeyDraft, KeyReport, KeyState, Registrar, UsageSummary};
use callwright_store::Store;
use callwright_types::{BudgetPeriod, KeyLimits};

/// Arguments of `keys`.
#[derive(Debug, Args)]
pub(super) struct KeysArguments {
    #[command(subcommand)]
    action: KeysAction,
    /// Configuration file with the `[store]`. Default: as for `serve`.
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum KeysAction {
    /// Create a key and print its secret, which cannot be shown again.
    Create {
        /// Name of the key in policies and traces.
        name: String,
        #[command(flatten)]
        change: KeyChangeOptions,
        /// `text` for people, `json` as one object.
        #[arg(long, value_enum, default_value_t)]
        format: OutputFormat,
    },
    /// List the keys, oldest first.
    List {
        /// List only keys of this group.
        #[arg(long, value_name = "NAME")]
        group: Option<String>,
        /// Include revoked and expired keys.
        #[arg(long)]
        all: bool,
        /// `text` as a table for people, `json` as one object per line.
        #[arg(long, value_enum, default_value_t)]
        format: OutputFormat,
    },
    /// Show one key and its usage in the current day and month (UTC).
    Show {
        /// Name or id of the key.
        key: String,
        /// `text` for people, `json` as one object.
        #[arg(long, value_enum, default_value_t)]
        format: OutputFormat,
    },
    /// Change a key. Options that are not given keep their values.
    Update {
        /// Name or id of the key.
        key: String,
        #[command(flatten)]
        change: KeyChangeOptions,
    },
    /// Replace a key's secret and print the new one.
    Rotate {
        /// Name or id of the key.
        key: String,
        /// Seconds for which the previous secret stays valid, so that clients can switch.
        #[arg(long, value_name = "SECONDS", default_value_t = 0)]
        grace: u32,
    },
    /// Revoke a key at once and permanently. Running proxies refuse it within a second.
    Revoke {
        /// Name or id of the key.
        key: String,
    },
}

/// Permissions and limits of a key.
#[derive(Debug, Args)]
struct KeyChangeOptions {
    /// Group of the key, whose limits also apply; "" for none.
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
    /// Policy that applies to the key's turns; "" for none.
    #[arg(long, value_name = "NAME")]
    policy: Option<String>,
    /// Policy that the key's requests may select with `x-callwright-policy`; may be given several times. Default: none.
    /// "" removes the list.
    #[arg(long = "selectable-policy", value_name = "NAME")]
    selectable_policies: Vec<String>,
    /// Model or alias that the key may use, as a glob; may be given several times. Default: all. "*" removes a
    /// restriction.
    #[arg(long = "model", value_name = "GLOB")]
    models: Vec<String>,
    /// Path below /v1 that is passed through for the key, with everything below it, such as `files` or `audio/speech`;
    /// may be given several times. "*": everything; "": nothing; "default" (the default): `keys.pass_through` of the
    /// configuration.
    #[arg(long = "pass-through", value_name = "PATH")]
    pass_through: Vec<String>,
    /// Maximum number of requests per minute; 0: unlimited.
    #[arg(long, value_name = "N")]
    requests_per_minute: Option<u64>,
    /// Maximum number of tokens per minute; 0: unlimited.
    #[arg(long, value_name = "N")]
    tokens_per_minute: Option<u64>,
    /// Maximum number of concurrent requests; 0: unlimited.
    #[arg(long, value_name = "N")]
    concurrent_requests: Option<u64>,
    /// Maximum cost per budget period, by `[prices]`; 0: unlimited.
    #[arg(long, value_name = "AMOUNT")]
    budget: Option<f64>,
    /// Budget period, which begins at midnight UTC.
    #[arg(long, value_parser = PossibleValuesParser::new(["day", "month"]).map(period))]
    budget_period: Option<BudgetPeriod>,
    /// Number of days until the key expires; 0: never.
    #[arg(long, value_name = "DAYS")]
    expires_in_days: Option<u32>,
}

fn period(name: String) -> BudgetPeriod {
    if name == "day" { BudgetPeriod::Day } else { BudgetPeriod::Month }
}

impl KeyChangeOptions {
    fn into_change(self) -> KeyChange {
        let models = if self.models == ["*"] { Some(Vec::new()) } else { some(self.models) };
        let selectable_policies =
            if self.selectable_policies == [""] { Some(Vec::new()) } else { some(self.selectable_policies) };
        let pass_through = match self.pass_through.as_slice() {
            [] => None,
            [path] if path == "default" => Some(None),
            [path] if path.is_empty() => Some(Some(Vec::new())),
            _ => Some(Some(self.pass_through)),
        };
        KeyChange {
            group: self.group,
            policy: self.policy,
            selectable_policies,
            models,
            pass_through,
            requests_per_minute: self.requests_per_minute,
            tokens_per_minute: self.tokens_per_minute,
            concurrent_requests: self.concurrent_requests,
            budget: self.budget,
            budget_period: self.budget_period,
            expires_in_days: self.expires_in_days,
        }
    }
}

fn some(texts: Vec<String>) -> Option<Vec<String>> {
    (!texts.is_empty()).then_some(texts)
}

pub(super) fn run(KeysArguments { action, config: file }: KeysArguments) -> VerbResult {
    let loaded = load_config(file)?;
    let work = async |store: &Store| act(action, &loaded, Registrar::of(store)).await;
    runtime()?.block_on(with_store(&loaded, work))
}

async fn act(action: KeysAction, loaded: &LoadedConfig, registrar: Registrar<'_>) -> VerbResult {
    match action {
        KeysAction::Create { name, change, format } => {
            let draft = KeyDraft { name, change: change.into_change() };
            check_policies(loaded, &draft.change)?;
            let issued = registrar.create(&draft).await?;
            if !loaded.settings.keys.is_required() {
                anstream::eprintln!("note: clients need no key while `keys.mode` is `pass_through`");
            }
            print_issued(&issued, format);
        }
        KeysAction::List { group, all, format } => {
            let mut keys = registrar.list().await?;
            keys.retain(|key| {
                group.as_ref().is_none_or(|group| *group == key.group) && (all || key.state == KeyState::Active)
            });
            print_list(&keys, format, "no keys; create one with `callwright keys create NAME`", table);
        }
        KeysAction::Show { key, format } => print_item(&registrar.show(&key).await?, format, details),
        KeysAction::Update { key, change } => {
            let change = change.into_change();
            check_policies(loaded, &change)?;
            print_item(&registrar.update(&key, &change).await?, OutputFormat::Text, details);
        }
        KeysAction::Rotate { key, grace } => {
            let grace = SignedDuration::from_secs(i64::from(grace));
            print_issued(&registrar.rotate(&key, grace).await?, OutputFormat::Text);
        }
        KeysAction::Revoke { key } => {
            let report = registrar.revoke(&key).await?;
            outln!("{} ({}) is revoked", plain::text(&report.name), report.id);
        }
    }
    Ok(())
}

/// Checks that every named policy exists.
fn check_policies(loaded: &LoadedConfig, change: &KeyChange) -> VerbResult {
    let book = load_policies(loaded)?;
    for name in change.policy.iter().chain(change.selectable_policies.iter().flatten()) {
        if !name.is_empty() && book.get(name).is_none() {
            let known: Vec<&str> = book.policies().map(|policy| policy.name.as_str()).collect();
            return Err(format!("unknown policy `{name}`; known policies: {}", known.join(", ")).into());
        }
    }
    Ok(())
}

/// Prints the secret alone on standard output: a script can read it from there, and it reaches no log.
fn print_issued(issued: &IssuedSecret, format: OutputFormat) {
    let IssuedSecret { key, secret } = issued;
    match format {
        OutputFormat::Json => outln!("{}", json!({"secret": secret.expose(), "key": key})),
        OutputFormat::Text => {
            anstream::eprintln!("secret of {} ({}); it is not stored and cannot be shown again", key.name, key.id);
            outln!("{}", secret.expose());
        }
    }
}

fn table(keys: &[KeyReport]) -> TextTable {
    let [id, name, group, state, prefix] = [0, 24, 16, 7, 6].map(Column::Left);
    let mut table = TextTable::new([id, name, group, state, prefix, Column::Rest]);
    table.header("ID", &["NAME", "GROUP", "STATE", "PREFIX", "LIMITS"]);
    for key in keys {
        let prefix = key.prefixes.last().map_or("", |prefix| prefix.prefix.as_str());
        let group = if key.group.is_empty() { "-" } else { &key.group };
        table.row(&key.id, &[&key.name, group, key.state.label(), prefix, &limits(&key.limits)]);
    }
    table
}

fn details(key: &KeyReport) -> TextTable {
    let mut table = TextTable::new([Column::Left(12), Column::Rest]);
    table.line(&format!("{} ({}): {}", plain::text(&key.name), key.id, key.state.label()));
    let mut row = |name: &str, value: String| table.row(&format!("  {name}"), &[value]);
    row("group", text_or(&key.group, "none"));
    row("policy", text_or(&key.policy, "that of requests without a key"));
    row("selectable", text_or(&key.selectable_policies.join(", "), "no policy"));
    row("models", text_or(&key.models.join(", "), "all"));
    row(
        "paths",
        match &key.pass_through {
            None => "those of `keys.pass_through`".to_owned(),
            Some(paths) => text_or(&paths.join(", "), "nothing"),
        },
    );
    row("limits", limits(&key.limits));
    for prefix in &key.prefixes {
        row("secret", format!("{} until {}", prefix.prefix, time_or(prefix.valid_until, "the key ends")));
    }
    row("created", format!("{:.0}", key.created_at));
    row("expires", time_or(key.expires_at, "never"));
    if let Some(revoked_at) = key.revoked_at {
        row("revoked", format!("{revoked_at:.0}"));
    }
    if let Some(UsageSummary { day, month, .. }) = key.usage {
        for (name, used) in [("this day", day), ("this month", month)] {
            row(name, format!("{} requests, {} tokens, {} spent", used.requests, used.tokens, used.cost));
        }
    }
    table
}

fn text_or(text: &str, none: &str) -> String {
    if text.is_empty() { none.to_owned() } else { text.to_owned() }
}

fn time_or(time: Option<Timestamp>, none: &str) -> String {
    time.map_or_else(|| none.to_owned(), |time| format!("{time:.0}"))
}

fn limits(limits: &KeyLimits) -> String {
    let KeyLimits { requests_per_minute, tokens_per_minute, concurrent_requests, budget } = limits;
    let counts = [
        (requests_per_minute, "requests/min"),
        (tokens_per_minute, "tokens/min"),
        (concurrent_requests, "concurrent requests"),
    ];
    let mut limits: Vec<String> =
        counts.iter().filter(|(count, _)| **count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    if budget.amount > 0.0 {
        limits.push(format!("{} a {}", budget.amount, budget.period.label()));
    }
    if limits.is_empty() { "no limits".to_owned() } else { limits.join(", ") }
}
