//! Location of the store: `[store] url`.

use std::fmt;
use std::path::{Path, PathBuf};

use url::Url;

/// Location of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// The store is switched off.
    Off,
    /// SQLite in the memory of this process.
    Memory,
    /// SQLite in this file.
    File(PathBuf),
    /// PostgreSQL database.
    Postgres(PostgresUrl),
}

/// URL of a PostgreSQL database. It may contain a password and is never displayed in full.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresUrl(Url);

impl PostgresUrl {
    /// Returns the full URL, for connecting only.
    pub(super) fn expose(&self) -> &str {
        self.0.as_str()
    }

    /// Returns the names of the URL's parameters.
    pub(super) fn parameters(&self) -> impl Iterator<Item = String> {
        self.0.query_pairs().map(|(name, _)| name.into_owned())
    }
}

/// Displays host, port and database: no user, no password, no parameters.
impl fmt::Display for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parameter = self.0.query_pairs().find(|(name, _)| name == "host").map(|(_, value)| value.into_owned());
        let host = parameter.or_else(|| self.0.host_str().filter(|host| !host.is_empty()).map(str::to_owned));
        f.write_str(host.as_deref().unwrap_or("the default host"))?;
        if let Some(port) = self.0.port() {
            write!(f, ":{port}")?;
        }
        f.write_str(self.0.path().trim_end_matches('/'))
    }
}

impl fmt::Debug for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PostgresUrl({self})")
    }
}

/// Error: `[store] url` is not a supported location. The URL is not quoted if it may contain a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`[store] url` is `{0}`; it must be `sqlite:FILE`, `sqlite::memory:`, `postgres://USER:PASSWORD@HOST/DATABASE`, or empty for no store"
)]
pub struct UnknownLocation(String);

impl UnknownLocation {
    fn new(url: &str) -> Self {
        let may_hold_password = url.contains('@') || url.contains("password");
        let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme);
        Self(if may_hold_password { format!("{scheme}:…") } else { url.to_owned() })
    }
}

impl Location {
    /// Parses `[store] url`; a relative file path is resolved against `base_dir`. Accepts `sqlite://FILE` too.
    pub fn parse(url: &str, base_dir: &Path) -> Result<Self, UnknownLocation> {
        Self::parsed(url.trim(), base_dir).ok_or_else(|| UnknownLocation::new(url))
    }

    fn parsed(url: &str, base_dir: &Path) -> Option<Self> {
        match url {
            "" => Some(Self::Off),
            ":memory:" | "sqlite::memory:" => Some(Self::Memory),
            _ if url.starts_with("postgres://") || url.starts_with("postgresql://") => {
                Url::parse(url).ok().map(|url| Self::Postgres(PostgresUrl(url)))
            }
            _ => {
                let file = url.strip_prefix("sqlite:")?;
                let file = file.strip_prefix("//").unwrap_or(file);
                (!file.is_empty() && !file.contains(['?', '\0'])).then(|| Self::File(base_dir.join(file)))
            }
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("switched off"),
            Self::Memory => f.write_str("SQLite in memory"),
            Self::File(path) => write!(f, "SQLite at {}", path.display()),
            Self::Postgres(url) => write!(f, "PostgreSQL at {url}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_read_as_documented() {
        let base = Path::new("/base");
        let at = |path: &str| Ok(Location::File(PathBuf::from(path)));
        assert_eq!(Location::parse("", base), Ok(Location::Off));
        assert_eq!(Location::parse("sqlite::memory:", base), Ok(Location::Memory));
        assert_eq!(Location::parse("sqlite:a.db", base), at("/base/a.db"));
        assert_eq!(Location::parse("sqlite://a.db", base), at("/base/a.db"));
        assert_eq!(Location::parse("sqlite:/var/a.db", base), at("/var/a.db"));
        assert_eq!(Location::parse("sqlite:///var/a.db", base), at("/var/a.db"));
    }

    #[test]
    fn a_password_is_never_displayed() {
        for (url, displayed) in [
            ("postgres://ada:canary@db:6543/calls?sslmode=require", "PostgreSQL at db:6543/calls"),
            ("postgresql://ada:canary@[::1]/calls", "PostgreSQL at [::1]/calls"),
            ("postgres:///calls?host=/run/db&user=ada&password=canary", "PostgreSQL at /run/db/calls"),
        ] {
            let location = Location::parse(url, Path::new("")).unwrap();
            assert_eq!(location.to_string(), displayed);
            assert!(!format!("{location:?}").contains("canary"));
        }
        for url in ["postgres://ada:canary@[::1/calls", "mysql://ada:canary@db/calls", "pg:x?password=canary"] {
            let error = Location::parse(url, Path::new("")).unwrap_err();
            assert!(!error.to_string().contains("canary"), "{error}");
        }
    }

    #[test]
    fn an_invalid_url_is_an_error_with_examples() {
        for url in ["mysql://host/db", "a.db", "sqlite:", "sqlite:a.db?mode=ro"] {
            let error = Location::parse(url, Path::new("")).unwrap_err();
            assert!(error.to_string().contains("sqlite:FILE") && error.to_string().contains(url), "{error}");
        }
    }
}
