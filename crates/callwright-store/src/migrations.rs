//! Rollback of migrations.

use sqlx::migrate::{Migrate, MigrateError, Migrator};

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
