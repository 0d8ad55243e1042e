//! Draft of a call by the scripted model, and the effect of lessons on it.

use serde_json::{Map, Value};

use super::lessons::FeedbackLessons;

/// Call before it is made.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct CallDraft {
    pub(super) tool: String,
    pub(super) arguments: Map<String, Value>,
    /// Values that are in the question but missing in the call: feedback makes the model add them.
    pub(super) left_out: Map<String, Value>,
    /// Parameters whose values the user insists on: no lesson changes them.
    pub(super) insisted: &'static [&'static str],
}

impl CallDraft {
    /// Creates a draft without missing values and without insisted parameters.
    pub(super) fn new(tool: &str, arguments: Map<String, Value>) -> Self {
        Self { tool: tool.to_owned(), arguments, ..Self::default() }
    }

    /// Applies lessons to the call. Also returns the model's comment on the changes, which is empty without changes.
    pub(super) fn learn(mut self, lessons: &FeedbackLessons) -> (Self, String) {
        let mut thoughts = Vec::new();
        for (wrong, right) in &lessons.names {
            if self.rename(wrong, right) {
                thoughts.push(format!("It is called `{right}`, not `{wrong}`."));
            }
        }
        for name in &lessons.missing {
            if self.provide(name, &lessons.example) {
                thoughts.push(format!("I left out `{name}`."));
            }
        }
        for name in &lessons.wrong_values {
            if self.replace(name, &lessons.example) {
                thoughts.push(format!("`{name}` cannot have the value that I gave it."));
            }
        }
        if lessons.longitude_first && self.turn_points_round() {
            thoughts.push("The longitude comes first; I had it the other way round.".to_owned());
        }
        (self, thoughts.join(" "))
    }

    fn rename(&mut self, wrong: &str, right: &str) -> bool {
        if self.tool == wrong {
            right.clone_into(&mut self.tool);
            return true;
        }
        let Some(value) = self.arguments.shift_remove(wrong) else { return false };
        self.arguments.insert(right.to_owned(), value);
        true
    }

    /// Takes the value of the example, or removes the parameter if the example omits it.
    fn replace(&mut self, name: &str, example: &Map<String, Value>) -> bool {
        if example.is_empty() || self.insisted.contains(&name) || !self.arguments.contains_key(name) {
            return false;
        }
        let before = match example.get(name) {
            Some(good) => self.arguments.insert(name.to_owned(), good.clone()),
            None => self.arguments.shift_remove(name),
        };
        before.as_ref() != example.get(name)
    }

    fn provide(&mut self, name: &str, example: &Map<String, Value>) -> bool {
        if self.arguments.contains_key(name) {
            return false;
        }
        let Some(value) = self.left_out.get(name).or_else(|| example.get(name)) else { return false };
        self.arguments.insert(name.to_owned(), value.clone());
        true
    }

    /// Swaps the coordinates of every value that is a point as `latitude,longitude`. A number that is too large for a
    /// latitude must be a longitude; if both are possible, the failed order counts as wrong.
    fn turn_points_round(&mut self) -> bool {
        let mut turned = false;
        for value in self.arguments.values_mut() {
            let Some((first, second)) = value.as_str().and_then(|text| text.split_once(',')) else { continue };
            let (Ok(one), Ok(_)) = (first.trim().parse::<f64>(), second.trim().parse::<f64>()) else { continue };
            if one.abs() <= 90.0 {
                *value = format!("{},{}", second.trim(), first.trim()).into();
                turned = true;
            }
        }
        turned
    }
}
