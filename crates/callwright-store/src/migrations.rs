//! Taking a migration back.

use sqlx::migrate::{Migrate, Migrator};

/// Takes the latest migration of the database back, and says which version it has then.
///
/// # Errors
/// A message: nothing changed.
pub(super) async fn roll_back<C: Migrate>(migrations: &Migrator, connection: &mut C) -> Result<i64, String> {
    let said = |error: sqlx::migrate::MigrateError| error.to_string();
    connection.lock().await.map_err(said)?;
    let outcome = undo_latest(migrations, connection).await;
    connection.unlock().await.map_err(said)?;
    outcome
}

async fn undo_latest<C: Migrate>(migrations: &Migrator, connection: &mut C) -> Result<i64, String> {
    let said = |error: sqlx::migrate::MigrateError| error.to_string();
    let table = &migrations.table_name;
    connection.ensure_migrations_table(table).await.map_err(said)?;
    let applied = connection.list_applied_migrations(table).await.map_err(said)?;
    let mut versions: Vec<i64> = applied.iter().map(|applied| applied.version).collect();
    versions.sort_unstable();
    let Some(latest) = versions.pop() else {
        return Err("the database has no version that can be taken back".to_owned());
    };
    let down = migrations.iter().find(|one| one.version == latest && one.migration_type.is_down_migration());
    let Some(down) = down else { return Err(format!("version {latest} of the database cannot be taken back")) };
    connection.revert(table, down).await.map_err(said)?;
    Ok(versions.pop().unwrap_or(0))
}
