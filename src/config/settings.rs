//! The settings of the whole file.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use callwright_executor as executor;
use callwright_judge::scanner;
use callwright_memory::learning;
use callwright_memory::{experience, procedures, representation};
use callwright_openapi::ToolsetSettings;
use callwright_plan as planner;
use callwright_policy as policy;
use callwright_search::embedding;
use callwright_store as store;
use callwright_telemetry as telemetry;
use callwright_upstream as upstream;

use crate::{http, keys, pipeline, webhook};

/// Name of the built-in upstream.
pub(super) const DEFAULT_UPSTREAM: &str = "default";

/// Reload of documents, policies, representations and planner edges (`[reload]`). SIGHUP reloads all of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ReloadSettings {
    /// Whether files are read again when they change. Running turns keep what they started with. A file that cannot be
    /// used leaves what is loaded unchanged.
    pub files: bool,
    /// Seconds between two checks for changes of remote documents; 0: they are read once, at startup.
    pub remote_seconds: u64,
}

impl Default for ReloadSettings {
    fn default() -> Self {
        Self { files: true, remote_seconds: 0 }
    }
}

/// All settings of the proxy. Each table belongs to a module, which documents its keys; `config/callwright.toml` shows
/// all of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Name of the upstream for requests without an alias, and for paths that are passed through.
    pub default_upstream: String,
    /// Both listeners.
    pub server: http::Settings,
    /// Virtual keys.
    pub keys: keys::Settings,
    /// Prices of models, by their names at their upstreams.
    pub prices: BTreeMap<String, keys::PriceSettings>,
    /// Model providers, by name.
    pub upstreams: BTreeMap<String, upstream::Settings>,
    /// Model aliases, by the name that clients use.
    pub aliases: BTreeMap<String, pipeline::AliasSettings>,
    /// Upstreams of requests that are passed through.
    pub pass_through: pipeline::PassThroughSettings,
    /// Settings of every turn that are not policy.
    pub pipeline: pipeline::Settings,
    /// OpenAPI documents whose operations become tools, by the toolset's name.
    pub toolsets: BTreeMap<String, ToolsetSettings>,
    /// Reload of files and remote documents.
    pub reload: ReloadSettings,
    /// Settings of calls to tool APIs.
    pub executor: executor::Settings,
    /// Notifications of approvals.
    pub approvals: webhook::Settings,
    /// The embedding model.
    pub embedding: embedding::Settings,
    /// Validation of calls.
    pub scanner: scanner::Settings,
    /// Location of the policies.
    pub policies: policy::Settings,
    /// Learned representations of tools.
    pub representations: representation::Settings,
    /// Planning of tool calls and sources of arguments.
    pub planner: planner::Settings,
    /// Lessons learned from experience.
    pub experience: experience::Settings,
    /// Procedures learned from past solutions.
    pub procedures: procedures::Settings,
    /// Learning jobs.
    pub learning: learning::Settings,
    /// Limits of the proxy's own requests to models.
    pub own_requests: upstream::OwnRequestSettings,
    /// Storage of traces, turn state and memory.
    pub store: store::Settings,
    /// Logs and telemetry.
    pub telemetry: telemetry::Settings,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            default_upstream: DEFAULT_UPSTREAM.to_owned(),
            server: http::Settings::default(),
            keys: keys::Settings::default(),
            prices: BTreeMap::new(),
            upstreams: BTreeMap::from([(DEFAULT_UPSTREAM.to_owned(), upstream::Settings::default())]),
            aliases: BTreeMap::new(),
            pass_through: pipeline::PassThroughSettings::default(),
            pipeline: pipeline::Settings::default(),
            toolsets: BTreeMap::new(),
            reload: ReloadSettings::default(),
            executor: executor::Settings::default(),
            approvals: webhook::Settings::default(),
            embedding: embedding::Settings::default(),
            scanner: scanner::Settings::default(),
            policies: policy::Settings::default(),
            representations: representation::Settings::default(),
            planner: planner::Settings::default(),
            experience: experience::Settings::default(),
            procedures: procedures::Settings::default(),
            learning: learning::Settings::default(),
            own_requests: upstream::OwnRequestSettings::default(),
            store: store::Settings::default(),
            telemetry: telemetry::Settings::default(),
        }
    }
}
