//! The whole file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use callwright_executor as executor;
use callwright_judge::{feedback, repair, scanner};
use callwright_knowledge::{experience, explain, planner, procedures, representation};
use callwright_offline::learning;
use callwright_openapi as catalog;
use callwright_policy as policy;
use callwright_search::embedding;
use callwright_store as store;
use callwright_telemetry as telemetry;
use callwright_upstream as upstream;

use crate::{http, keys, pipeline};

/// Every setting of the proxy. Each table is a room's own; the rooms document the keys, `config/callwright.toml` shows them all.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Name of the upstream that is asked where no alias says otherwise, and for everything that is passed through.
    pub default_upstream: String,
    /// Both listeners.
    pub server: http::Settings,
    /// Virtual keys.
    pub keys: keys::Settings,
    /// What models cost, by their names at their upstreams.
    pub prices: BTreeMap<String, keys::PriceSettings>,
    /// The providers of models, by name.
    pub upstreams: BTreeMap<String, upstream::Settings>,
    /// Model aliases, by the name that clients use.
    pub aliases: BTreeMap<String, pipeline::AliasSettings>,
    /// Where requests go that are passed through.
    pub pass_through: pipeline::PassThroughSettings,
    /// What holds for every turn and is no policy.
    pub pipeline: pipeline::Settings,
    /// OpenAPI documents whose operations become tools, by the toolset's name.
    pub toolsets: BTreeMap<String, catalog::ToolsetSettings>,
    /// What holds for the documents of all toolsets.
    pub catalog: catalog::Settings,
    /// How tool APIs are called.
    pub executor: executor::Settings,
    /// The model of meaning.
    pub embedding: embedding::Settings,
    /// What explanations of failed outcomes hold.
    pub explain: explain::Settings,
    /// The judgement of calls.
    pub scanner: scanner::Settings,
    /// The rescue of calls from text.
    pub repair: repair::Settings,
    /// The messages to the model.
    pub feedback: feedback::Settings,
    /// Where policies are read from.
    pub policies: policy::Settings,
    /// What was learned about tools.
    pub representations: representation::Settings,
    /// Where arguments come from.
    pub planner: planner::Settings,
    /// The notebook of lessons.
    pub experience: experience::Settings,
    /// What past solutions are learned and used.
    pub procedures: procedures::Settings,
    /// How what was verified is learned.
    pub learning: learning::Settings,
    /// Traces and intents.
    pub store: store::Settings,
    /// Logs.
    pub telemetry: telemetry::Settings,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            default_upstream: super::builtin::UPSTREAM.to_owned(),
            server: http::Settings::default(),
            keys: keys::Settings::default(),
            prices: BTreeMap::new(),
            upstreams: BTreeMap::from([(super::builtin::UPSTREAM.to_owned(), upstream::Settings::default())]),
            aliases: BTreeMap::new(),
            pass_through: pipeline::PassThroughSettings::default(),
            pipeline: pipeline::Settings::default(),
            toolsets: BTreeMap::new(),
            catalog: catalog::Settings::default(),
            executor: executor::Settings::default(),
            embedding: embedding::Settings::default(),
            explain: explain::Settings::default(),
            scanner: scanner::Settings::default(),
            repair: repair::Settings::default(),
            feedback: feedback::Settings::default(),
            policies: policy::Settings::default(),
            representations: representation::Settings::default(),
            planner: planner::Settings::default(),
            experience: experience::Settings::default(),
            procedures: procedures::Settings::default(),
            learning: learning::Settings::default(),
            store: store::Settings::default(),
            telemetry: telemetry::Settings::default(),
        }
    }
}
