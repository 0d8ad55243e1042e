//! Schemas of the description of the proxy's own API (OpenAPI 3.0).

use openapiv3::{
    AdditionalProperties, AnySchema, ArrayType, BooleanType, IntegerType, NumberType, ObjectType, ReferenceOr, Schema,
    SchemaData, SchemaKind, StringFormat, StringType, Type, VariantOrUnknownOrEmpty,
};

/// A schema that is written where it is used.
#[derive(Debug, Clone)]
pub(super) struct ApiSchema(pub(super) Schema);

/// A schema, or a reference to a named one.
#[derive(Debug, Clone)]
pub(super) struct SchemaReference(pub(super) ReferenceOr<Schema>);

impl From<ApiSchema> for SchemaReference {
    fn from(schema: ApiSchema) -> Self {
        Self(ReferenceOr::Item(schema.0))
    }
}

pub(super) fn named(name: &str) -> SchemaReference {
    SchemaReference(ReferenceOr::Reference { reference: format!("#/components/schemas/{name}") })
}

impl ApiSchema {
    fn of(schema_kind: SchemaKind) -> Self {
        Self(Schema { schema_data: SchemaData::default(), schema_kind })
    }

    pub(super) fn about(mut self, description: &str) -> Self {
        self.0.schema_data.description = Some(description.to_owned());
        self
    }

    /// Also allows `null`.
    pub(super) fn or_null(mut self) -> Self {
        self.0.schema_data.nullable = true;
        if let SchemaKind::Type(Type::String(text)) = &mut self.0.schema_kind
            && !text.enumeration.is_empty()
        {
            text.enumeration.push(None);
        }
        self
    }
}

/// Allows every value.
pub(super) fn any() -> ApiSchema {
    ApiSchema::of(SchemaKind::Any(AnySchema::default()))
}

pub(super) fn boolean() -> ApiSchema {
    ApiSchema::of(SchemaKind::Type(Type::Boolean(BooleanType::default())))
}

fn string(text: StringType) -> ApiSchema {
    ApiSchema::of(SchemaKind::Type(Type::String(text)))
}

pub(super) fn text() -> ApiSchema {
    string(StringType::default())
}

/// A text of a minimum and a maximum number of characters.
pub(super) fn text_of(min: usize, max: Option<usize>) -> ApiSchema {
    string(StringType { min_length: (min > 0).then_some(min), max_length: max, ..StringType::default() })
}

/// A text that matches a regular expression, of a minimum and a maximum number of characters.
pub(super) fn text_like(pattern: &str, min: usize, max: Option<usize>) -> ApiSchema {
    let min_length = (min > 0).then_some(min);
    string(StringType { pattern: Some(pattern.to_owned()), min_length, max_length: max, ..StringType::default() })
}

pub(super) fn one_of<'t>(texts: impl IntoIterator<Item = &'t str>) -> ApiSchema {
    let enumeration = texts.into_iter().map(|text| Some(text.to_owned())).collect();
    string(StringType { enumeration, ..StringType::default() })
}

/// A point in time (RFC 3339).
pub(super) fn time() -> ApiSchema {
    let format = VariantOrUnknownOrEmpty::Item(StringFormat::DateTime);
    string(StringType { format, ..StringType::default() })
}

pub(super) fn date() -> ApiSchema {
    let format = VariantOrUnknownOrEmpty::Item(StringFormat::Date);
    string(StringType { format, ..StringType::default() })
}

pub(super) fn integer() -> ApiSchema {
    ApiSchema::of(SchemaKind::Type(Type::Integer(IntegerType::default())))
}

/// An integer from 0 to a maximum.
pub(super) fn count(max: Option<u32>) -> ApiSchema {
    let limits = IntegerType { minimum: Some(0), maximum: max.map(i64::from), ..IntegerType::default() };
    ApiSchema::of(SchemaKind::Type(Type::Integer(limits)))
}

pub(super) fn number() -> ApiSchema {
    ApiSchema::of(SchemaKind::Type(Type::Number(NumberType::default())))
}

/// A number from 0 to a maximum.
pub(super) fn amount(max: Option<f64>) -> ApiSchema {
    ApiSchema::of(SchemaKind::Type(Type::Number(NumberType {
        minimum: Some(0.0),
        maximum: max,
        ..NumberType::default()
    })))
}

/// A number above 0.
pub(super) fn positive() -> ApiSchema {
    let limits = NumberType { minimum: Some(0.0), exclusive_minimum: true, ..NumberType::default() };
    ApiSchema::of(SchemaKind::Type(Type::Number(limits)))
}

pub(super) fn array(items: impl Into<SchemaReference>) -> ApiSchema {
    array_up_to(None, items)
}

/// A list of at most `max` items.
pub(super) fn array_up_to(max: impl Into<Option<usize>>, items: impl Into<SchemaReference>) -> ApiSchema {
    let SchemaReference(items) = items.into();
    ApiSchema::of(SchemaKind::Type(Type::Array(ArrayType {
        items: Some(boxed(items)),
        min_items: None,
        max_items: max.into(),
        unique_items: false,
    })))
}

fn boxed(schema: ReferenceOr<Schema>) -> ReferenceOr<Box<Schema>> {
    match schema {
        ReferenceOr::Item(schema) => ReferenceOr::Item(Box::new(schema)),
        ReferenceOr::Reference { reference } => ReferenceOr::Reference { reference },
    }
}

/// A member of an object.
#[derive(Debug, Clone)]
pub(super) struct ApiMember {
    name: &'static str,
    schema: ReferenceOr<Schema>,
    is_required: bool,
}

pub(super) fn required(name: &'static str, schema: impl Into<SchemaReference>) -> ApiMember {
    ApiMember { name, schema: schema.into().0, is_required: true }
}

pub(super) fn optional(name: &'static str, schema: impl Into<SchemaReference>) -> ApiMember {
    ApiMember { name, schema: schema.into().0, is_required: false }
}

/// An object that may have further members.
pub(super) fn object(members: impl IntoIterator<Item = ApiMember>) -> ApiSchema {
    ApiSchema::of(SchemaKind::Type(Type::Object(object_type(members))))
}

/// An object without further members.
pub(super) fn closed_object(members: impl IntoIterator<Item = ApiMember>) -> ApiSchema {
    let additional_properties = Some(AdditionalProperties::Any(false));
    ApiSchema::of(SchemaKind::Type(Type::Object(ObjectType { additional_properties, ..object_type(members) })))
}

/// An object whose members all have this schema.
pub(super) fn map_of(values: impl Into<SchemaReference>) -> ApiSchema {
    let additional_properties = Some(AdditionalProperties::Schema(Box::new(values.into().0)));
    ApiSchema::of(SchemaKind::Type(Type::Object(ObjectType { additional_properties, ..ObjectType::default() })))
}

fn object_type(members: impl IntoIterator<Item = ApiMember>) -> ObjectType {
    let mut object = ObjectType::default();
    for ApiMember { name, schema, is_required } in members {
        if is_required {
            object.required.push(name.to_owned());
        }
        object.properties.insert(name.to_owned(), boxed(schema));
    }
    object
}
