//! Selection of the list item that a call uses.

use serde_json::Value;

use crate::pipeline::state::PlanRun;
use callwright_plan::generation::ChoiceInputs;
use callwright_plan::progress::{ItemOptions, choose_by_words};
use callwright_types::plan::Item;
use callwright_types::{ChosenBy, Message, PlanChoice, PlanResult, Speaker};

use super::drawing;
use super::metered::StageContext;

/// A choice between the items of a list.
pub(super) struct ItemChoice {
    /// Label of the call that uses the value.
    taker: String,
    tool: String,
    task: String,
    argument: String,
    /// Label of the call whose answer contains the list.
    from: String,
    items: Vec<Value>,
    /// The value of each item that would be used; the whole item if several arguments use it.
    values: Vec<Value>,
}

impl ItemChoice {
    pub(super) fn of(options: ItemOptions<'_>) -> Self {
        let (items, mut values): (Vec<Value>, Vec<Value>) = options.items.into_iter().unzip();
        let taken = options.node.arguments.iter().flat_map(|argument| argument.source.references());
        let of_list = taken.filter(|taken| taken.node == options.from.node && taken.item == Item::Chosen);
        if of_list.count() > 1 {
            values.clone_from(&items);
        }
        Self {
            taker: options.node.label.clone(),
            tool: options.node.tool.clone(),
            task: options.node.task.clone(),
            argument: options.argument.to_owned(),
            from: options.from.node.clone(),
            items,
            values,
        }
    }

    /// Returns the item without a model request: the only distinct value, or the item that the words of the user and of
    /// the call's task name.
    fn by_rule(&self, conversation: &[Message]) -> Option<(usize, ChosenBy)> {
        if self.values.windows(2).all(|pair| pair.first() == pair.last()) {
            return Some((0, ChosenBy::Only));
        }
        let users = conversation.iter().filter(|message| message.speaker == Speaker::User);
        let said: Vec<&str> = users.map(|message| message.text.as_str()).chain([self.task.as_str()]).collect();
        choose_by_words(&self.items, &said).map(|item| (item, ChosenBy::Said))
    }
}

/// Chooses by rule, else by the planning model. If neither decides, the plan is given up.
pub(super) async fn choose(context: &mut StageContext<'_>, plan_run: &mut PlanRun, choice: ItemChoice) {
    let conversation = context.conversation();
    let chosen = match choice.by_rule(&conversation) {
        Some(chosen) => Some(chosen),
        None => by_model(context, plan_run, &choice, &conversation).await.map(|item| (item, ChosenBy::Model)),
    };
    let Some((taken, by)) = chosen else {
        return plan_run.end(PlanResult::GivenUp, format!("cannot determine the list item for `{}`", choice.argument));
    };
    plan_run.waiting.progress.choose(&choice.taker, &choice.from, taken);
    let items = choice.items.len();
    plan_run.note.choices.push(PlanChoice { call: choice.taker, from: choice.from, items, taken, by });
}

async fn by_model(
    context: &mut StageContext<'_>,
    plan_run: &mut PlanRun,
    choice: &ItemChoice,
    conversation: &[Message],
) -> Option<usize> {
    let tool = context.offering.offer.tool_set.get(&choice.tool);
    let schema = tool.and_then(|tool| Some(tool.parameter(&choice.argument)?.schema.clone())).unwrap_or_default();
    let inputs = ChoiceInputs {
        conversation,
        memory: &[],
        tool: &choice.tool,
        task: &choice.task,
        argument: &choice.argument,
        schema: &schema,
        options: &choice.items,
    };
    let chosen = drawing::choose_item(context, plan_run, &inputs).await;
    plan_run.note.notes.extend(chosen.error.map(|error| error.to_string()));
    chosen.index
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use callwright_types::plan::{Argument, Node, Reference, Source};

    /// Two trips to one city are different if the day is also taken from the trip.
    #[test]
    fn equal_values_are_one_if_nothing_else_of_the_item_is_used() {
        let items = [json!({"city": "Rome", "day": "May 4"}), json!({"city": "Rome", "day": "May 9"})];
        let reference = |output: &str| Reference { node: "a".to_owned(), output: output.into(), item: Item::Chosen };
        let argument =
            |name: &str| Argument { name: name.to_owned(), source: Source::Output(reference(&format!("/0/{name}"))) };
        let rule = |names: &[&str]| {
            let (label, tool, task) = ("b".to_owned(), "fly".to_owned(), String::new());
            let arguments = names.iter().map(|name| argument(name)).collect();
            let node = Node { label, tool, task, arguments };
            let from = reference("/0/city");
            let items = items.iter().map(|item| (item.clone(), item["city"].clone())).collect();
            ItemChoice::of(ItemOptions { node: &node, argument: "city", from: &from, items }).by_rule(&[])
        };
        assert_eq!(rule(&["city"]), Some((0, ChosenBy::Only)));
        assert_eq!(rule(&["city", "day"]), None);
    }
}
