//! A tool's JSON Schema, compiled once: normalised, with the table of its parameters and a validator.

mod validators;

use std::sync::Arc;

use serde_json::{Map, Value};

pub use validators::Validators;

/// One parameter of a tool.
#[derive(Debug, Clone, Copy)]
pub struct Parameter<'a> {
    /// Its name.
    pub name: &'a str,
    /// Must a call have it?
    pub required: bool,
    /// Its JSON Schema, normalised; `true` where the schema requires the name and says nothing about it.
    pub schema: &'a Value,
}

/// The compiled form of one schema text, shared by every tool that has it.
#[derive(Debug)]
pub(crate) struct CompiledSchema {
    schema: Value,
    validator: Option<jsonschema::Validator>,
    problems: Vec<String>,
}

impl CompiledSchema {
    fn compile(schema: &Value) -> Self {
        let options = jsonschema::options().offline().should_validate_formats(true);
        let built = options.with_pattern_options(jsonschema::PatternOptions::regex()).build(schema);
        let (validator, problems) = match built {
            Ok(validator) => (Some(validator), Vec::new()),
            Err(error) => (None, vec![error.to_string()]),
        };
        Self { schema: schema.clone(), validator, problems }
    }

    pub(crate) fn schema(&self) -> &Value {
        &self.schema
    }

    pub(crate) fn problems(&self) -> &[String] {
        &self.problems
    }

    pub(crate) fn accepts(&self, arguments: &Map<String, Value>) -> bool {
        self.validator.as_ref().is_none_or(|validator| validator.is_valid(&Value::Object(arguments.clone())))
    }
}

/// What [`Validators`] hands out.
pub(crate) type SharedSchema = Arc<CompiledSchema>;
