//! An API of bookings that fails in every way: its document, and a configuration that offers it.

use super::config::config;
use super::server::Server;

/// Documentation of a business rule of the API.
pub(crate) const FROZEN: &str = "the account has unpaid invoices: let the guest pay them before you book again";

/// `GET /quote` with parameters that can be wrong one by one, `GET /book` with a business rule, and `GET /graph` with
/// GraphQL responses.
pub(crate) const DOCUMENT: &str = r#"
openapi: 3.0.3
info: {title: Bookings, version: "1"}
servers: [{url: "http://127.0.0.1:1"}]
paths:
  /quote:
    get:
      operationId: getQuote
      summary: Prices a stay.
      parameters:
        - {name: email, in: query, required: true, schema: {type: string}, description: Address that the quote is sent to.}
        - {name: nights, in: query, required: true, schema: {type: integer, maximum: 400}, description: Length of the stay.}
        - {name: arrival, in: query, required: true, schema: {type: string, format: date}, description: First day of the stay.}
        - {name: note, in: query, schema: {type: string}, description: Anything else.}
      responses:
        "200": {description: The price.}
        "422": {description: A parameter does not suit the house.}
  /book:
    get:
      operationId: book
      summary: Books what was quoted.
      description: >-
        Books a quote. Code E_FROZEN means that the account has unpaid invoices: let the guest pay them before you book again.
        Code E_GONE means that the quote has expired.
      parameters:
        - {name: quote, in: query, required: true, schema: {type: string}, description: Number of the quote.}
      responses:
        "200": {description: Booked.}
  /graph:
    get:
      operationId: graph
      summary: Answers a query.
      description: Errors have the code CLOSED where the house takes no guests in that season.
      parameters:
        - {name: query, in: query, required: true, schema: {type: string}, description: A GraphQL query.}
      responses:
        "200": {description: Data or errors.}
  /rooms:
    get:
      operationId: listRooms
      summary: Lists rooms; there may be none.
      responses:
        "200":
          description: The rooms.
          content: {application/json: {schema: {type: object, properties: {rooms: {type: array}}}}}
  /stay:
    get:
      operationId: getStay
      summary: Shows a stay.
      responses:
        "200":
          description: The stay.
          content: {application/json: {schema: {$ref: '#/components/schemas/Stay'}}}
    post:
      operationId: beginStay
      summary: Begins a stay.
      responses:
        "200":
          description: The stay.
          content: {application/json: {schema: {$ref: '#/components/schemas/Stay'}}}
components:
  schemas:
    Stay: {type: object, required: [stay, room], properties: {stay: {type: string}, room: {type: integer}}}
  securitySchemes:
    key: {type: apiKey, in: header, name: X-Api-Key}
security: [{key: []}]
"#;

/// The API key in the configuration of [`config_of`].
pub(crate) const KEY: &str = "bookings-secret-1";

/// Returns a configuration in which the alias `helper` offers the bookings that `api` serves. It requires [`FILES`].
pub(crate) fn config_of(upstream: &Server, api: &Server) -> String {
    without_credentials(upstream, api) + &format!("[toolsets.bookings.credentials]\nkey = \"{KEY}\"\n")
}

/// Returns the same configuration without the API key.
pub(crate) fn without_credentials(upstream: &Server, api: &Server) -> String {
    config(&upstream.url("/v1"))
        + "[executor]\nallowed_addresses = [\"127.0.0.1\"]\n"
        + "[aliases.helper]\nmodel = \"gpt-test\"\ntoolsets = [\"bookings\"]\n"
        + &format!("[toolsets.bookings]\ndocument = \"bookings.yaml\"\nbase_url = \"{}\"\n", api.url(""))
}

/// Files that [`config_of`] requires.
pub(crate) const FILES: [(&str, &str); 1] = [("bookings.yaml", DOCUMENT)];
