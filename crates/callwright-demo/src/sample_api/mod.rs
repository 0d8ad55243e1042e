//! Sample APIs of the demo: the route planner, the meeting rooms and the flight desk of `openapi/`, served over HTTP.
//! [`SampleApi::call`] returns the same answers without HTTP, for the demo's client.
//!
//! An API is data (`apis.json`): its operations with method, path, fields and behaviour, its codes, and the records.
//! Behaviour beyond lists of records is in [`bookings`] and [`routes`]. An invalid request is answered with a bare code,
//! as many vendors do.

mod bookings;
mod definition;
mod routes;

use std::sync::{Mutex, PoisonError};

use http::StatusCode;
use serde_json::{Map, Value, json};

use super::DemoError;
use super::server::{Handler, Reply, Request, Server};
pub(super) use definition::APIS;
use definition::{ApiDefinition, ApiFailure, FieldForm, Fields, RecordList, SampleOperation, records};

/// Sample API. Bookings are kept in memory.
#[derive(Debug)]
pub(super) struct SampleApi {
    definition: &'static ApiDefinition,
    bookings: Mutex<Vec<Value>>,
}

impl SampleApi {
    /// Creates an API without bookings.
    pub(super) fn new(definition: &'static ApiDefinition) -> Self {
        Self { definition, bookings: Mutex::default() }
    }

    /// Starts the API on a free loopback port.
    pub(super) async fn start(definition: &'static ApiDefinition) -> Result<Server, DemoError> {
        Server::start(Self::new(definition)).await
    }

    /// Returns the answer of an operation by its id in the document; `None` if the id is unknown.
    pub(super) fn call(&self, operation: &str, fields: &Value) -> Option<Value> {
        let operation = self.definition.operations.iter().find(|candidate| candidate.id == operation)?;
        let fields = Fields(fields.as_object().cloned().unwrap_or_default());
        Some(self.run(operation, &fields).unwrap_or_else(|ApiFailure(_, code)| self.failure_body(&code)))
    }

    fn run(&self, operation: &SampleOperation, fields: &Fields) -> Result<Value, ApiFailure> {
        for (name, form) in &operation.required {
            if !fields.0.get(name).is_some_and(|value| form.accepts(value)) {
                return Err(self.definition.failure("invalid"));
            }
        }
        for (name, form) in &operation.optional {
            if fields.0.get(name).is_some_and(|value| !form.accepts(value)) {
                return Err(self.definition.failure("invalid"));
            }
        }
        for (name, form) in &operation.required {
            if let FieldForm::Reference(table, members, failure) = form
                && !refers(table, members, fields.text(name).unwrap_or_default())
            {
                return Err(self.definition.failure(failure));
            }
        }
        if let Some(list) = &operation.list {
            return Ok(self.answer(&list.table, list.find(fields)));
        }
        let mut bookings = self.bookings.lock().unwrap_or_else(PoisonError::into_inner);
        let computed = match operation.id.as_str() {
            "planRoute" => routes::plan(fields).map(|routes| self.answer("routes", routes)),
            "listRooms" => Ok(self.answer("rooms", bookings::rooms(&bookings, fields))),
            "findFreeRooms" => bookings::free_rooms(&bookings, fields).map(|rooms| self.answer("rooms", rooms)),
            "createBooking" => bookings::book_room(&mut bookings, fields),
            "getBooking" => bookings::booking(&bookings, fields),
            "bookFlight" => bookings::book_flight(&mut bookings, fields),
            _ => Err("unknown"),
        };
        computed.map_err(|failure| self.definition.failure(failure))
    }

    /// Returns an answer with one member, after the code of success if the API has one.
    fn answer(&self, member: &str, value: Value) -> Value {
        let mut answer = Map::new();
        if let Some(code) = &self.definition.success {
            answer.insert(self.definition.code_member.clone(), code.as_str().into());
        }
        answer.insert(member.to_owned(), value);
        answer.into()
    }

    fn failure_body(&self, code: &str) -> Value {
        json!({ self.definition.code_member.as_str(): code })
    }

    /// Returns the status and body of the answer to a request.
    fn respond(&self, request: &Request) -> Result<(u16, Value), ApiFailure> {
        let (header, value) = &self.definition.credential;
        if request.header(header) != Some(value.as_str()) {
            return Err(self.definition.failure("unauthorized"));
        }
        for operation in &self.definition.operations {
            let Some(mut fields) = operation.path_fields(request.method.as_str(), &request.path) else { continue };
            // Of a repeated parameter, the first counts.
            fields.extend(request.query.iter().rev().map(|(name, value)| (name.clone(), value.as_str().into())));
            fields.extend(serde_json::from_slice::<Map<String, Value>>(&request.body).unwrap_or_default());
            return self.run(operation, &Fields(fields)).map(|answer| (operation.status, answer));
        }
        Err(self.definition.failure("unknown"))
    }
}

impl Handler for SampleApi {
    async fn handle(&self, request: &Request) -> Reply {
        let (status, body) =
            self.respond(request).unwrap_or_else(|ApiFailure(status, code)| (status, self.failure_body(&code)));
        Reply::json(StatusCode::from_u16(status).unwrap_or_default(), &body)
    }
}

impl RecordList {
    fn find(&self, fields: &Fields) -> Value {
        let mut found = Vec::new();
        for record in records(&self.table) {
            let contains = self.contains.iter().all(|(field, member)| {
                let part = fields.text(field).unwrap_or_default().trim().to_lowercase();
                record[member].as_str().is_some_and(|text| text.to_lowercase().contains(&part))
            });
            if contains && self.equal.iter().all(|name| is_equal(&record[name], fields.text(name).unwrap_or_default()))
            {
                let mut record = record.as_object().cloned().unwrap_or_default();
                record.retain(|member, _| !self.equal.contains(member));
                found.push(Value::Object(record));
            }
        }
        found.into()
    }
}

/// Whether a record of a table has a value in one of the members.
fn refers(table: &str, members: &[String], value: &str) -> bool {
    records(table).iter().any(|record| members.iter().any(|member| is_equal(&record[member], value)))
}

fn is_equal(stored: &Value, given: &str) -> bool {
    stored.as_str().is_some_and(|stored| stored.eq_ignore_ascii_case(given.trim()))
}

#[cfg(test)]
mod tests;
