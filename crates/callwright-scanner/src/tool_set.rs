//! Tools of a request, prepared for validating calls.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value};

use super::examination::examine;
use super::names::NameList;
use super::schema::{Description, Parameter, SharedSchema, Validators, describe, find_keyword, named_types};
use super::{CompiledSchema, Examination, mention, names};
use callwright_common::json::Pointer;
use callwright_common::limits::EXAMPLES;
use callwright_common::text::is_digits;
use callwright_types::memory::ClientTool;
use callwright_types::rules::UnknownParameters;
use callwright_types::{Call, Owner, Tool, ToolKind};

/// Tools of a request, with compiled schemas.
#[derive(Debug, Clone, Default)]
pub struct ToolSet {
    tools: Vec<Arc<CompiledTool>>,
    by_name: HashMap<String, usize>,
    /// Names of the tools of the provider's API, whose calls have forms of their own.
    built_in: Vec<String>,
    /// Whether a tool that is called by name is not a function.
    has_other_kinds: bool,
    /// Whether the client has tools of its own in the set.
    has_tools_of_client: bool,
    /// Further tools with the name of a tool, by its index: those of other namespaces.
    namesakes: HashMap<usize, Vec<Arc<CompiledTool>>>,
    /// Whether there may be tools that are not in the set, because the request does not have all of them.
    is_open: bool,
    /// Names of tools whose definitions are elsewhere.
    referenced: HashSet<String>,
    folded: OnceLock<FoldedNames>,
    names: OnceLock<NameList>,
    owners: OnceLock<HashMap<String, Vec<usize>>>,
}

/// Maximum number of further tools with one name.
const MAX_NAMESAKES: usize = 64;

/// Tools by a folded name.
type FoldedNames = HashMap<String, SameName>;

/// The tools that have a folded name.
#[derive(Debug, Clone, Default)]
struct SameName {
    full: Vec<usize>,
    /// As their name without its namespace.
    bare: Vec<usize>,
    /// As their name without the outer one of several namespaces.
    partly: Vec<usize>,
}

impl ToolSet {
    /// Creates the tool set. Each schema is compiled on first use, because few of hundreds of tools are called. Of
    /// several tools with the same name, the first counts, because upstreams call that one.
    pub fn compile(tools: Vec<Arc<Tool>>, validators: &Validators) -> Self {
        let mut tool_set = Self::default();
        for tool in tools {
            tool_set.has_tools_of_client |= !tool.owner.is_proxy();
            if tool.kind == ToolKind::BuiltIn {
                tool_set.built_in.push(tool.name.clone());
                continue;
            }
            let index = tool_set.by_name.get(&tool.name).copied();
            let (schema, client, validators) = (OnceLock::new(), OnceLock::new(), Some(validators.clone()));
            let compiled = Arc::new(CompiledTool { tool, schema, validators, client });
            let Some(index) = index else {
                tool_set.has_other_kinds |= !compiled.tool.is_function();
                tool_set.by_name.insert(compiled.name().to_owned(), tool_set.tools.len());
                tool_set.tools.push(compiled);
                continue;
            };
            let namesakes = tool_set.namesakes.entry(index).or_default();
            let mut known = tool_set.tools.get(index).into_iter().chain(namesakes.iter());
            if namesakes.len() < MAX_NAMESAKES && known.all(|known| known.is_other_namesake(&compiled)) {
                namesakes.push(compiled);
            }
        }
        tool_set.namesakes.retain(|_, namesakes| !namesakes.is_empty());
        tool_set
    }

    /// Adds what a request states about tools besides its definitions: whether there may be any others (`is_open`), names
    /// of others, and names with namespaces by which tools of the set are called, as full name and name. No call is renamed
    /// for the latter.
    #[must_use]
    pub fn beside<'a>(
        mut self,
        is_open: bool,
        referenced: impl IntoIterator<Item = &'a str>,
        qualified: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        self.is_open = is_open;
        self.referenced = referenced.into_iter().map(str::to_owned).collect();
        for (full, name) in qualified {
            if let Some(index) = self.by_name.get(name).copied() {
                self.by_name.entry(full.to_owned()).or_insert(index);
            }
        }
        self
    }

    /// Whether there may be any further tools.
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// Whether there may be a further tool of this name.
    pub fn is_open_for(&self, name: &str) -> bool {
        self.is_open || self.referenced.contains(name)
    }

    /// Whether the description of a tool of the client, such as a search for tools, names this tool.
    pub fn describes(&self, name: &str) -> bool {
        let of_client = self.tools.iter().filter(|tool| !tool.tool.owner.is_proxy());
        of_client.into_iter().any(|tool| mention::names(&tool.tool.description, name))
    }

    /// Whether the client has tools of its own in the set.
    pub fn has_tools_of_client(&self) -> bool {
        self.has_tools_of_client
    }

    /// Returns a set in which the name of a call is that of the tool in its namespace or, if it names none, of the
    /// namesake that its arguments fit best; `None` if that is this set.
    pub fn for_call(&self, call: &Call, namespace: Option<&str>) -> Option<Self> {
        if self.namesakes.is_empty() && namespace.is_none() {
            return None;
        }
        let index = *self.by_name.get(&call.name).or_else(|| self.by_name.get(self.find(&call.name)?.name()))?;
        let first = self.tools.get(index)?;
        let known = std::iter::once(first).chain(self.namesakes.get(&index).into_iter().flatten());
        let mut candidates: Vec<&Arc<CompiledTool>> =
            known.clone().filter(|tool| tool.is_qualified_by(&call.name, namespace)).collect();
        if candidates.is_empty() {
            if namespace.is_some() && self.is_open && !first.tool.owner.is_proxy() {
                // A tool of a namespace that the request does not have is unknown, whatever tools have its name.
                return Some(self.without(index));
            }
            candidates = known.collect();
        }
        let chosen = match candidates.as_slice() {
            [only] => only,
            several => {
                let arguments: Map<String, Value> = serde_json::from_str(&call.arguments).ok()?;
                // Of equal ones, the first.
                several.iter().rev().max_by_key(|tool| tool.fit(&arguments))?
            }
        };
        if Arc::ptr_eq(chosen, first) {
            return None;
        }
        let chosen = Arc::clone(chosen);
        let mut set = self.clone();
        *set.tools.get_mut(index)? = chosen;
        Some(set)
    }

    /// Returns the set without the tools of one name.
    fn without(&self, index: usize) -> Self {
        let others = self.tools.iter().enumerate().filter(|(place, _)| *place != index);
        let tools: Vec<Arc<CompiledTool>> = others.map(|(_, tool)| Arc::clone(tool)).collect();
        let by_name = tools.iter().enumerate().map(|(place, tool)| (tool.name().to_owned(), place)).collect();
        Self {
            tools,
            by_name,
            namesakes: HashMap::new(),
            folded: OnceLock::new(),
            names: OnceLock::new(),
            owners: OnceLock::new(),
            ..self.clone()
        }
    }

    /// Creates a tool set with one tool.
    pub fn of(tool: Arc<CompiledTool>) -> Self {
        let by_name = HashMap::from([(tool.name().to_owned(), 0)]);
        Self { tools: vec![tool], by_name, ..Self::default() }
    }

    /// Returns the tool with exactly this name.
    pub fn get(&self, name: &str) -> Option<&Arc<CompiledTool>> {
        self.tools.get(*self.by_name.get(name)?)
    }

    /// Returns the tool with exactly this name, else the only match of [`ToolSet::literal`].
    pub fn find(&self, name: &str) -> Option<&Arc<CompiledTool>> {
        self.get(name).or_else(|| match self.literal(name).as_slice() {
            [only] => Some(*only),
            _ => None,
        })
    }

    /// Returns the kind of the tool with exactly this name; that of a function if only functions are offered.
    pub fn kind(&self, name: &str) -> Option<ToolKind> {
        // Most clients offer only functions.
        if self.has_other_kinds { self.get(name).map(|tool| tool.tool.kind) } else { Some(ToolKind::Function) }
    }

    /// Returns the name of the tool of the provider's API that a name refers to, if no other tool has that name.
    pub fn built_in(&self, name: &str) -> Option<&str> {
        if self.built_in.is_empty() || self.find(name).is_some() {
            return None;
        }
        let bare = names::fold(names::without_scope(name).unwrap_or(name));
        self.built_in.iter().find(|own| names::fold(own) == bare).map(String::as_str)
    }

    /// Returns the name of the tool that a name refers to if calls of it cannot be read from text, because only the
    /// provider's API knows their form.
    pub fn native_only(&self, name: &str) -> Option<&str> {
        match self.find(name) {
            Some(tool) => Some(tool.name()).filter(|_| !tool.may_be_written()),
            None => self.built_in(name),
        }
    }

    /// Returns all tools that are called by name, in the order offered.
    pub fn tools(&self) -> &[Arc<CompiledTool>] {
        &self.tools
    }

    /// Whether no tool is offered.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// Returns the tools whose names differ only in case and separators. If there is none, ignores the namespace too,
    /// which either name may lack.
    pub fn literal(&self, name: &str) -> Vec<&Arc<CompiledTool>> {
        let mut found = self.same_name(name);
        if found.is_empty()
            && let Some(bare) = names::without_scope(name)
        {
            found = self.same_name(bare);
        }
        found
    }

    /// Returns the tools that match the name of a native call: those of [`ToolSet::literal`] or, if there is none,
    /// those that match the name without chat-template residue, or the name in the id of a call.
    pub fn meant(&self, name: &str) -> Vec<&Arc<CompiledTool>> {
        let found = self.literal(name);
        if !found.is_empty() {
            return found;
        }
        if let Some(clean) = names::without_debris(name) {
            return self.get(clean).map_or_else(|| self.literal(clean), |tool| vec![tool]);
        }
        let parts = names::of_call_id(name).filter(|part| self.get(part).is_some() || !self.has_series(part));
        parts.map(|part| self.literal(part)).find(|found| !found.is_empty()).unwrap_or_default()
    }

    /// Returns the tools whose full name is this one in another spelling: in case, separators and the scope of all tools.
    /// Unlike [`ToolSet::meant`], it drops nothing that distinguishes two tools.
    pub fn same_spelling(&self, name: &str) -> Vec<&Arc<CompiledTool>> {
        let clean = names::without_debris(name).unwrap_or(name);
        let scoped = [name, clean].into_iter();
        let unscoped = [names::without_scope(clean), names::of_call_id(clean).next()];
        let folded = self.folded.get_or_init(|| self.fold_names());
        let mut found = scoped.chain(unscoped.into_iter().flatten()).filter_map(|form| folded.get(&names::fold(form)));
        let indexes = found.find(|same| !same.full.is_empty()).map(|same| same.full.as_slice());
        indexes.into_iter().flatten().filter_map(|index| self.tools.get(*index)).collect()
    }

    /// Whether the names of tools differ from this one only in a number at their end.
    pub fn has_series(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| {
            let rest = tool.name().strip_prefix(name).and_then(|rest| rest.strip_prefix(['_', '-', '.']));
            rest.is_some_and(is_digits)
        })
    }

    fn same_name(&self, name: &str) -> Vec<&Arc<CompiledTool>> {
        let folded = self.folded.get_or_init(|| self.fold_names());
        let of_name = folded.get(&names::fold(name));
        // `server.tool` matches `mcp__server__tool` before another server's `tool`.
        let found = match of_name {
            Some(same) if !same.full.is_empty() => Some(&same.full),
            Some(same) if !same.partly.is_empty() => Some(&same.partly),
            _ => names::without_namespace(name)
                .and_then(|bare| folded.get(&names::fold(bare)))
                .map(|same| &same.full)
                .filter(|found| !found.is_empty())
                .or(of_name.map(|same| &same.bare)),
        };
        found.into_iter().flatten().filter_map(|index| self.tools.get(*index)).collect()
    }

    /// Returns up to `limit` tools with the names most similar to `name`, best first.
    pub fn nearest(&self, name: &str, limit: usize) -> Vec<(&str, f64)> {
        let names = self.names.get_or_init(|| NameList::read(self.tools.iter().map(|tool| tool.name())));
        let ranked = names.nearest(name, limit, 0.0, |_| true);
        ranked.into_iter().filter_map(|(index, alike)| Some((self.tools.get(index)?.name(), alike))).collect()
    }

    /// Returns the tools that have a parameter with exactly this name, in the order offered; only the first ones of a
    /// name that many tools have.
    pub fn owners(&self, parameter: &str) -> impl Iterator<Item = &CompiledTool> {
        let owners = self.owners.get_or_init(|| {
            let mut owners: HashMap<String, Vec<usize>> = HashMap::new();
            for (index, tool) in self.tools.iter().enumerate() {
                for name in tool.compiled().shape.root().into_iter().flat_map(|root| root.members.keys()) {
                    let of_name = owners.entry(name.clone()).or_default();
                    // One of them may be the called tool.
                    if of_name.len() <= EXAMPLES {
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

/// A tool with its schema, which is compiled on first use.
#[derive(Debug)]
pub struct CompiledTool {
    /// Tool as offered.
    pub tool: Arc<Tool>,
    schema: OnceLock<SharedSchema>,
    /// `None` if the schema is compiled at construction.
    validators: Option<Validators>,
    /// Identity of the tool in the memory, computed on first use.
    client: OnceLock<Option<ClientTool>>,
}

impl CompiledTool {
    /// Creates a tool that is not offered but that a policy lets the model call. The client rejects such a call.
    pub(super) fn unknown(name: &str) -> Self {
        let tool = Tool {
            name: name.to_owned(),
            description: String::new(),
            parameters: Arc::new(Value::Null),
            kind: ToolKind::Function,
            reads: None,
            owner: Owner::Client,
            namespace: None,
        };
        let schema = OnceLock::from(SharedSchema::default());
        Self { tool: Arc::new(tool), schema, validators: None, client: OnceLock::new() }
    }

    /// Whether another tool of the same name takes other arguments or is in another namespace, and both are the client's.
    fn is_other_namesake(&self, other: &Self) -> bool {
        let are_clients = !self.tool.owner.is_proxy() && !other.tool.owner.is_proxy();
        let differ = self.tool.parameters != other.tool.parameters || self.tool.namespace != other.tool.namespace;
        are_clients && self.tool.kind == other.tool.kind && differ
    }

    /// Whether a call with this name and namespace means this tool and no namesake: the namespace is that of the tool, or
    /// the name of the one has the namespace of the other.
    fn is_qualified_by(&self, name: &str, namespace: Option<&str>) -> bool {
        let joined = |namespace: &str, name: &str| names::fold(namespace) + &names::fold(name);
        match (namespace, self.tool.namespace.as_deref()) {
            (Some(called), Some(own)) => names::fold(called) == names::fold(own),
            (Some(called), None) => names::fold(self.name()) == joined(called, name),
            (None, Some(own)) => name != self.name() && names::fold(name) == joined(own, self.name()),
            (None, None) => false,
        }
    }

    /// Returns how well arguments fit the tool: whether they match, then the number of known and of missing parameters.
    fn fit(&self, arguments: &Map<String, Value>) -> (bool, i64) {
        let known = arguments.keys().filter(|name| self.has_parameter_like(name)).count();
        let missing = self.required().iter().filter(|name| !arguments.contains_key(*name)).count();
        let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        (self.accepts(arguments), count(known).saturating_sub(count(missing)))
    }

    /// Returns the name of the tool.
    pub fn name(&self) -> &str {
        &self.tool.name
    }

    /// Whether calls of the tool can be read from text: their form is known.
    pub fn may_be_written(&self) -> bool {
        match self.tool.kind {
            ToolKind::Function | ToolKind::Custom => true,
            ToolKind::Predefined => !self.tool.parameters.is_null(),
            ToolKind::BuiltIn => false,
        }
    }

    /// Returns the identity of the tool in the memory, if it is a client's tool and its name is an identifier.
    pub fn client(&self) -> Option<&ClientTool> {
        self.client.get_or_init(|| ClientTool::of(&self.tool)).as_ref()
    }

    /// Returns the normalised schema of the argument object: JSON Schema type names, no invalid keywords.
    pub fn schema(&self) -> &Value {
        &self.compiled().schema
    }

    /// Returns the parameters in schema order, across all branches of the schema.
    pub fn parameters(&self) -> impl Iterator<Item = Parameter<'_>> {
        let root = self.compiled().shape.root();
        let names = root.into_iter().flat_map(|root| root.members.keys());
        names.filter_map(|name| self.parameter(name))
    }

    /// Returns the parameter with exactly this name.
    pub fn parameter(&self, name: &str) -> Option<Parameter<'_>> {
        const ANYTHING: &Value = &Value::Bool(true);
        let root = self.compiled().shape.root()?;
        let (_, name, member) = root.members.get_full(name)?;
        let schema = member.schema.as_ref().and_then(|at| self.schema().pointer(at)).unwrap_or(ANYTHING);
        Some(Parameter { name, required: root.required.contains(name), schema })
    }

    /// Whether the tool has a parameter with exactly this name.
    pub fn has_parameter(&self, name: &str) -> bool {
        self.compiled().shape.root().is_some_and(|root| root.members.contains_key(name))
    }

    /// Returns the parts of the schema that are ignored as invalid, with reasons.
    pub fn problems(&self) -> &[String] {
        &self.compiled().problems
    }

    /// Whether the arguments match the schema.
    pub fn accepts(&self, arguments: &Map<String, Value>) -> bool {
        self.examine(&Value::Object(arguments.clone()), UnknownParameters::Refuse).is_clean()
    }

    /// Whether the schema validates values. Otherwise only names and syntax are checked (E1, E2, E3).
    pub fn judges_values(&self) -> bool {
        self.compiled().judges()
    }

    /// Whether `arguments` have values that the schema cannot validate, because it or the part for them was not compiled.
    pub fn leaves_unjudged(&self, arguments: &Map<String, Value>) -> bool {
        self.compiled().leaves_unjudged(arguments)
    }

    /// Whether this is the first call of this method for the schema, across all tools that share it. Lets the caller
    /// log its problems once.
    pub fn is_new(&self) -> bool {
        !self.compiled().seen.swap(true, Ordering::Relaxed)
    }

    /// Returns the findings in an argument object.
    pub fn examine(&self, arguments: &Value, rule: UnknownParameters) -> Examination<'_> {
        examine(self.compiled(), arguments, rule)
    }

    /// Returns the default in the schema for a path in the arguments.
    pub fn default_of(&self, path: &Pointer) -> Option<&Value> {
        self.keyword_at(path, "default")
    }

    /// Returns the value of a schema keyword for a path in the arguments.
    pub fn keyword_at(&self, path: &Pointer, keyword: &str) -> Option<&Value> {
        find_keyword(self.schema(), self.schema_of(path)?, keyword)
    }

    /// Whether the tool has a parameter with this name, ignoring case and separators.
    pub fn has_parameter_like(&self, name: &str) -> bool {
        let root = self.compiled().shape.root();
        root.is_some_and(|root| root.members.contains_key(name) || root.literal(name).next().is_some())
    }

    /// Whether the schema names this path in the arguments.
    pub fn has_argument(&self, path: &Pointer) -> bool {
        self.compiled().shape.member(path).is_some()
    }

    /// Whether no argument is required.
    pub fn needs_nothing(&self) -> bool {
        self.required().is_empty()
    }

    /// Returns the names of the required parameters.
    pub fn required(&self) -> &[String] {
        self.compiled().shape.root().map_or(&[], |root| root.required.as_slice())
    }

    /// Describes the schema of a path in the arguments; `None` if the schema does not name that path.
    pub fn describe_argument(&self, path: &Pointer) -> Option<Description> {
        Some(describe(self.schema(), self.schema_of(path)?))
    }

    /// Whether the schema of a parameter names the type `null`, and whether it names the type `string`.
    pub fn takes_null_and_string(&self, name: &str) -> (bool, bool) {
        let Some(parameter) = self.parameter(name) else { return (false, false) };
        let names = named_types(self.schema(), parameter.schema);
        (names.contains("null"), names.contains("string"))
    }

    /// Returns the schema of a path in the arguments; the first one if several apply.
    pub fn schema_of(&self, path: &Pointer) -> Option<&Value> {
        self.schema().pointer(self.compiled().shape.member(path)?.schema.as_ref()?)
    }

    /// Whether the schema has been compiled.
    pub fn is_compiled(&self) -> bool {
        self.schema.get().is_some()
    }

    pub fn compiled(&self) -> &CompiledSchema {
        self.schema.get_or_init(|| match &self.validators {
            Some(validators) => validators.get(&self.tool.parameters),
            None => SharedSchema::default(),
        })
    }
}
