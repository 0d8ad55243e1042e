//! Actions for the faults of the table.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use strum::{IntoStaticStr, VariantArray};

use crate::FaultCode;

/// Action for a fault, from least to most.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// The fault is not evaluated.
    Off,
    /// The fault is recorded, and reported to the model if the answer goes back for another fault. The call passes
    /// unchanged.
    Advise,
    /// The fault is repaired if nothing is lost; otherwise it is handled like `advise`.
    Repair,
    /// The fault is repaired if nothing is lost; otherwise the answer goes back to the model.
    Feedback,
}

crate::labels!(Action);

impl Action {
    /// Whether the fault may be repaired.
    pub fn repairs(self) -> bool {
        self >= Self::Repair
    }

    /// Whether the fault blocks the call if it is not repaired.
    pub fn blocks(self) -> bool {
        self == Self::Feedback
    }
}

/// The action for each code of the fault table. In files: a mapping from codes (`E3.1`) or names
/// (`parameter_of_other_tool`) to actions; omitted faults have their default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FaultActions([Action; FaultCode::ALL.len()]);

impl FaultActions {
    /// Returns the default action for `code`.
    ///
    /// Faults proved by the tool's schema go back to the model. Faults that rest on heuristic evidence do not: a false
    /// positive would cost a right call.
    pub const fn default_of(code: FaultCode) -> Action {
        match code {
            FaultCode::ToolNotRelevant | FaultCode::CallAnnounced => Action::Off,
            FaultCode::Placeholder | FaultCode::RepeatedCall => Action::Advise,
            _ => Action::Feedback,
        }
    }

    /// Returns the action for `code`.
    pub fn of(&self, code: FaultCode) -> Action {
        self.0.get(code as usize).copied().unwrap_or(Self::default_of(code))
    }

    /// Returns a copy with another action for `code`.
    #[must_use]
    pub fn with(mut self, code: FaultCode, action: Action) -> Self {
        if let Some(place) = self.0.get_mut(code as usize) {
            *place = action;
        }
        self
    }
}

impl Default for FaultActions {
    fn default() -> Self {
        Self(FaultCode::ALL.map(Self::default_of))
    }
}

impl Serialize for FaultActions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(FaultCode::ALL.into_iter().map(|code| (code.code(), self.of(code))))
    }
}

impl<'de> Deserialize<'de> for FaultActions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let actions = BTreeMap::<FaultCodeKey, Action>::deserialize(deserializer)?;
        Ok(actions.into_iter().fold(Self::default(), |all, (FaultCodeKey(code), action)| all.with(code, action)))
    }
}

impl JsonSchema for FaultActions {
    fn schema_name() -> Cow<'static, str> {
        "FaultActions".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut properties = serde_json::Map::new();
        for code in FaultCode::ALL {
            let mut action = Action::json_schema(generator);
            action.insert("description".to_owned(), format!("{} (`{}`).", code.words(), code.name()).into());
            action.insert("default".to_owned(), Self::default_of(code).label().into());
            properties.insert(code.code().to_owned(), action.to_value());
        }
        json_schema!({ "type": "object", "properties": properties, "additionalProperties": false })
    }
}

/// A code. Its error is that of an unknown field, so that the file parser can suggest the nearest name.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct FaultCodeKey(FaultCode);

impl<'de> Deserialize<'de> for FaultCodeKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        match FaultCode::ALL.into_iter().find(|code| code.code() == text || code.name() == text) {
            Some(code) if code.code() == text => Ok(Self(code)),
            Some(code) => Err(D::Error::custom(format_args!(
                "unknown key `{text}`; faults are named by their codes: `{}`",
                code.code()
            ))),
            None => Err(D::Error::unknown_field(&text, &FaultCode::CODES)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_its_own_place() {
        for (index, code) in FaultCode::ALL.into_iter().enumerate() {
            assert_eq!(code as usize, index);
            let changed = FaultActions::default().with(code, Action::Repair);
            let others = FaultCode::ALL.into_iter().filter(|other| *other != code);
            assert_eq!(changed.of(code), Action::Repair);
            assert!(others.clone().all(|other| changed.of(other) == FaultActions::default_of(other)));
        }
    }

    #[test]
    fn codes_are_read_and_what_is_left_out_has_its_default() {
        let actions: FaultActions = serde_json::from_str(r#"{"E3.1":"advise","E4.3":"off"}"#).unwrap();
        assert_eq!(actions.of(FaultCode::ParameterOfOtherTool), Action::Advise);
        assert_eq!(actions.of(FaultCode::Placeholder), Action::Off);
        assert_eq!(actions.of(FaultCode::TypeMismatch), Action::Feedback);
        let written = serde_json::to_string(&actions).unwrap();
        assert_eq!(serde_json::from_str::<FaultActions>(&written).unwrap(), actions);
    }

    #[test]
    fn what_is_no_code_is_refused() {
        for text in [r#"{"E9":"off"}"#, r#"{"E1":"never"}"#, r#"{"no_call":"off"}"#] {
            assert!(serde_json::from_str::<FaultActions>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_action_does_all_that_a_lesser_one_does() {
        let all = [Action::Off, Action::Advise, Action::Repair, Action::Feedback];
        assert!(all.is_sorted());
        assert_eq!(all.map(Action::repairs), [false, false, true, true]);
        assert_eq!(all.map(Action::blocks), [false, false, false, true]);
    }
}
