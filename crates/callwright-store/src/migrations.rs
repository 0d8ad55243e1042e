//! Migrations embedded into the program, and their rollback.

use sqlx::SqlSafeStr;
use sqlx::migrate::{Migrate, MigrateError, Migration, MigrationType, Migrator};

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

/// Creates the migrator of these files, each a name `VERSION_DESCRIPTION.KIND` and an SQL text, as sqlx reads a folder.
pub(super) fn migrator(files: &[(&str, &'static str)]) -> Migrator {
    Migrator::with_migrations(files.iter().filter_map(|(name, sql)| migration(name, sql)).collect())
}

/// Returns the migration of a file; `None` if the name does not begin with a version.
fn migration(name: &str, sql: &'static str) -> Option<Migration> {
    let (version, rest) = name.split_once('_')?;
    let kind = MigrationType::from_filename(rest);
    let description = rest.strip_suffix(kind.suffix())?.replace('_', " ");
    Some(Migration::new(version.parse().ok()?, description.into(), kind, sql.into_sql_str(), false))
}

/// Reverts the latest migration of the database and returns the resulting version.
///
/// # Errors
/// A message; the database is unchanged then.
pub(super) async fn roll_back<C: Migrate>(migrations: &Migrator, connection: &mut C) -> Result<i64, String> {
    connection.lock().await.map_err(message)?;
    let outcome = undo_latest(migrations, connection).await;
    connection.unlock().await.map_err(message)?;
    outcome
}

async fn undo_latest<C: Migrate>(migrations: &Migrator, connection: &mut C) -> Result<i64, String> {
    let table = &migrations.table_name;
    connection.ensure_migrations_table(table).await.map_err(message)?;
    let applied = connection.list_applied_migrations(table).await.map_err(message)?;
    let mut versions: Vec<i64> = applied.iter().map(|applied| applied.version).collect();
    versions.sort_unstable();
    let Some(latest) = versions.pop() else {
        return Err("the database has no migration to roll back".to_owned());
    };
    let down = migrations.iter().find(|one| one.version == latest && one.migration_type.is_down_migration());
    let Some(down) = down else { return Err(format!("version {latest} of the database cannot be rolled back")) };
    connection.revert(table, down).await.map_err(message)?;
    Ok(versions.pop().unwrap_or(0))
}

fn message(error: MigrateError) -> String {
    error.to_string()
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
