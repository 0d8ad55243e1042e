//! Serialisation of values as XML (OpenAPI 3.0.4, XML Object).
//!
//! An object is an element; its members are child elements or attributes, in the order of the value. An array is one
//! element per item, named after the items' own XML Object, or else after the array. If the array is `wrapped`, its
//! items are inside an element with the array's name. `null` is omitted.

use std::io::{Error, ErrorKind};

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesEnd, BytesStart, BytesText, Event};
use serde_json::{Map, Value};

use super::style;
use crate::refusal::invalid;
use callwright_openapi::{XmlNode, XmlShape, is_xml_name};
use callwright_types::Refusal;

/// Returns the XML document of a value.
///
/// # Errors
/// Fails if a name is not a valid element name, or a text contains characters that are not allowed in XML 1.0.
pub(super) fn encode(shape: &XmlShape, value: &Value) -> Result<String, Refusal> {
    let mut document = XmlDocument { shape, writer: Writer::new(Vec::new()) };
    let root = shape.nodes.first();
    let written = document
        .write(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))
        .and_then(|()| document.element(root, &shape.root, value));
    written.map_err(|error| invalid(format!("the body cannot be written as XML: {error}")))?;
    String::from_utf8(document.writer.into_inner()).map_err(|_| invalid("the body cannot be written as XML"))
}

struct XmlDocument<'a> {
    shape: &'a XmlShape,
    writer: Writer<Vec<u8>>,
}

impl XmlDocument<'_> {
    /// Writes one element with this name for any value.
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

    /// Writes a member of an object, or an item of an array. An item has the name of the array unless its own node
    /// has a name.
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

    /// Returns the attributes of the element, and the namespace declarations that it and they require, each once.
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
                if !attributes.iter().any(|(attribute, _)| *attribute == name) {
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

/// Whether the value is written as an attribute; arrays and objects cannot be.
fn is_attribute(node: Option<&XmlNode>, value: &Value) -> bool {
    node.is_some_and(|node| node.attribute) && !matches!(value, Value::Null | Value::Array(_) | Value::Object(_))
}

fn qualified(node: Option<&XmlNode>, name: &str) -> Result<String, Error> {
    if !is_xml_name(name) {
        return Err(Error::new(ErrorKind::InvalidInput, format!("`{name}` is not a valid element name")));
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
            Err(Error::new(ErrorKind::InvalidInput, format!("`{prefix}` is not a valid namespace prefix")))
        }
        prefix => Ok(prefix),
    }
}

/// Returns the text unless it contains a character that XML 1.0 forbids even in escaped form (section 2.2).
fn checked(text: &str) -> Result<&str, Error> {
    match text.chars().find(is_forbidden) {
        Some(letter) => {
            Err(Error::new(ErrorKind::InvalidInput, format!("the character U+{:04X} is invalid", u32::from(letter))))
        }
        None => Ok(text),
    }
}

fn is_forbidden(letter: &char) -> bool {
    (*letter < ' ' && !matches!(letter, '\t' | '\n' | '\r')) || matches!(letter, '\u{fffe}' | '\u{ffff}')
}

#[cfg(test)]
mod tests;
