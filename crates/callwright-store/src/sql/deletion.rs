//! Deletion of all data of a client, a session, or an age.

use std::collections::BTreeSet;

use super::{Database, Lock, Statement, VALUES_PER_SELECT};
use crate::{Deletion, DeletionCounts, ForgetCounts, ForgetSelection, StoreError};
use callwright_types::memory::ToolSample;
use callwright_types::representation::SharedRepresentation;
use callwright_types::{Lesson, Procedure, Scope};

/// Turn state and key usage of a client.
const OF_TENANT: [&str; 4] = [
    "DELETE FROM approvals WHERE tenant = $1",
    "DELETE FROM kept_parts WHERE tenant = $1",
    "DELETE FROM plans WHERE tenant = $1",
    "DELETE FROM key_usage WHERE subject = 'key:' || $1",
];

/// Turn state of a session. Intents with an unknown outcome are kept, so that their calls are not sent again.
const OF_SESSION: [&str; 2] =
    ["DELETE FROM approvals WHERE session = $1", "DELETE FROM intents WHERE session = $1 AND label IS NOT NULL"];

impl Database {
    pub(crate) async fn delete(&self, deletion: &Deletion) -> Result<DeletionCounts, StoreError> {
        let mut deleted = DeletionCounts::default();
        let conditions = deletion
            .tenants
            .iter()
            .map(|tenant| (" WHERE tenant = ", super::SqlValue::from(tenant)))
            .chain(deletion.sessions.iter().map(|session| (" WHERE session = ", session.into())))
            .chain(deletion.before.map(|time| (" WHERE started_at < ", time.as_millisecond().into())));
        for (condition, value) in conditions {
            while self.delete_some(condition, value.clone(), &mut deleted).await? {}
        }
        for (statements, values) in [(&OF_TENANT[..], &deletion.tenants), (&OF_SESSION[..], &deletion.sessions)] {
            for (statement, value) in statements.iter().flat_map(|one| values.iter().map(move |value| (*one, value))) {
                deleted.turn_state += self.execute(Statement::new(statement).bind(value)).await?;
            }
        }
        // Evidence may come from turns whose traces were deleted long ago.
        let scopes = deletion.tenants.iter().map(|tenant| ForgetSelection::Scope(Scope::of_key(tenant)));
        let sessions = deletion.sessions.iter().map(|session| ForgetSelection::Session(session.clone()));
        for what in scopes.chain(sessions).chain(deletion.before.map(ForgetSelection::Before)) {
            self.forget_all(&what, &mut deleted).await?;
        }
        Ok(deleted)
    }

    /// Deletes some traces and the evidence that comes from them. The evidence is deleted first, because it is found
    /// through the traces. Returns `false` if there are no more traces.
    async fn delete_some(
        &self,
        condition: &'static str,
        value: super::SqlValue,
        deleted: &mut DeletionCounts,
    ) -> Result<bool, StoreError> {
        let mut query = Statement::beginning("SELECT id, started_at, tools FROM traces");
        query.push(condition).push_bind(value).push(format_args!(" ORDER BY id LIMIT {VALUES_PER_SELECT}"));
        let rows: Vec<(String, i64, String)> = self.fetch_all(query).await?;
        if rows.is_empty() {
            return Ok(false);
        }
        let ids: BTreeSet<String> = rows.iter().map(|(id, ..)| id.clone()).collect();
        self.forget_all(&ForgetSelection::Traces(ids), deleted).await?;
        let mut transaction = self.begin(Lock::Rows).await?;
        for (id, started_at, tools) in &rows {
            for tool in serde_json::from_str::<Vec<String>>(tools).unwrap_or_default() {
                transaction.execute(Statement::new(DELETE_TOOL).bind(tool).bind(*started_at).bind(id)).await?;
            }
            transaction.execute(Statement::new(DELETE_FINDINGS).bind(*started_at).bind(id)).await?;
            deleted.traces += transaction.execute(Statement::new("DELETE FROM traces WHERE id = $1").bind(id)).await?;
            deleted.feedback +=
                transaction.execute(Statement::new("DELETE FROM feedback WHERE trace = $1").bind(id)).await?;
        }
        transaction.commit().await?;
        Ok(true)
    }

    async fn forget_all(&self, what: &ForgetSelection, deleted: &mut DeletionCounts) -> Result<(), StoreError> {
        add(&mut deleted.lessons, self.forget::<Lesson>(what).await?);
        add(&mut deleted.procedures, self.forget::<Procedure>(what).await?);
        add(&mut deleted.representations, self.forget::<SharedRepresentation>(what).await?);
        add(&mut deleted.samples, self.forget::<ToolSample>(what).await?);
        Ok(())
    }
}

const DELETE_TOOL: &str = "DELETE FROM trace_tools WHERE tool = $1 AND started_at = $2 AND trace_id = $3";

const DELETE_FINDINGS: &str = "DELETE FROM trace_findings WHERE started_at = $1 AND trace_id = $2";

fn add(sum: &mut ForgetCounts, forgot: ForgetCounts) {
    sum.changed += forgot.changed;
    sum.removed += forgot.removed;
}
