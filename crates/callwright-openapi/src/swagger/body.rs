//! Builds the request body from `in: body` and `in: formData`.

use std::collections::BTreeMap;

use super::super::binding::{BodyFormat, Content, Encoding, Location};
use super::super::body::{Body, BodyProperty};
use super::super::content::content;
use super::super::document::{Document, Located};
use super::super::media_type::Sendable;
use super::super::notes::Notes;
use super::super::parameter_list::Lists;
use super::collection::{Collection, collection};
use super::parameter::{name, schema};

const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";
const MULTIPART: &str = "multipart/form-data";
/// Media type of a file without a declared type.
const BYTES: &str = "application/octet-stream";

/// Returns the body that `lists` describe, sent as one of `consumes`.
pub(super) fn body<'d>(
    document: &'d Document,
    lists: &Lists<'d>,
    consumes: &[&str],
    notes: &mut Notes,
) -> Result<Option<Body<'d>>, String> {
    let Lists { bodies, fields, .. } = lists;
    if !bodies.is_empty() && !fields.is_empty() {
        let needs = |list: &[Located<'_>]| list.iter().any(is_required);
        return match (needs(bodies), needs(fields)) {
            (true, false) => {
                notes.remark("form fields are combined with a required body; they are left out");
                of_bodies(document, bodies, consumes, notes)
            }
            (false, true) => {
                notes.remark("a body is combined with required form fields; it is left out");
                Ok(Some(of_fields(document, fields, consumes, notes)))
            }
            _ => Err("it has form fields and a body; a request can have one of them".to_owned()),
        };
    }
    if fields.is_empty() {
        of_bodies(document, bodies, consumes, notes)
    } else {
        Ok(Some(of_fields(document, fields, consumes, notes)))
    }
}

/// Returns the body of one or more body parameters. Several are treated as members of one object: each has a name,
/// and a request has only one body.
fn of_bodies<'d>(
    document: &'d Document,
    bodies: &[Located<'d>],
    consumes: &[&str],
    notes: &mut Notes,
) -> Result<Option<Body<'d>>, String> {
    let best = consumes.iter().map(|media_type| Sendable::of(media_type)).min_by_key(Sendable::rank);
    let Sendable { media_type, format } = best.unwrap_or_else(|| Sendable::of(JSON));
    let body = Body {
        media_type,
        format,
        required: bodies.iter().any(is_required),
        schema: None,
        fields: Vec::new(),
        description: None,
        encoding: BTreeMap::new(),
        at: bodies.first().cloned(),
    };
    match bodies {
        [] => Ok(None),
        [only] => {
            let schema = schema(only);
            match &schema {
                Some(schema) => {
                    document
                        .follow(schema.clone())
                        .map_err(|error| format!("schema of the request body {}: {error}", schema.at))?;
                }
                None => notes.place(&only.at, "the request body has no schema; any value is accepted"),
            }
            Ok(Some(Body { schema, description: only.text("description"), ..body }))
        }
        _ if !format.has_members() => Err(format!("it has {} bodies; a request can have one", bodies.len())),
        _ => {
            notes.remark("it has several bodies, which are treated as members of one");
            Ok(Some(Body { fields: bodies.iter().filter_map(field).collect(), ..body }))
        }
    }
}

fn of_fields<'d>(document: &'d Document, fields: &[Located<'d>], consumes: &[&str], notes: &mut Notes) -> Body<'d> {
    let content_of = |field: &Located<'d>| content(document, schema(field).as_ref(), None);
    let has_file = fields.iter().any(|field| content_of(field) == Content::File);
    let media_type = form_type(has_file, consumes, notes);
    let format = Sendable::of(media_type).format;
    let encoding = fields.iter().filter_map(|field| {
        let Collection { style, explode, nested } = collection(document, field, Location::Query, notes);
        let is_array = field.text("type") == Some("array");
        let content = content_of(field);
        let encoding = Encoding {
            content_type: (content == Content::File).then(|| BYTES.to_owned()),
            style: is_array.then_some(style),
            explode: is_array.then_some(explode),
            content,
            nested,
            ..Encoding::default()
        };
        (encoding != Encoding::default()).then(|| (name(field).unwrap_or_default().to_owned(), encoding))
    });
    let encoding = encoding.collect();
    Body {
        media_type: media_type.to_owned(),
        format,
        required: fields.iter().any(is_required),
        schema: None,
        fields: fields.iter().filter_map(field).collect(),
        description: None,
        encoding,
        at: None,
    }
}

/// Selects the media type of a form: multipart if there are files, otherwise as declared, by default URL-encoded.
fn form_type(has_file: bool, consumes: &[&str], notes: &mut Notes) -> &'static str {
    let lists = |wanted: BodyFormat| consumes.iter().any(|media_type| Sendable::of(media_type).format == wanted);
    let media_type = match (has_file, lists(BodyFormat::Form), lists(BodyFormat::Multipart)) {
        (true, _, _) | (false, false, true) => MULTIPART,
        (false, _, _) => FORM,
    };
    let wanted = Sendable::of(media_type).format;
    if !consumes.is_empty() && !lists(wanted) {
        let listed = consumes.join(", ");
        notes.remark(format!("form fields cannot be sent as {listed}; {media_type} is used"));
    }
    media_type
}

fn field<'d>(field: &Located<'d>) -> Option<BodyProperty<'d>> {
    Some(BodyProperty { name: name(field)?, schema: schema(field), required: is_required(field) })
}

fn is_required(parameter: &Located<'_>) -> bool {
    parameter.flag("required") == Some(true)
}
