//! Type names that providers accept besides the seven of JSON Schema.

/// Meaning of a type name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TypeName {
    /// A JSON Schema type.
    Known(&'static str),
    /// Any type, or an unknown name, which restricts nothing.
    Any,
}

/// Parses a type name: JSON Schema types in any case, and their equivalents in Python, C, Java, SQL and Gemini.
///
/// Ignores type arguments (`list[int]`, `Array<string>`): only the outer type counts.
pub(super) fn read(name: &str) -> TypeName {
    let outer = name.split(['[', '<', '(']).next().unwrap_or_default().trim();
    let known = match outer.to_ascii_lowercase().as_str() {
        "object" | "dict" | "dictionary" | "map" | "mapping" | "hash" | "hashmap" | "struct" | "record" => "object",
        // `int[]` has its brackets at the end.
        _ if name.trim_end().ends_with("[]") => "array",
        "array" | "list" | "arraylist" | "tuple" | "set" | "vector" | "sequence" => "array",
        "string" | "str" | "text" | "char" | "varchar" => "string",
        "integer" | "int" | "int32" | "int64" | "long" | "bigint" => "integer",
        "number" | "float" | "double" | "decimal" | "numeric" | "real" => "number",
        "boolean" | "bool" => "boolean",
        "null" | "none" | "nil" => "null",
        _ => return TypeName::Any,
    };
    TypeName::Known(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_other_languages_are_read() {
        for (name, known) in [
            ("object", "object"),
            ("dict", "object"),
            ("Dict[str, int]", "object"),
            ("STRING", "string"),
            ("float", "number"),
            ("tuple", "array"),
            ("list[dict]", "array"),
            ("int[]", "array"),
            ("Bool", "boolean"),
            ("None", "null"),
        ] {
            assert_eq!(read(name), TypeName::Known(known), "{name}");
        }
    }

    #[test]
    fn what_means_nothing_judges_nothing() {
        for name in ["any", "", "date", "string|int", "file", "[]["] {
            assert_eq!(read(name), TypeName::Any, "{name}");
        }
    }
}
