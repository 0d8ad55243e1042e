//! Toolsets whose calls would be refused, found before any call, with the configuration that lets them through.

use std::collections::{BTreeMap, BTreeSet};

use http::HeaderMap;

use crate::config::toml_key;
use crate::pipeline::AliasSettings;
use callwright_common::limits::LISTED_ROWS;
use callwright_executor::{self as executor, AddressAudit, BuildError, Permissions, lacking_credentials};
use callwright_openapi::{Catalog, Operation, Toolset};
use callwright_policy::{Policy, PolicyBook, TurnFacts};
use callwright_types::RefusalReason;
use callwright_types::refusal::allowed_address;
use callwright_types::rules::Mode;

/// Lines that replace the built-in policies by files.
const BUILT_IN: &str =
    "\nand, because the policy is built in, in callwright.toml:\n[policies]\ndirectory = \"policies\"";

/// Calls of a toolset that would be refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolsetFinding {
    /// Name of the toolset.
    pub toolset: String,
    pub reason: RefusalReason,
    /// Whether the calls of all tools are refused.
    pub is_total: bool,
    /// Description of the calls and of their number.
    pub message: String,
    /// File that needs the lines.
    pub place: String,
    /// Lines to add there.
    pub lines: String,
}

impl ToolsetFinding {
    /// Returns the place and the lines in one text.
    pub fn fix(&self) -> String {
        format!("in {}:\n{}", self.place, self.lines)
    }

    /// Logs the finding. Tools that a policy denies on purpose are no defect.
    pub(super) fn log(&self) {
        let (toolset, reason, remedy) = (&self.toolset, self.reason.label(), self.fix().replace('\n', " "));
        if self.is_total || self.reason != RefusalReason::PolicyDenied {
            tracing::warn!(toolset, reason, remedy, "{}", self.message);
        } else {
            tracing::info!(toolset, reason, remedy, "{}", self.message);
        }
    }
}

/// Returns the findings about servers, addresses and credentials. `names` contains servers whose names resolve to
/// forbidden addresses ([`forbidden_names`]).
///
/// # Errors
/// [`BuildError`] if `executor.allowed_addresses` is invalid.
pub fn audit_toolsets(
    catalog: &Catalog,
    settings: &executor::Settings,
    names: &BTreeSet<String>,
) -> Result<Vec<ToolsetFinding>, BuildError> {
    let audit = AddressAudit::new(settings)?;
    let mut findings = Vec::new();
    for toolset in catalog.toolsets() {
        findings.extend(no_server(toolset));
        findings.extend(forbidden_addresses(toolset, &audit, settings, names));
        findings.extend(no_credential(toolset));
    }
    Ok(findings)
}

/// Returns the servers of a catalog whose names resolve to forbidden addresses only.
///
/// # Errors
/// [`BuildError`] if `executor.allowed_addresses` is invalid.
pub async fn forbidden_names(catalog: &Catalog, settings: &executor::Settings) -> Result<BTreeSet<String>, BuildError> {
    let audit = AddressAudit::new(settings)?;
    let mut names = BTreeSet::new();
    for (host, url) in catalog.toolsets().flat_map(|toolset| hosts(toolset)).map(|(host, (url, _))| (host, url)) {
        if !names.contains(&host) && audit.forbids_resolved(url).await {
            names.insert(host);
        }
    }
    Ok(names)
}

/// Returns the findings about the policies of the aliases: tools that are never offered because their calls are denied.
pub fn audit_policies(
    catalog: &Catalog,
    aliases: &BTreeMap<String, AliasSettings>,
    book: &PolicyBook,
    has_directory: bool,
) -> Vec<ToolsetFinding> {
    let mut users: BTreeMap<(String, String), Vec<&str>> = BTreeMap::new();
    for (alias, settings) in aliases {
        let Some(policy) = policy_of_alias(book, alias, settings) else { continue };
        for toolset in settings.toolsets.iter().flat_map(|name| catalog.toolsets_of(name)) {
            users.entry((policy.clone(), toolset.name.clone())).or_default().push(alias);
        }
    }
    let mut findings = Vec::new();
    for ((policy, toolset), aliases) in &users {
        if let (Some(policy), Some(toolset)) = (book.get(policy), catalog.toolset(toolset))
            && policy.mode == Mode::Guard
        {
            findings.extend(denied(toolset, policy, aliases, has_directory));
        }
    }
    findings
}

/// Returns the name of the policy that applies to requests for an alias without further properties.
fn policy_of_alias(book: &PolicyBook, alias: &str, settings: &AliasSettings) -> Option<String> {
    let facts = TurnFacts {
        model: alias,
        alias: Some(alias),
        alias_policy: Some(settings.policy.as_str()).filter(|policy| !policy.is_empty()),
        key: None,
        headers: &HeaderMap::new(),
        requested: None,
    };
    book.resolve(&facts).ok().map(|policy| policy.name.clone())
}

fn no_server(toolset: &Toolset) -> Option<ToolsetFinding> {
    let count = toolset.operations.iter().filter(|operation| operation.servers.is_empty()).count();
    let total = toolset.operations.len();
    let message = format!("{count} of {total} operations have no absolute server URL; their calls are refused");
    let lines = format!("{}\nbase_url = \"https://HOST\"", toolset_table(toolset, ""));
    (count > 0).then(|| configured(toolset, RefusalReason::NoServer, count, message, lines))
}

/// Returns a finding about `count` operations that lines of the configuration fix.
fn configured(
    toolset: &Toolset,
    reason: RefusalReason,
    count: usize,
    message: String,
    lines: String,
) -> ToolsetFinding {
    let is_total = count == toolset.operations.len();
    ToolsetFinding {
        toolset: toolset.name.clone(),
        reason,
        is_total,
        message,
        place: "callwright.toml".to_owned(),
        lines,
    }
}

/// Returns the hosts of a toolset's servers, each with one of its URLs and the number of operations.
fn hosts(toolset: &Toolset) -> BTreeMap<String, (&url::Url, usize)> {
    let mut hosts = BTreeMap::new();
    for url in toolset.operations.iter().filter_map(|operation| operation.servers.first()) {
        if let Some(host) = url.host_str() {
            hosts.entry(host.to_owned()).or_insert((url, 0)).1 += 1;
        }
    }
    hosts
}

fn forbidden_addresses(
    toolset: &Toolset,
    audit: &AddressAudit,
    settings: &executor::Settings,
    names: &BTreeSet<String>,
) -> Vec<ToolsetFinding> {
    let total = toolset.operations.len();
    let mut findings = Vec::new();
    for (host, (url, count)) in hosts(toolset) {
        if !audit.forbids(url) && !names.contains(&host) {
            continue;
        }
        let mut allowed: Vec<String> = settings.allowed_addresses.iter().map(|entry| format!("\"{entry}\"")).collect();
        allowed.push(allowed_address(Some(&host)));
        let message = format!(
            "the address of `{host}` is private, local or reserved, and not allowed; the calls of {count} of {total} \
             operations are refused"
        );
        let lines = format!("[executor]\nallowed_addresses = [{}]", allowed.join(", "));
        findings.push(configured(toolset, RefusalReason::AddressNotAllowed, count, message, lines));
    }
    findings
}

fn no_credential(toolset: &Toolset) -> Vec<ToolsetFinding> {
    let mut findings = Vec::new();
    for lacking in lacking_credentials(toolset) {
        let (scheme, count) = (&lacking.scheme, lacking.operations);
        let secret = format!("\"${{{}}}\"", variable(&toolset.entry, scheme));
        let value = match lacking.takes_client {
            true => format!("{{ client_id = \"ID\", client_secret = {secret} }}"),
            false => secret,
        };
        let message = format!(
            "{count} operations require a credential of the security scheme `{scheme}`, and none is configured; \
             their calls are refused"
        );
        let lines = format!("{}\n{} = {value}", toolset_table(toolset, ".credentials"), toml_key(scheme));
        findings.push(configured(toolset, RefusalReason::CredentialMissing, count, message, lines));
    }
    findings
}

fn denied(toolset: &Toolset, policy: &Policy, aliases: &[&str], has_directory: bool) -> Option<ToolsetFinding> {
    let permissions = Permissions::new(&policy.execute);
    let name = |operation: &Operation| format!("{}/{}", toolset.name, operation.own_name());
    let denied: Vec<&Operation> = toolset
        .operations
        .iter()
        .filter(|operation| !permissions.permit(&operation.method, &name(operation)))
        .collect();
    if denied.is_empty() {
        return None;
    }
    let methods: BTreeSet<&str> = denied.iter().map(|operation| operation.method.as_str()).collect();
    let methods: Vec<&str> = methods.into_iter().collect();
    let mut tools: Vec<&str> = denied.iter().take(LISTED_ROWS).map(|operation| operation.tool.name.as_str()).collect();
    let more = denied.len().saturating_sub(LISTED_ROWS);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    tools.sort_unstable();
    Some(ToolsetFinding {
        toolset: toolset.name.clone(),
        reason: RefusalReason::PolicyDenied,
        is_total: denied.len() == toolset.operations.len(),
        message: format!(
            "the policy `{}` (alias {}) denies {} of {} tools, which are not offered: {}{more}",
            policy.name,
            aliases.join(", "),
            denied.len(),
            toolset.operations.len(),
            tools.join(", ")
        ),
        place: match has_directory {
            true => format!("the file of the policy `{}`", policy.name),
            false => format!("policies/{}.yaml", policy.name),
        },
        lines: format!(
            "execute:\n  rules:\n    - {{methods: [{}], tools: [\"{}/*\"], permission: approve}}   # or `allow`{}",
            methods.join(", "),
            toolset.name,
            if has_directory { String::new() } else { BUILT_IN.to_owned() }
        ),
    })
}

/// Returns the header of a table of the toolset's configuration.
fn toolset_table(toolset: &Toolset, below: &str) -> String {
    format!("[toolsets.{}{below}]", toml_key(&toolset.entry))
}

/// Returns the name of an environment variable for a credential.
fn variable(entry: &str, scheme: &str) -> String {
    let letters = format!("{entry}_{scheme}").to_ascii_uppercase();
    letters.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect()
}
