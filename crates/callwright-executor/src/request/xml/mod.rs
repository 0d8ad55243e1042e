//! Values as XML (OpenAPI 3.0.4, XML Object).
//!
//! An object is an element whose members are elements or attributes within it, in the order of the value. An array is one element per item:
//! named after the items' own XML Object, else after the array, and within an element of the array's name where it is `wrapped`. `null`
//! is left out.

use std::io::{Error, ErrorKind};

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesEnd, BytesStart, BytesText, Event};
use serde_json::{Map, Value};

use super::style;
use crate::refusal::{Refusal, refuse};
use callwright_openapi::{XmlNode, XmlShape, is_xml_name};

/// The XML document of a value.
///
/// # Errors
/// Where a name is no name of an element, or a text has characters that XML 1.0 does not have.
pub(super) fn encode(shape: &XmlShape, value: &Value) -> Result<String, Refusal> {
    let mut document = Document { shape, writer: Writer::new(Vec::new()) };
    let root = shape.nodes.first();
    let written = document
        .write(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))
        .and_then(|()| document.element(root, &shape.root, value));
    written.map_err(|error| refuse!("the body cannot be written as XML: {error}"))?;
    String::from_utf8(document.writer.into_inner()).map_err(|_| refuse!("the body cannot be written as XML"))
}

struct Document<'a> {
    shape: &'a XmlShape,
    writer: Writer<Vec<u8>>,
}

impl Document<'_> {
    /// One element of this name, whatever the value is.
    fn element(&mut self, node: Option<&XmlNode>, name: &str, value: &Value) -> Result<(), Error> {
        let nothing = Map::new();
        let members = value.as_object().unwrap_or(&nothing);
        let own_name = name;
        let name = qualified(node, name)?;
        let mut start = BytesStart::new(name.as_str());
        for (key, value) in self.attributes(node, members)? {
            start.push_attribute((key.as_str(), value.as_str()));
        }
        self.write(Event::Start(start))?;
        match value {
            Value::Object(members) => {
                for (key, value) in members {
                    let member = self.shape.member(node, key);
                    if !is_attribute(member, value) {
                        self.member(member, key, value)?;
                    }
                }
            }
            Value::Array(items) => {
                let own = self.shape.items(node);
                for item in items {
                    self.member(own, own_name, item)?;
                }
            }
            value => {
                let text = style::text(value).unwrap_or_default();
                self.write(Event::Text(BytesText::new(checked(&text)?)))?;
            }
        }
        self.write(Event::End(BytesEnd::new(name.as_str())))
    }

    /// What a member of an object becomes, or an item of an array, which is called like the array unless its own node names it.
    fn member(&mut self, node: Option<&XmlNode>, key: &str, value: &Value) -> Result<(), Error> {
        let own = node.and_then(|node| node.name.as_deref());
        match value {
            Value::Null => Ok(()),
            Value::Array(_) if node.is_some_and(|node| node.wrapped) => self.element(node, own.unwrap_or(key), value),
            Value::Array(items) => {
                let node = self.shape.items(node);
                items.iter().try_for_each(|item| self.member(node, key, item))
            }
            value => self.element(node, own.unwrap_or(key), value),
        }
    }

    /// The element's attributes, and the namespaces that it and they need, each once.
    fn attributes(&self, node: Option<&XmlNode>, members: &Map<String, Value>) -> Result<Vec<(String, String)>, Error> {
        let mut attributes: Vec<(String, String)> = namespace(node)?.into_iter().collect();
        for (key, value) in members {
            let member = self.shape.member(node, key);
            if !is_attribute(member, value) {
                continue;
            }
            let name = member.and_then(|member| member.name.as_deref()).unwrap_or(key);
            let declared = namespace(member)?.filter(|(name, _)| name != "xmlns");
            let text = style::text(value).unwrap_or_default();
            let attribute = (qualified(member, name)?, checked(&text)?.to_owned());
            for (name, value) in declared.into_iter().chain([attribute]) {
                if !attributes.iter().any(|(known, _)| *known == name) {
                    attributes.push((name, value));
                }
            }
        }
        Ok(attributes)
    }

    fn write(&mut self, event: Event<'_>) -> Result<(), Error> {
        self.writer.write_event(event)
    }
}

/// Arrays and objects have no form as an attribute.
fn is_attribute(node: Option<&XmlNode>, value: &Value) -> bool {
    node.is_some_and(|node| node.attribute) && !matches!(value, Value::Null | Value::Array(_) | Value::Object(_))
}

fn qualified(node: Option<&XmlNode>, name: &str) -> Result<String, Error> {
    if !is_xml_name(name) {
        return Err(Error::new(ErrorKind::InvalidInput, format!("`{name}` is no name of an element")));
    }
    Ok(match prefix(node)? {
        Some(prefix) => format!("{prefix}:{name}"),
        None => name.to_owned(),
    })
}

fn namespace(node: Option<&XmlNode>) -> Result<Option<(String, String)>, Error> {
    let Some(uri) = node.and_then(|node| node.namespace.as_deref()) else { return Ok(None) };
    let name = prefix(node)?.map_or_else(|| "xmlns".to_owned(), |prefix| format!("xmlns:{prefix}"));
    Ok(Some((name, checked(uri)?.to_owned())))
}

fn prefix(node: Option<&XmlNode>) -> Result<Option<&str>, Error> {
    match node.and_then(|node| node.prefix.as_deref()) {
        Some(prefix) if !is_xml_name(prefix) => {
            Err(Error::new(ErrorKind::InvalidInput, format!("`{prefix}` is no prefix of a namespace")))
        }
        prefix => Ok(prefix),
    }
}

/// A text without the characters that no XML 1.0 document can have (section 2.2), not even escaped.
fn checked(text: &str) -> Result<&str, Error> {
    let is_forbidden = |letter: char| {
        (letter < ' ' && !matches!(letter, '\t' | '\n' | '\r')) || matches!(letter, '\u{fffe}' | '\u{ffff}')
    };
    match text.chars().find(|letter| is_forbidden(*letter)) {
        Some(letter) => {
            Err(Error::new(ErrorKind::InvalidInput, format!("it has no character U+{:04X}", u32::from(letter))))
        }
        None => Ok(text),
    }
}

#[cfg(test)]
mod tests;
