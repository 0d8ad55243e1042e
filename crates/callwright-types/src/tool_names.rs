//! Forms of tool names and of call ids: the one table of how prompts, models, clients and gateways write them. Judge,
//! rescue, selection and the conversation's history use it, so that a form that one of them knows is known to all.
//!
//! | form | for `get_weather` | function |
//! |---|---|---|
//! | other case or separators, dots replaced | `getWeather`, `get-weather`, `get.weather` | [`fold`] |
//! | in the scope of all tools | `functions.get_weather`, `default_api:get_weather` | [`without_scope`] |
//! | in a namespace, or in fewer ones | `srv.get_weather`, `mcp__srv__get_weather` | [`without_namespace`], [`partly_qualified`], [`qualified`] |
//! | the id of a call, also sanitised | `functions.get_weather:1`, `functions_get_weather_1` | [`of_call_id`] |
//!
//! [`call_id`] is the table's row for ids: clients replace characters that another protocol forbids in them.

use std::borrow::Cow;

/// The folded name: compatibility-normalised (Unicode NFKC), lower case, letters and digits only (AutoFeedback section
/// 3.2.2, for all scripts). Empty if the name has neither letters nor digits.
pub use callwright_common::text::letters as fold;
pub use callwright_common::text::name_words as words;

/// Separators between a namespace and a name.
const NAMESPACE_MARKS: [&str; 4] = [".", ":", "/", "__"];

/// Bytes up to the end of the last namespace mark.
fn last_mark_end(name: &str) -> Option<usize> {
    let bytes = name.as_bytes();
    let end = bytes.iter().enumerate().rev().find(|(at, byte)| match byte {
        b'.' | b':' | b'/' => true,
        b'_' => at.checked_sub(1).and_then(|before| bytes.get(before)) == Some(&b'_'),
        _ => false,
    });
    end.map(|(at, _)| at + 1)
}

/// Returns the part of a tool name after its namespace: `login` for `user.login`, `user::login`, `user/login` and
/// `mcp__user__login`. `None` if the name has no namespace.
pub fn without_namespace(name: &str) -> Option<&str> {
    name.get(last_mark_end(name)?..).filter(|rest| !rest.is_empty())
}

/// Returns the parts of a tool name after each of its namespaces except the last: `user__login` for `mcp__user__login`.
pub fn partly_qualified(name: &str) -> impl Iterator<Item = &str> {
    let last = without_namespace(name).map_or(0, str::len);
    let marks = NAMESPACE_MARKS.iter().flat_map(|mark| name.match_indices(mark));
    marks.filter_map(|(at, mark)| name.get(at + mark.len()..)).filter(move |rest| rest.len() > last)
}

/// Returns the forms of a name with its namespace: `crm.list`, `crm:list`, `crm/list` and `crm__list` for `list` of `crm`,
/// `mcp__crm__list` for `list` of `mcp__crm__`.
pub fn qualified(namespace: &str, name: &str) -> Vec<String> {
    if NAMESPACE_MARKS.iter().any(|mark| namespace.ends_with(mark)) {
        return vec![format!("{namespace}{name}")];
    }
    NAMESPACE_MARKS.iter().map(|mark| format!("{namespace}{mark}{name}")).collect()
}

/// Scopes that prompts and chat templates put before every tool name.
const SCOPES: [&str; 8] = ["functions", "function", "default_api", "tools", "tool", "api", "multi_tool_use", "client"];

/// Separators between a scope and a name.
const SCOPE_MARKS: [char; 3] = ['.', ':', '/'];

/// Scope with a separator of its own: that of all tools of MCP servers.
const MCP_SCOPE: &str = "mcp__";

/// Separators that replace [`SCOPE_MARKS`] where a client allows only letters, digits, `_` and `-`.
const SANITISED_MARKS: [char; 2] = ['_', '-'];

/// Scope in the ids of calls, such as `functions.get_weather:1`.
const ID_SCOPE: &str = "functions";

/// Returns the name without a scope that all tools share; `None` if it has no such scope.
pub fn without_scope(name: &str) -> Option<&str> {
    let scoped = SCOPES.iter().find_map(|scope| name.strip_prefix(scope)?.strip_prefix(SCOPE_MARKS));
    scoped.or_else(|| name.strip_prefix(MCP_SCOPE)).filter(|rest| !rest.is_empty())
}

/// Returns the name after the word of a scope and any separator; `None` if it has no such scope.
pub fn after_any_scope(name: &str) -> Option<&str> {
    let is_mark = |letter: char| SCOPE_MARKS.contains(&letter) || SANITISED_MARKS.contains(&letter);
    SCOPES.iter().find_map(|scope| name.strip_prefix(scope)?.strip_prefix(is_mark))
}

/// Whether `start` may become a scope.
pub fn may_become_scope(start: &str) -> bool {
    SCOPES.iter().any(|scope| scope.starts_with(start))
}

/// Returns the name after the scope of call ids, whose separator may be replaced: `get_weather_1` of
/// `functions_get_weather_1`.
pub fn without_id_scope(name: &str) -> Option<&str> {
    let rest = name.strip_prefix(ID_SCOPE)?;
    let rest = rest.strip_prefix(SCOPE_MARKS).or_else(|| rest.strip_prefix(SANITISED_MARKS))?;
    Some(rest).filter(|rest| !rest.is_empty())
}

/// Returns the name without the number that an id ends with: `get_weather` for `get_weather:1` and `get_weather_1`.
pub fn without_number(name: &str) -> Option<&str> {
    let before = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
    before.strip_suffix([':', '_', '-', '.']).filter(|bare| before.len() < name.len() && !bare.is_empty())
}

/// Returns the names that the id of a call contains, likeliest first: `get_weather_1` and `get_weather` for
/// `functions_get_weather_1`. Empty if the text has not the scope of ids.
pub fn of_call_id(id: &str) -> impl Iterator<Item = &str> {
    let scoped = without_id_scope(id);
    scoped.into_iter().chain(scoped.and_then(without_number))
}

/// Returns the forms of a name in which a tool may be offered, likeliest first: the name itself, without a scope, as
/// part of an id, without its namespace.
pub fn forms(name: &str) -> impl Iterator<Item = &str> {
    std::iter::once(name).chain(without_scope(name)).chain(of_call_id(name)).chain(without_namespace(name))
}

/// Returns the form of a call's id that clients keep: characters other than letters, digits, `_` and `-`, which the
/// Messages API forbids in ids, are replaced with `_`.
pub fn call_id(id: &str) -> Cow<'_, str> {
    let is_kept = |letter: char| letter.is_ascii_alphanumeric() || SANITISED_MARKS.contains(&letter);
    if id.chars().all(is_kept) {
        return Cow::Borrowed(id);
    }
    Cow::Owned(id.chars().map(|letter| if is_kept(letter) { letter } else { '_' }).collect())
}

/// Whether two ids are forms of one id.
pub fn is_same_call_id(one: &str, other: &str) -> bool {
    one == other || call_id(one) == call_id(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writing_does_not_distinguish_names() {
        for name in ["userLogin", "user_login", "user.login", "USER-LOGIN", "User Login", "ｕｓｅｒ_login"] {
            assert_eq!(fold(name), "userlogin");
        }
        assert_eq!(fold("天气_查询"), "天气查询");
        assert_eq!(fold("__"), "");
    }

    #[test]
    fn a_namespace_ends_at_its_last_mark() {
        for name in ["user.login", "a.user::login", "functions/login", "mcp__user__login"] {
            assert_eq!(without_namespace(name), Some("login"));
        }
        assert_eq!(without_namespace("user_login"), None);
        assert_eq!(without_namespace("login."), None);
    }

    #[test]
    fn a_name_is_qualified_by_each_of_its_namespaces() {
        assert_eq!(partly_qualified("mcp__user__login").collect::<Vec<_>>(), ["user__login"]);
        assert_eq!(partly_qualified("a.b:c/d").collect::<Vec<_>>(), ["b:c/d", "c/d"]);
        assert_eq!(partly_qualified("user_login").count() + partly_qualified("user.login").count(), 0);
    }

    #[test]
    fn a_name_is_written_with_its_namespace() {
        assert_eq!(qualified("mcp__crm__", "list"), ["mcp__crm__list"]);
        assert_eq!(qualified("crm", "list"), ["crm.list", "crm:list", "crm/list", "crm__list"]);
    }

    #[test]
    fn a_scope_is_of_all_tools() {
        for name in ["functions.user.login", "function:user.login", "default_api.user.login", "tools/user.login"] {
            assert_eq!(without_scope(name), Some("user.login"), "{name}");
        }
        assert_eq!(without_scope("mcp__user__login"), Some("user__login"));
        assert_eq!((without_scope("user.login"), without_scope("functions.")), (None, None));
        assert_eq!((without_scope("functions_login"), without_scope("toolset.login")), (None, None));
        assert_eq!(after_any_scope("functions_login"), Some("login"));
        assert!(may_become_scope("func") && may_become_scope("") && !may_become_scope("functions."));
    }

    #[test]
    fn the_name_is_found_in_a_call_id_as_made_and_as_sanitised() {
        for id in ["functions.get_weather:1", "functions_get_weather_1", "functions-get_weather-1"] {
            assert_eq!(of_call_id(id).last(), Some("get_weather"), "{id}");
        }
        assert_eq!(of_call_id("functions_get_weather").collect::<Vec<_>>(), ["get_weather"]);
        for name in ["get_weather_1", "functions", "functions_", "functional_x_1", "call_1"] {
            assert_eq!(of_call_id(name).count(), 0, "{name}");
        }
        assert_eq!((without_number("f_1"), without_number("f1"), without_number("_1")), (Some("f"), None, None));
    }

    #[test]
    fn ids_are_compared_as_clients_keep_them() {
        assert_eq!(call_id("functions.get_weather:1"), "functions_get_weather_1");
        assert!(matches!(call_id("call_Aa-9"), Cow::Borrowed("call_Aa-9")));
        assert!(is_same_call_id("functions.f:1", "functions_f_1") && is_same_call_id("a", "a"));
        assert!(!is_same_call_id("functions.f:1", "functions.f:2"));
    }

    #[test]
    fn forms_go_from_the_name_to_its_last_part() {
        assert_eq!(forms("functions_a.b_1").collect::<Vec<_>>(), ["functions_a.b_1", "a.b_1", "a.b", "b_1"]);
        assert_eq!(forms("ping").collect::<Vec<_>>(), ["ping"]);
    }

    #[test]
    fn words_are_split_at_separators_and_capitals() {
        assert_eq!(words("getUser_by-ID2x"), ["get", "user", "by", "id2x"]);
        assert!(words("__").is_empty());
    }
}
