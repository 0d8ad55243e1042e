//! Builds the request body from `in: body` and `in: formData`.

use std::collections::BTreeMap;

use super::parameter::{Collection, collection, name, schema};
use crate::request::body::BodyProperty;
use crate::request::content::{SendableMediaType, content};
use crate::request::parameter::ParameterLists;
use crate::{BodyFormat, Content, Encoding, LoadNotes, LocatedValue, Location, OperationBody};

const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";
const MULTIPART: &str = "multipart/form-data";
/// Media type of a file without a declared type.
const BYTES: &str = "application/octet-stream";

/// Returns the body that `lists` describe, sent as one of `consumes`.
pub(super) fn body<'d>(
    lists: &ParameterLists<'d>,
    consumes: &[&str],
    notes: &mut LoadNotes,
) -> Result<Option<OperationBody<'d>>, String> {
    let ParameterLists { bodies, fields, .. } = lists;
    if !bodies.is_empty() && !fields.is_empty() {
        return match (bodies.iter().any(is_required), fields.iter().any(is_required)) {
            (true, false) => {
                notes.remark("form fields are combined with a required body; they are left out");
                of_bodies(bodies, consumes, notes)
            }
            (false, true) => {
                notes.remark("a body is combined with required form fields; it is left out");
                Ok(Some(of_fields(fields, consumes, notes)))
            }
            _ => Err("it has form fields and a body; a request can have one of them".to_owned()),
        };
    }
    if fields.is_empty() { of_bodies(bodies, consumes, notes) } else { Ok(Some(of_fields(fields, consumes, notes))) }
}

/// Returns the body of one or more body parameters. Several are treated as members of one object: each has a name,
/// and a request has only one body.
fn of_bodies<'d>(
    bodies: &[LocatedValue<'d>],
    consumes: &[&str],
    notes: &mut LoadNotes,
) -> Result<Option<OperationBody<'d>>, String> {
    let best = consumes.iter().map(|media_type| SendableMediaType::new(media_type)).min_by_key(SendableMediaType::rank);
    let SendableMediaType { media_type, format } = best.unwrap_or_else(|| SendableMediaType::new(JSON));
    let body = OperationBody {
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
                    schema.follow().map_err(|error| format!("schema of the request body {}: {error}", schema.at))?;
                }
                None => notes.remark_at(&only.at, "the request body has no schema; any value is accepted"),
            }
            Ok(Some(OperationBody { schema, description: only.text("description"), ..body }))
        }
        _ if !format.has_members() => Err(format!("it has {} bodies; a request can have one", bodies.len())),
        _ => {
            notes.remark("it has several bodies, which are treated as members of one");
            Ok(Some(OperationBody { fields: bodies.iter().filter_map(field).collect(), ..body }))
        }
    }
}

fn of_fields<'d>(fields: &[LocatedValue<'d>], consumes: &[&str], notes: &mut LoadNotes) -> OperationBody<'d> {
    let has_file = fields.iter().any(|field| content(schema(field).as_ref(), None) == Content::File);
    let media_type = form_type(has_file, consumes, notes);
    let format = SendableMediaType::new(media_type).format;
    let encoding = fields.iter().filter_map(|field| {
        let Collection { style, explode, nested } = collection(field, Location::Query, notes);
        let is_array = field.text("type") == Some("array");
        let content = content(schema(field).as_ref(), None);
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
    OperationBody {
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
fn form_type(has_file: bool, consumes: &[&str], notes: &mut LoadNotes) -> &'static str {
    let formats: Vec<BodyFormat> =
        consumes.iter().map(|media_type| SendableMediaType::new(media_type).format).collect();
    let media_type = match (has_file, formats.contains(&BodyFormat::Form), formats.contains(&BodyFormat::Multipart)) {
        (true, _, _) | (false, false, true) => MULTIPART,
        (false, _, _) => FORM,
    };
    if !consumes.is_empty() && !formats.contains(&SendableMediaType::new(media_type).format) {
        let listed = consumes.join(", ");
        notes.remark(format!("form fields cannot be sent as {listed}; {media_type} is used"));
    }
    media_type
}

fn field<'d>(field: &LocatedValue<'d>) -> Option<BodyProperty<'d>> {
    Some(BodyProperty {
        name: name(field)?,
        schemas: schema(field).into_iter().collect(),
        required: is_required(field),
    })
}

fn is_required(parameter: &LocatedValue<'_>) -> bool {
    parameter.flag("required") == Some(true)
}
