//! Where the store is: `[store] url`.

use std::fmt;
use std::path::{Path, PathBuf};

/// Where the store is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// Nowhere: switched off.
    Off,
    /// In this process's memory, gone with it.
    Memory,
    /// In this file.
    File(PathBuf),
}

/// `[store] url` names no store that there is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`[store] url` is `{0}`; it must be `sqlite:FILE`, `sqlite::memory:`, or empty for no store")]
pub struct UnknownLocation(pub String);

impl Location {
    /// Reads `[store] url`; a relative file is taken from `base_dir`. `sqlite://FILE` is understood too.
    ///
    /// # Errors
    /// [`UnknownLocation`].
    pub fn parse(url: &str, base_dir: &Path) -> Result<Self, UnknownLocation> {
        let unknown = || UnknownLocation(url.to_owned());
        match url.trim() {
            "" => Ok(Self::Off),
            ":memory:" | "sqlite::memory:" => Ok(Self::Memory),
            text => {
                let file = text.strip_prefix("sqlite:").ok_or_else(unknown)?;
                let file = file.strip_prefix("//").unwrap_or(file);
                if file.is_empty() || file.contains(['?', '\0']) {
                    return Err(unknown());
                }
                Ok(Self::File(base_dir.join(file)))
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
    fn what_is_not_a_store_is_refused_with_what_would_be() {
        for url in ["postgres://host/db", "a.db", "sqlite:", "sqlite:a.db?mode=ro"] {
            let error = Location::parse(url, Path::new("")).unwrap_err();
            assert!(error.to_string().contains("sqlite:FILE"), "{error}");
        }
    }
}
