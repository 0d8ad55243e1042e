//! Migrations embedded into the program.

use sqlx::SqlSafeStr;
use sqlx::migrate::{Migration, MigrationType, Migrator};

/// Embeds the migrations of a folder of `migrations`. `sqlx::migrate!` lists the files itself, but compiles the drivers
/// and SQLite once more for the build; a test compares the list with the folder.
macro_rules! embedded_migrations {
    ($folder:literal: $($file:literal,)*) => {
        std::sync::LazyLock::new(|| {
            $crate::migrations::migrator(&[
                $(($file, include_str!(concat!("../../migrations/", $folder, "/", $file))),)*
            ])
        })
    };
}
pub(super) use embedded_migrations;

/// Creates the migrator of these files, each a name `VERSION_DESCRIPTION.sql` and an SQL text, as sqlx reads a folder.
pub(super) fn migrator(files: &[(&str, &'static str)]) -> Migrator {
    Migrator::with_migrations(files.iter().filter_map(|(name, sql)| migration(name, sql)).collect())
}

/// Returns the migration of a file; `None` if the name does not begin with a version.
fn migration(name: &str, sql: &'static str) -> Option<Migration> {
    let (version, rest) = name.split_once('_')?;
    let kind = MigrationType::Simple;
    let description = rest.strip_suffix(kind.suffix())?.replace('_', " ");
    Some(Migration::new(version.parse().ok()?, description.into(), kind, sql.into_sql_str(), false))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[tokio::test]
    async fn the_embedded_migrations_are_those_of_the_folders() {
        let embedded = [("postgres", &*crate::postgres::MIGRATIONS), ("sqlite", &*crate::sqlite::MIGRATIONS)];
        for (folder, embedded) in embedded {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations").join(folder);
            let read = Migrator::new(path).await.unwrap();
            let parts = |migrator: &Migrator| -> Vec<_> {
                let parts = |one: &Migration| {
                    (one.version, one.description.clone(), one.migration_type, one.no_tx, one.checksum.clone())
                };
                migrator.iter().map(parts).collect()
            };
            assert_eq!(parts(embedded), parts(&read), "{folder}");
        }
    }
}
