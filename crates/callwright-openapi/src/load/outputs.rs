//! Extracts the documented fields of successful responses, and the links between operations.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::sync::Arc;

use crate::request::content::SendableMediaType;
use crate::{BodyFormat, DocumentOperation, LocatedValue, Operation, Version};
use callwright_types::output::fields_of;
use callwright_types::{OutputField, OutputLink};

/// Maximum number of links of one operation.
const MAX_LINKS: usize = 64;

/// Reads the fields of responses. Operations that share a response schema share its fields.
#[derive(Debug, Default)]
pub(crate) struct OutputReader {
    by_schema: HashMap<OutputKey, Arc<[OutputField]>>,
    texts: HashSet<Arc<str>>,
    lists: HashSet<Arc<[String]>>,
}

/// Identifies a schema of a document: its address, or a reference with the address of the file that contains it. They
/// do not move while the document is read.
type OutputKey = (usize, Option<String>);

impl OutputReader {
    /// Returns the fields of the first successful response with a JSON body.
    pub(crate) fn fields<'d>(&mut self, operation: &LocatedValue<'d>) -> Arc<[OutputField]> {
        let Some(schema) = responses(operation).find_map(|response| schema_of(&response)) else {
            return Arc::default();
        };
        let key = key(&schema);
        if let Some(fields) = self.by_schema.get(&key) {
            return Arc::clone(fields);
        }
        let mut fields = fields_of(schema);
        for field in &mut fields {
            self.share(field);
        }
        let fields: Arc<[OutputField]> = fields.into();
        self.by_schema.insert(key, Arc::clone(&fields));
        fields
    }

    /// Replaces texts that other fields have too by theirs: schemas of one document refer to the same others.
    fn share(&mut self, field: &mut OutputField) {
        field.pointer.shrink_to_fit();
        for text in [&mut field.owner, &mut field.format, &mut field.schema].into_iter().flatten() {
            *text = shared(&mut self.texts, Arc::clone(text));
        }
        field.description = shared(&mut self.texts, Arc::clone(&field.description));
        field.values = shared(&mut self.lists, Arc::clone(&field.values));
        field.examples = shared(&mut self.lists, Arc::clone(&field.examples));
    }
}

/// Returns the one of `values` that is equal to `value`, which is added if there is none.
pub(crate) fn shared<T: ?Sized + Eq + Hash>(values: &mut HashSet<Arc<T>>, value: Arc<T>) -> Arc<T> {
    if let Some(equal) = values.get(&*value) {
        return Arc::clone(equal);
    }
    values.insert(Arc::clone(&value));
    value
}

fn key(schema: &LocatedValue<'_>) -> OutputKey {
    let is_alone = schema.value.as_object().is_some_and(|members| members.len() == 1);
    match schema.reference().filter(|_| is_alone) {
        Some(reference) => (std::ptr::from_ref(schema.at.file()).addr(), Some(reference.to_owned())),
        None => (std::ptr::from_ref(schema.value).addr(), None),
    }
}

/// Returns the successful responses, those with a single status first.
fn responses<'d>(operation: &LocatedValue<'d>) -> impl Iterator<Item = LocatedValue<'d>> {
    let mut found: Vec<(&str, LocatedValue<'d>)> = Vec::new();
    for (status, response) in operation.members_of("responses") {
        if !status.starts_with('2') {
            continue;
        }
        found.extend(response.follow().ok().map(|response| (status.as_str(), response)));
    }
    found.sort_by_key(|(status, _)| status.bytes().all(|byte| byte.is_ascii_digit()).then_some(*status).is_none());
    found.into_iter().map(|(_, response)| response)
}

fn schema_of<'d>(response: &LocatedValue<'d>) -> Option<LocatedValue<'d>> {
    if response.document.version == Version::V2_0 {
        return response.member("schema");
    }
    let content = response.member("content")?;
    let mut media =
        content.members().filter(|(media_type, _)| SendableMediaType::new(media_type).format == BodyFormat::Json);
    media.find_map(|(_, media)| media.member("schema"))
}

/// Sets the links of each operation's successful responses (OpenAPI 3.1, section 4.8.20). Omits links that do not use
/// a value of the body, and links to operations that are not tools.
pub(crate) fn attach_links(loaded: &mut [(&DocumentOperation<'_>, Operation)]) {
    let mut links: Vec<Vec<OutputLink>> = Vec::with_capacity(loaded.len());
    let targets = LinkTargets::new(loaded);
    for (source, _) in loaded.iter() {
        let mut of_operation = Vec::new();
        for response in responses(&source.operation) {
            for (_, link) in response.members_of("links") {
                let Ok(link) = link.follow() else { continue };
                of_operation.extend(targets.links_of(&link));
            }
        }
        of_operation.truncate(MAX_LINKS);
        links.push(of_operation);
    }
    for ((_, operation), links) in loaded.iter_mut().zip(links) {
        operation.links = links;
    }
}

/// The operations that links lead to, by `operationId` and by path and method.
struct LinkTargets<'a> {
    by_id: HashMap<&'a str, &'a Operation>,
    by_path: HashMap<(&'a str, String), &'a Operation>,
}

impl<'a> LinkTargets<'a> {
    fn new(loaded: &'a [(&DocumentOperation<'a>, Operation)]) -> Self {
        let mut targets = Self { by_id: HashMap::new(), by_path: HashMap::new() };
        for (source, operation) in loaded {
            if let Some(id) = operation.operation_id.as_deref() {
                targets.by_id.entry(id).or_insert(operation);
            }
            targets.by_path.insert((source.path, source.method.as_str().to_ascii_lowercase()), operation);
        }
        targets
    }

    fn links_of(&self, link: &LocatedValue<'_>) -> Vec<OutputLink> {
        let Some(target) = self.target_of(link) else { return Vec::new() };
        let parameters = link.member("parameters");
        let taken = parameters.iter().flat_map(LocatedValue::members).filter_map(|(name, expression)| {
            let pointer = expression.value.as_str()?.strip_prefix("$response.body#")?;
            Some(OutputLink {
                tool: target.own_name().to_owned(),
                argument: argument_of(target, name)?.to_owned(),
                pointer: pointer.to_owned(),
            })
        });
        taken.collect()
    }

    fn target_of(&self, link: &LocatedValue<'_>) -> Option<&'a Operation> {
        if let Some(id) = link.text("operationId") {
            return self.by_id.get(id).copied();
        }
        let (_, pointer) = link.text("operationRef")?.split_once('#')?;
        let tokens: Vec<String> = callwright_common::json::Pointer::from(pointer).tokens();
        let [.., path, method] = tokens.as_slice() else { return None };
        self.by_path.get(&(path.as_str(), method.to_ascii_lowercase())).copied()
    }
}

/// Returns the argument of a parameter. A link may prefix the name with the location (`path.id`).
fn argument_of<'a>(operation: &'a Operation, parameter: &str) -> Option<&'a str> {
    let by_name = operation.bindings.iter().find(|binding| binding.name == parameter);
    let found = by_name.or_else(|| {
        let (location, name) = parameter.split_once('.')?;
        operation.bindings.iter().find(|binding| binding.name == name && binding.location.as_str() == location)
    });
    found.map(|binding| binding.argument.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_are_stored_once() {
        let mut values = HashSet::new();
        let [first, other, again] = ["gone", "here", "gone"].map(|text| shared(&mut values, Arc::<str>::from(text)));
        assert!(Arc::ptr_eq(&first, &again));
        assert!(!Arc::ptr_eq(&first, &other));
    }
}
