//! The tools offered in a turn, ready to judge calls by.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value};

use super::examination::{Examination, examine};
use super::names::{self, Names};
use super::schema::{CompiledSchema, Description, Parameter, SharedSchema, Validators, describe, find_keyword};
use callwright_common::json::Pointer;
use callwright_types::memory::ClientTool;
use callwright_types::rules::UnknownParameters;
use callwright_types::{Owner, Tool};

/// The tools offered in a turn, compiled.
#[derive(Debug, Clone, Default)]
pub struct Toolbook {
    tools: Vec<Arc<CompiledTool>>,
    by_name: HashMap<String, usize>,
    folded: OnceLock<FoldedNames>,
    names: OnceLock<Names>,
    owners: OnceLock<HashMap<String, Vec<usize>>>,
}

/// Tools that are listed for a parameter's name: those that a message names, and the called tool itself.
const MAX_OWNERS: usize = 8;

/// Tools by a folded name.
type FoldedNames = HashMap<String, SameName>;

/// The tools that have a folded name.
#[derive(Debug, Clone, Default)]
struct SameName {
    /// As their full name.
    full: Vec<usize>,
    /// As their name without its namespace.
    bare: Vec<usize>,
    /// As their name without the outer one of several namespaces.
    partly: Vec<usize>,
}

impl Toolbook {
    /// Compiles `tools`, each schema when it is first needed: of hundreds of tools few are called. Of several tools with one name the first
    /// counts, because that is the one that would be called.
    pub fn compile(tools: Vec<Arc<Tool>>, validators: &Validators) -> Self {
        let mut book = Self::default();
        for tool in tools {
            if !book.by_name.contains_key(&tool.name) {
                book.by_name.insert(tool.name.clone(), book.tools.len());
                let (schema, client, validators) = (OnceLock::new(), OnceLock::new(), Some(validators.clone()));
                book.tools.push(Arc::new(CompiledTool { tool, schema, validators, client }));
            }
        }
        book
    }

    /// A book of one tool.
    pub fn of(tool: Arc<CompiledTool>) -> Self {
        let by_name = HashMap::from([(tool.name().to_owned(), 0)]);
        Self { tools: vec![tool], by_name, ..Self::default() }
    }

    /// The tool of exactly this name.
    pub fn get(&self, name: &str) -> Option<&Arc<CompiledTool>> {
        self.tools.get(*self.by_name.get(name)?)
    }

    /// The tool that a name means: the tool of exactly this name, else the only one that [`Toolbook::literal`] gives.
    pub fn find(&self, name: &str) -> Option<&Arc<CompiledTool>> {
        self.get(name).or_else(|| match self.literal(name).as_slice() {
            [only] => Some(*only),
            _ => None,
        })
    }

    /// Every tool, in the order offered.
    pub fn tools(&self) -> &[Arc<CompiledTool>] {
        &self.tools
    }

    /// Is no tool offered?
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// The tools whose name is the same but for case and separators; where there is none, but for the namespace too, which
    /// either name may lack.
    pub fn literal(&self, name: &str) -> Vec<&Arc<CompiledTool>> {
        let mut found = self.same_name(name);
        if found.is_empty()
            && let Some(bare) = names::without_scope(name)
        {
            found = self.same_name(bare);
        }
        found
    }

    /// The tools that the name of a native call means: those of the same literal name; where there is none, those of the name
    /// without debris of a chat template.
    pub fn meant(&self, name: &str) -> Vec<&Arc<CompiledTool>> {
        let found = self.literal(name);
        match names::without_debris(name).filter(|_| found.is_empty()) {
            Some(clean) => self.get(clean).map_or_else(|| self.literal(clean), |tool| vec![tool]),
            None => found,
        }
    }

    fn same_name(&self, name: &str) -> Vec<&Arc<CompiledTool>> {
        let folded = self.folded.get_or_init(|| self.fold_names());
        let same = |name: &str| folded.get(&names::fold(name));
        let of_name = same(name);
        let of_bare_name = || names::without_namespace(name).and_then(same).map(|same| &same.full);
        // `server.tool` is `mcp__server__tool` rather than another server's `tool`.
        let found = of_name.map(|same| &same.full).filter(|found| !found.is_empty());
        let found = found.or_else(|| of_name.map(|same| &same.partly).filter(|found| !found.is_empty()));
        let found = found.or_else(|| of_bare_name().filter(|found| !found.is_empty()));
        let found = found.or_else(|| of_name.map(|same| &same.bare));
        found.into_iter().flatten().filter_map(|index| self.tools.get(*index)).collect()
    }

    /// The `limit` tools whose names are most similar to `name`, best first.
    pub(crate) fn nearest(&self, name: &str, limit: usize) -> Vec<(&str, f64)> {
        let names = self.names.get_or_init(|| Names::read(self.tools.iter().map(|tool| tool.name())));
        let ranked = names.nearest(name, limit, 0.0, |_| true);
        ranked.into_iter().filter_map(|(index, alike)| Some((self.tools.get(index)?.name(), alike))).collect()
    }

    /// The tools that have a parameter of exactly this name, in the order offered; of a name that many have the first.
    pub(crate) fn owners(&self, parameter: &str) -> impl Iterator<Item = &CompiledTool> {
        let owners = self.owners.get_or_init(|| {
            let mut owners: HashMap<String, Vec<usize>> = HashMap::new();
            for (index, tool) in self.tools.iter().enumerate() {
                for name in tool.compiled().shape().root().into_iter().flat_map(|root| root.members.keys()) {
                    let of_name = owners.entry(name.clone()).or_default();
                    if of_name.len() < MAX_OWNERS {
                        of_name.push(index);
                    }
                }
            }
            owners
        });
        let indices = owners.get(parameter).into_iter().flatten();
        indices.filter_map(|index| self.tools.get(*index)).map(AsRef::as_ref)
    }

    fn fold_names(&self) -> FoldedNames {
        let mut folded = FoldedNames::default();
        for (index, tool) in self.tools.iter().enumerate() {
            folded.entry(names::fold(tool.name())).or_default().full.push(index);
            if let Some(name) = names::without_namespace(tool.name()) {
                folded.entry(names::fold(name)).or_default().bare.push(index);
            }
            let mut suffixes: Vec<String> = names::partly_qualified(tool.name()).map(names::fold).collect();
            suffixes.dedup();
            for suffix in suffixes {
                folded.entry(suffix).or_default().partly.push(index);
            }
        }
        // A name without letters and digits is like no other.
        folded.remove("");
        folded
    }
}

/// A tool with its schema, which is compiled when it is first needed.
#[derive(Debug)]
pub struct CompiledTool {
    /// The tool as it was offered.
    pub tool: Arc<Tool>,
    schema: OnceLock<SharedSchema>,
    /// `None` where the schema is there from the start.
    validators: Option<Validators>,
    /// How memory knows it again, once somebody asks.
    client: OnceLock<Option<ClientTool>>,
}

impl CompiledTool {
    /// A tool that is not offered, and that a policy lets be called all the same: the client's to refuse.
    pub(super) fn unknown(name: &str) -> Self {
        let tool = Tool {
            name: name.to_owned(),
            description: String::new(),
            parameters: Arc::new(Value::Null),
            free_text: false,
            reads: None,
            owner: Owner::Client,
        };
        let schema = OnceLock::from(SharedSchema::default());
        Self { tool: Arc::new(tool), schema, validators: None, client: OnceLock::new() }
    }

    /// The tool's name.
    pub fn name(&self) -> &str {
        &self.tool.name
    }

    /// The tool as memory knows it, where it is a client's own and its name is an identifier.
    pub fn client(&self) -> Option<&ClientTool> {
        self.client.get_or_init(|| ClientTool::of(&self.tool)).as_ref()
    }

    /// The schema of the argument object, normalised: types by their JSON Schema names, no keyword out of form.
    pub fn schema(&self) -> &Value {
        self.compiled().schema()
    }

    /// The tool's parameters, in the order of the schema; over all its branches, where it has several.
    pub fn parameters(&self) -> impl Iterator<Item = Parameter<'_>> {
        self.compiled().parameters()
    }

    /// The parameter of exactly this name.
    pub fn parameter(&self, name: &str) -> Option<Parameter<'_>> {
        self.compiled().parameter(name)
    }

    /// What of the schema could not be used, and why; such parts judge nothing.
    pub fn problems(&self) -> &[String] {
        self.compiled().problems()
    }

    /// Do the arguments fit the schema?
    pub fn accepts(&self, arguments: &Map<String, Value>) -> bool {
        self.examine(&Value::Object(arguments.clone()), UnknownParameters::Refuse).is_clean()
    }

    /// Does the schema judge values? Where it does not, only names and syntax are judged (E1, E2, E3).
    pub fn judges_values(&self) -> bool {
        self.compiled().judges()
    }

    /// Is this the first time that somebody asks about this schema, whatever tools have it? To tell of its problems once.
    pub fn is_new(&self) -> bool {
        self.compiled().is_new()
    }

    /// Everything that is wrong with an argument object.
    pub(crate) fn examine(&self, arguments: &Value, rule: UnknownParameters) -> Examination<'_> {
        examine(self.compiled(), arguments, rule)
    }

    /// The default that the schema gives for a place of the arguments.
    pub(crate) fn default_of(&self, path: &Pointer) -> Option<&Value> {
        self.keyword_at(path, "default")
    }

    /// The value that a keyword has for a place of the arguments.
    pub(crate) fn keyword_at(&self, path: &Pointer, keyword: &str) -> Option<&Value> {
        find_keyword(self.schema(), self.schema_of(path)?, keyword)
    }

    /// Whether the tool has a parameter of this name, but for case and separators.
    pub(crate) fn has_parameter_like(&self, name: &str) -> bool {
        let root = self.compiled().shape().root();
        root.is_some_and(|root| root.members.contains_key(name) || root.literal(name).next().is_some())
    }

    /// Does the schema name this place of the arguments?
    pub(crate) fn has_argument(&self, path: &Pointer) -> bool {
        self.compiled().shape().member(path).is_some()
    }

    /// May every call do without any argument?
    pub(crate) fn needs_nothing(&self) -> bool {
        self.required().is_empty()
    }

    /// The parameters that every call needs.
    pub(crate) fn required(&self) -> &[String] {
        self.compiled().shape().root().map_or(&[], |root| root.required.as_slice())
    }

    /// What the schema asks for at a place of the arguments, in words; `None` where it does not name that place.
    pub(crate) fn describe_argument(&self, path: &Pointer) -> Option<Description> {
        Some(describe(self.schema(), self.schema_of(path)?))
    }

    /// The schema of a place of the arguments; the first of several.
    pub(crate) fn schema_of(&self, path: &Pointer) -> Option<&Value> {
        self.schema().pointer(self.compiled().shape().member(path)?.schema.as_ref()?)
    }

    /// Whether the schema was needed before.
    pub fn is_compiled(&self) -> bool {
        self.schema.get().is_some()
    }

    pub(crate) fn compiled(&self) -> &CompiledSchema {
        let compile = |validators: &Validators| validators.get(&self.tool.parameters);
        self.schema.get_or_init(|| self.validators.as_ref().map(compile).unwrap_or_default())
    }
}
