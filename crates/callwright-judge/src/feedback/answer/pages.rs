//! Joins several pages of a response.

use serde_json::Value;

/// Member names that APIs use for the items of a page that has several arrays.
const ITEM_NAMES: [&str; 9] = ["items", "data", "results", "value", "values", "entries", "records", "content", "rows"];

/// Returns the first page with the items of all pages, if the pages are arrays or objects that keep their items in the
/// same member. Otherwise returns an array of the pages.
pub(super) fn joined(mut pages: Vec<Value>) -> Value {
    let place = match pages.first() {
        Some(Value::Array(_)) => Some(None),
        Some(Value::Object(members)) => {
            let mut arrays = members.iter().filter(|(_, value)| value.is_array()).map(|(name, _)| name);
            let named = ITEM_NAMES.iter().find(|name| members.get(**name).is_some_and(Value::is_array));
            match (named, arrays.next(), arrays.next()) {
                (Some(name), _, _) => Some(Some((*name).to_owned())),
                (None, Some(only), None) => Some(Some(only.clone())),
                _ => None,
            }
        }
        _ => None,
    };
    let Some(place) = place.filter(|place| pages.iter_mut().all(|page| items(page, place.as_deref()).is_some())) else {
        return Value::Array(pages);
    };
    let mut pages = pages.into_iter();
    let mut first = pages.next().unwrap_or_default();
    for mut page in pages {
        if let (Some(all), Some(more)) = (items(&mut first, place.as_deref()), items(&mut page, place.as_deref())) {
            all.append(more);
        }
    }
    first
}

fn items<'v>(page: &'v mut Value, member: Option<&str>) -> Option<&'v mut Vec<Value>> {
    match member {
        None => page.as_array_mut(),
        Some(name) => page.get_mut(name)?.as_array_mut(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn items_are_joined_where_they_can_be_told() {
        assert_eq!(joined(vec![json!([1]), json!([]), json!([2, 3])]), json!([1, 2, 3]));
        let page = |items: &[u8], next: u8| json!({"tags": [], "items": items, "next": next});
        assert_eq!(joined(vec![page(&[1], 2), page(&[2], 3)]), page(&[1, 2], 2));
        assert_eq!(joined(vec![json!({"rooms": [1]}), json!({"rooms": [2]})]), json!({"rooms": [1, 2]}));
    }

    #[test]
    fn pages_that_are_no_lists_stand_side_by_side() {
        for pages in [
            vec![json!({"a": 1}), json!({"a": 2})],
            vec![json!({"a": [1], "b": [2]}), json!({"a": [1], "b": [2]})],
            vec![json!([1]), json!({"error": "gone"})],
            vec![json!({"items": [1]}), json!({"items": null})],
        ] {
            assert_eq!(joined(pages.clone()), Value::Array(pages));
        }
    }
}
