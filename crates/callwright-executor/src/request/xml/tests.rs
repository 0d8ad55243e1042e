//! XML Objects of the specification's examples, and hostile values.

use std::collections::BTreeMap;

use quick_xml::Reader;
use serde_json::json;

use super::*;

fn named(name: &str) -> XmlNode {
    XmlNode { name: Some(name.into()), ..XmlNode::default() }
}

/// Builds a shape whose root element has these members; further nodes follow, starting at the next index.
fn shape(root: &str, members: Vec<(&str, XmlNode)>, more: Vec<XmlNode>) -> XmlShape {
    let names: BTreeMap<String, usize> =
        members.iter().enumerate().map(|(index, (name, _))| ((*name).to_owned(), index + 1)).collect();
    let first = XmlNode { members: names, ..XmlNode::default() };
    let nodes = std::iter::once(first).chain(members.into_iter().map(|(_, node)| node)).chain(more).collect();
    XmlShape { root: root.into(), nodes }
}

fn written(shape: &XmlShape, value: Value) -> String {
    let text = encode(shape, &value).unwrap();
    let body = text.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>").unwrap();
    body.to_owned()
}

fn array(name: Option<&str>, wrapped: bool, items: usize) -> XmlNode {
    XmlNode { name: name.map(str::to_owned), wrapped, items: Some(items), ..XmlNode::default() }
}

#[test]
fn members_are_elements_and_attributes_with_their_namespaces() {
    let id = XmlNode { attribute: true, ..XmlNode::default() };
    let name = XmlNode {
        namespace: Some("http://example.com/schema/sample".into()),
        prefix: Some("sample".into()),
        ..XmlNode::default()
    };
    let person = shape("Person", vec![("id", id), ("name", name)], vec![]);
    assert_eq!(
        written(&person, json!({"name": "Anna", "age": 7, "id": 3, "on": true, "none": null})),
        "<Person id=\"3\"><sample:name xmlns:sample=\"http://example.com/schema/sample\">Anna</sample:name>\
         <age>7</age><on>true</on></Person>"
    );
    let key = XmlNode {
        attribute: true,
        namespace: Some("urn:k".into()),
        prefix: Some("k".into()),
        name: Some("key".into()),
        ..XmlNode::default()
    };
    let mut keyed = shape("a", vec![("x", key.clone()), ("y", XmlNode { name: Some("other".into()), ..key })], vec![]);
    keyed.nodes[0].namespace = Some("urn:a".into());
    assert_eq!(
        written(&keyed, json!({"x": "1", "y": "2"})),
        "<a xmlns=\"urn:a\" xmlns:k=\"urn:k\" k:key=\"1\" k:other=\"2\"></a>"
    );
}

/// OpenAPI 3.0.4, XML Object Examples, XML Arrays.
#[test]
fn arrays_agree_with_the_specification_s_examples() {
    let cases = [
        (array(None, false, 2), XmlNode::default(), "<animals>a</animals><animals>b</animals>"),
        (array(None, false, 2), named("animal"), "<animal>a</animal><animal>b</animal>"),
        (array(Some("aliens"), false, 2), named("animal"), "<animal>a</animal><animal>b</animal>"),
        (array(None, true, 2), XmlNode::default(), "<animals><animals>a</animals><animals>b</animals></animals>"),
        (array(None, true, 2), named("animal"), "<animals><animal>a</animal><animal>b</animal></animals>"),
        (array(Some("aliens"), true, 2), named("animal"), "<aliens><animal>a</animal><animal>b</animal></aliens>"),
        (array(Some("aliens"), true, 2), XmlNode::default(), "<aliens><aliens>a</aliens><aliens>b</aliens></aliens>"),
    ];
    for (animals, item, expected) in cases {
        let zoo = shape("Zoo", vec![("animals", animals.clone())], vec![item.clone()]);
        let expected = format!("<Zoo>{expected}</Zoo>");
        assert_eq!(written(&zoo, json!({"animals": ["a", "b"]})), expected, "{animals:?} {item:?}");
    }
}

#[test]
fn an_array_as_the_whole_body_is_one_element() {
    let mut pets = shape("Pets", vec![], vec![named("Pet")]);
    pets.nodes[0].items = Some(1);
    assert_eq!(written(&pets, json!([{"id": 1}, "b"])), "<Pets><Pet><id>1</id></Pet><Pet>b</Pet></Pets>");
    assert_eq!(written(&pets, json!([])), "<Pets></Pets>");
}

#[test]
fn a_value_outside_the_shape_is_written_by_its_own_names() {
    let plain = shape("root", vec![], vec![]);
    assert_eq!(written(&plain, json!({"a": {"b": [1, {"c": null}]}, "d": []})), "<root><a><b>1</b><b></b></a></root>");
    assert_eq!(written(&plain, json!("text")), "<root>text</root>");
    assert_eq!(written(&plain, json!([[1, 2], [3]])), "<root><root>1</root><root>2</root><root>3</root></root>");
}

#[test]
fn texts_come_back_as_they_were_and_never_as_markup() {
    let hostile = "</a><b x=\"1\">&amp;]]>\r\n\t'ü\u{1F600}<!DOCTYPE x>";
    let id = XmlNode { attribute: true, ..XmlNode::default() };
    let xml = encode(&shape("a", vec![("id", id)], vec![]), &json!({"id": hostile, "t": hostile})).unwrap();
    let mut reader = Reader::from_str(&xml);
    let (mut text, mut attribute, mut elements) = (String::new(), String::new(), Vec::new());
    loop {
        match reader.read_event().unwrap() {
            Event::Start(start) => {
                elements.push(start.name().as_ref().to_owned());
                for found in start.attributes() {
                    let found = found.unwrap();
                    attribute = quick_xml::escape::unescape(&found.value).unwrap().into_owned();
                }
            }
            Event::Text(found) => text.push_str(&found),
            Event::GeneralRef(found) => {
                let entity = format!("&{};", &*found);
                text.push_str(&quick_xml::escape::unescape(&entity).unwrap());
            }
            Event::Eof => break,
            _ => {}
        }
    }
    assert_eq!(elements, ["a", "t"]);
    assert_eq!((text.as_str(), attribute.as_str()), (hostile, hostile));
}

#[test]
fn values_that_xml_cannot_express_are_refused_by_name() {
    let plain = shape("a", vec![], vec![]);
    for (value, named) in [
        (json!({"a b": 1}), "`a b`"),
        (json!({"x><evil/>": 1}), "`x><evil/>`"),
        (json!({"": 1}), "``"),
        (json!({"x": "a\u{0}b"}), "U+0000"),
        (json!({"x": "\u{b}"}), "U+000B"),
        (json!({"x": "\u{ffff}"}), "U+FFFF"),
    ] {
        let refusal = encode(&plain, &value).unwrap_err();
        assert!(refusal.message.contains(named), "{refusal}");
    }
    let prefixed = shape("a", vec![("b", XmlNode { prefix: Some("x\" y=\"".into()), ..XmlNode::default() })], vec![]);
    assert!(encode(&prefixed, &json!({"b": 1})).is_err());
}
