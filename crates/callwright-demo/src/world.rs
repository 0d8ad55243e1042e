//! Environment of a demo: servers, documents and policies on disk, and the configuration of a proxy between them.

use std::path::{Path, PathBuf};

use super::sample_api::{APIS, SampleApi};
use super::scripted_model::ScriptedModel;
use super::{DemoError, Server};

/// OpenAPI document of the route planner.
const ROUTE_DOCUMENT: &str = include_str!("../../../openapi/route-planner.yaml");

/// OpenAPI document of the meeting room API.
const ROOMS_DOCUMENT: &str = include_str!("../../../openapi/meeting-rooms.yaml");

/// OpenAPI document of the flight desk.
const FLIGHTS_DOCUMENT: &str = include_str!("../../../openapi/flights.yaml");

/// Policy of the proxy.
const POLICY: &str = include_str!("policy.yaml");

/// Environment of the proxy. The servers stop and the files are removed when it is dropped.
#[derive(Debug)]
pub struct DemoWorld {
    /// Scripted model: an OpenAI-compatible server. Its base URL is this URL plus `/v1`.
    pub model: Server,
    /// Route planner of `openapi/route-planner.yaml`.
    pub route_planner: Server,
    /// Meeting room API of `openapi/meeting-rooms.yaml`.
    pub meeting_rooms: Server,
    /// Flight desk of `openapi/flights.yaml`.
    pub flight_desk: Server,
    /// Complete configuration (TOML) of a proxy between them, on free ports.
    pub config_toml: String,
    directory: Directory,
}

impl DemoWorld {
    /// Returns the directory of the documents and policies.
    pub fn directory(&self) -> &Path {
        &self.directory.0
    }
}

/// Starts the model and the APIs on free loopback ports, and writes their documents and policies into a new directory
/// below `parent`.
///
/// # Errors
/// [`DemoError::Listen`] and [`DemoError::Write`].
pub async fn start(parent: &Path) -> Result<DemoWorld, DemoError> {
    let directory = Directory::create(parent)?;
    directory.write("route-planner.yaml", ROUTE_DOCUMENT)?;
    directory.write("meeting-rooms.yaml", ROOMS_DOCUMENT)?;
    directory.write("flights.yaml", FLIGHTS_DOCUMENT)?;
    directory.write("policies/demo.yaml", POLICY)?;
    let model = ScriptedModel::start().await?;
    let route_planner = SampleApi::start(&APIS.route_planner).await?;
    let meeting_rooms = SampleApi::start(&APIS.meeting_rooms).await?;
    let flight_desk = SampleApi::start(&APIS.flight_desk).await?;
    let config_toml = config(&directory.0, &model, [&route_planner, &meeting_rooms, &flight_desk]);
    Ok(DemoWorld { model, route_planner, meeting_rooms, flight_desk, config_toml, directory })
}

fn config(directory: &Path, model: &Server, [route_planner, meeting_rooms, flight_desk]: [&Server; 3]) -> String {
    // A JSON string is a valid TOML basic string.
    let [route_document, rooms_document, flights_document, policies] =
        ["route-planner.yaml", "meeting-rooms.yaml", "flights.yaml", "policies"]
            .map(|name| serde_json::Value::from(directory.join(name).display().to_string()));
    format!(
        r#"[server]
listen = "127.0.0.1:0"
operator_listen = "127.0.0.1:0"

[upstreams.default]
base_url = "{model}/v1"

[aliases.travel]
model = "scripted"
toolsets = ["route-planner"]

[aliases.office]
model = "scripted"
toolsets = ["meeting-rooms"]

[aliases.flights]
model = "scripted"
toolsets = ["flights"]

[toolsets.route-planner]
document = {route_document}
base_url = "{route}/v1"
credentials = {{ ApiKey = "{route_key}" }}

[toolsets.meeting-rooms]
document = {rooms_document}
base_url = "{rooms}/v2"
credentials = {{ Bearer = "{rooms_token}" }}

[toolsets.flights]
document = {flights_document}
base_url = "{flights}/v1"
credentials = {{ ApiKey = "{flights_key}" }}

[executor]
allowed_addresses = ["127.0.0.1"]

[policies]
directory = {policies}
default = "demo"

[store]
url = "sqlite::memory:"

# No turn withholds lessons to measure their effect: every run of the demo must show the same.
[experience]
withhold = 0.0
"#,
        model = model.url(),
        route = route_planner.url(),
        route_key = APIS.route_planner.secret,
        rooms = meeting_rooms.url(),
        rooms_token = APIS.meeting_rooms.secret,
        flights = flight_desk.url(),
        flights_key = APIS.flight_desk.secret,
    )
}

/// Directory that is removed with its contents when it is dropped.
#[derive(Debug)]
struct Directory(PathBuf);

impl Directory {
    fn create(parent: &Path) -> Result<Self, DemoError> {
        let path = parent.join(format!("callwright-demo-{:016x}", fastrand::u64(..)));
        let policies = path.join("policies");
        std::fs::create_dir_all(&policies).map_err(|source| DemoError::Write { path: policies, source })?;
        Ok(Self(path))
    }

    fn write(&self, name: &str, text: &str) -> Result<(), DemoError> {
        let path = self.0.join(name);
        std::fs::write(&path, text).map_err(|source| DemoError::Write { path, source })
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // A directory that cannot be removed leaves a few kilobytes in a temporary folder.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use http::Method;
    use serde_json::Value;

    use super::super::client;
    use super::*;

    #[tokio::test]
    async fn the_configuration_names_files_that_end_with_the_world() {
        let parent = tempfile::tempdir().unwrap();
        let world = start(parent.path()).await.unwrap();
        let config: toml::Table = world.config_toml.parse().unwrap();
        for toolset in ["route-planner", "meeting-rooms", "flights"] {
            let path = config["toolsets"][toolset]["document"].as_str().unwrap();
            assert!(std::fs::read_to_string(path).unwrap().starts_with("openapi: 3.0.3"), "{path}");
        }
        let policies = config["policies"]["directory"].as_str().unwrap();
        assert!(std::fs::read_dir(policies).unwrap().count() > 0, "{policies}");
        let base_url = config["upstreams"]["default"]["base_url"].as_str().unwrap();
        assert_eq!(client::get(&format!("{base_url}/models")).await.unwrap().status.as_u16(), 200);
        drop(world);
        assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[tokio::test]
    async fn an_unwritable_folder_is_named() {
        let error = start(Path::new("/dev/null")).await.unwrap_err();
        assert!(error.to_string().starts_with("cannot write /dev/null/callwright-demo-"), "{error}");
    }

    /// Checks that every operation of a document is served: without a credential it is refused, not unknown.
    #[tokio::test]
    async fn the_servers_serve_what_their_documents_promise() {
        let parent = tempfile::tempdir().unwrap();
        let world = start(parent.path()).await.unwrap();
        for (text, base_url, api) in [
            (ROUTE_DOCUMENT, format!("{}/v1", world.route_planner.url()), &APIS.route_planner),
            (ROOMS_DOCUMENT, format!("{}/v2", world.meeting_rooms.url()), &APIS.meeting_rooms),
            (FLIGHTS_DOCUMENT, format!("{}/v1", world.flight_desk.url()), &APIS.flight_desk),
        ] {
            let document: Value = serde_saphyr::from_str(text).unwrap();
            for (path, item) in document["paths"].as_object().unwrap() {
                for (method, operation) in item.as_object().unwrap() {
                    let method: Method = method.to_uppercase().parse().unwrap();
                    let url = format!("{base_url}{}", path.replace("{id}", "b-1").replace("{traveller_id}", "t-1"));
                    let headers = [(api.credential.0.as_str(), api.credential.1.as_str())];
                    let answer = client::send(method.clone(), &url, &headers, bytes::Bytes::new()).await.unwrap();
                    let documented = operation["responses"].get(answer.status.as_str()).is_some();
                    assert!(documented, "{method} {path}: {} is not documented", answer.status);
                    let answer = client::send(method.clone(), &url, &[], bytes::Bytes::new()).await.unwrap();
                    assert_eq!(answer.status.as_u16(), 401, "{method} {path}");
                }
            }
        }
    }
}
