//! Loading of settings from a file, or from the defaults.

use std::fs::File;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use callwright_common::limits::FILE_BYTES;

use super::document::ConfigDocument;
use super::problem::{ConfigError, ConfigProblem};
use super::settings::Settings;
use super::{Environment, builtin, validate};

/// File in the working directory that is read by default, if it exists.
pub const DEFAULT_FILE: &str = "callwright.toml";

/// Environment variable that names the file if the command line does not.
pub const FILE_VARIABLE: &str = "CALLWRIGHT_CONFIG";

/// Configuration options of the command line.
#[derive(Debug, Clone, Default)]
pub struct ConfigRequest {
    /// The file to read (`--config`).
    pub file: Option<PathBuf>,
    /// Overrides `server.listen` (`--listen`).
    pub listen: Option<SocketAddr>,
    /// Overrides `server.operator_listen` (`--operator-listen`).
    pub operator_listen: Option<SocketAddr>,
}

/// Valid settings, and their source.
#[derive(Debug, Clone)]
pub struct LoadedConfig {
    pub settings: Settings,
    /// Folder to which relative paths in the settings refer: the file's, or the working directory.
    pub base_dir: PathBuf,
    /// The file that was read; `None` for the built-in defaults.
    pub file: Option<PathBuf>,
}

/// Finds, reads, interpolates and validates the configuration.
///
/// Reads the file that `request` names, else the one that [`FILE_VARIABLE`] names, else [`DEFAULT_FILE`] if it exists.
/// Without a file, the built-in defaults apply.
///
/// # Errors
/// [`ConfigError`], which names the file, the location of each problem, and its fix.
pub fn load(request: &ConfigRequest, environment: &Environment) -> Result<LoadedConfig, ConfigError> {
    let Some(file) = find(request, environment) else {
        return loaded("", None, PathBuf::from("."), request, environment);
    };
    let text = read(&file).map_err(|source| ConfigError::Read { file: file.clone(), source })?;
    let base_dir = folder_of(&file);
    loaded(&text, Some(file), base_dir, request, environment)
}

/// Interpolates and validates a configuration text; relative paths refer to `base_dir`.
///
/// # Errors
/// [`ConfigError::Invalid`], with locations in `text`.
pub fn parse(text: &str, base_dir: &Path, environment: &Environment) -> Result<LoadedConfig, ConfigError> {
    loaded(text, None, base_dir.to_owned(), &ConfigRequest::default(), environment)
}

fn loaded(
    text: &str,
    file: Option<PathBuf>,
    base_dir: PathBuf,
    request: &ConfigRequest,
    environment: &Environment,
) -> Result<LoadedConfig, ConfigError> {
    match settings(text, request, environment) {
        Ok(settings) => Ok(LoadedConfig { settings: with_paths_from(&base_dir, settings), base_dir, file }),
        Err(problems) => Err(ConfigError::Invalid { file, problems }),
    }
}

fn find(request: &ConfigRequest, environment: &Environment) -> Option<PathBuf> {
    if let Some(file) = &request.file {
        return Some(file.clone());
    }
    if let Some(name) = environment(FILE_VARIABLE).filter(|name| !name.is_empty()) {
        return Some(PathBuf::from(name));
    }
    Some(PathBuf::from(DEFAULT_FILE)).filter(|file| file.exists())
}

fn read(file: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(file)?.take(FILE_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > FILE_BYTES {
        return Err(io::Error::other(format!("larger than {FILE_BYTES} bytes, the limit of a configuration file")));
    }
    Ok(text)
}

/// Returns the file's folder; `.` for a bare file name, whose parent is empty.
fn folder_of(file: &Path) -> PathBuf {
    match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Resolves relative paths of modules that receive no base folder; the other modules receive `base_dir`.
fn with_paths_from(base_dir: &Path, mut settings: Settings) -> Settings {
    let secrets = settings.toolsets.values_mut().flat_map(|toolset| toolset.credentials.values_mut());
    let secrets = secrets.flat_map(|credential| credential.files_mut());
    let certificates = settings.upstreams.values_mut().map(|upstream| &mut upstream.ca_file);
    let server = &mut settings.server;
    for path in certificates
        .chain(server.tls.files_mut())
        .chain(server.operator_tls.files_mut())
        .chain([&mut settings.executor.ca_file])
        .chain(secrets)
        .filter(|path| !path.is_empty())
    {
        *path = base_dir.join(&*path).to_string_lossy().into_owned();
    }
    settings
}

/// Turns the text of a file into valid settings.
fn settings(text: &str, request: &ConfigRequest, environment: &Environment) -> Result<Settings, Vec<ConfigProblem>> {
    let mut document = ConfigDocument::parse(text, environment)?;
    builtin::complete(document.tree_mut(), environment)?;
    let mut settings: Settings = document.deserialize().map_err(|problem| vec![problem])?;
    settings.server.listen = request.listen.unwrap_or(settings.server.listen);
    builtin::complete_settings(&mut settings, environment);
    settings.server.operator_listen = request.operator_listen.unwrap_or(settings.server.operator_listen);
    let problems = validate::problems(&settings, |key| document.place_of(key));
    if problems.is_empty() { Ok(settings) } else { Err(problems) }
}

#[cfg(test)]
#[path = "load_tests.rs"]
mod tests;
