//! Partial regeneration of a plan after a failed call or a user message.

use crate::pipeline::plan_ground::PlanGround;
use callwright_knowledge::planner::drawing::{Renewal, Undrawn};
use callwright_types::{PlanResult, Speaker};

use super::course::Course;
use super::drawing::{self, Sketch};
use super::scene::Scene;

/// Regenerates a call that failed or cannot be made, at most as often as the limit of dynamic feedback rounds.
pub(super) async fn mend(scene: &mut Scene<'_>, course: &mut Course, label: String, why: String) {
    if course.waiting.progress.mended() >= scene.turn.policy.limits.dynamic_feedback {
        return course.end(PlanResult::GivenUp, why);
    }
    let before = course.waiting.progress.plan().clone();
    let labels = [label];
    match renew(scene, course, Renewal::Calls { labels: &labels }, true).await {
        Err(undrawn) => course.end(drawing::result_of(&undrawn), format!("{why}; {undrawn}")),
        // The same call would fail again.
        Ok(()) if *course.waiting.progress.plan() == before => {
            course.end(PlanResult::GivenUp, format!("{why}, and there is no alternative"));
        }
        Ok(()) => course.notes.push(why),
    }
}

/// Regenerates a part of the plan from the current conversation; `mends` is whether a call had failed.
///
/// # Errors
/// [`Undrawn`] if there is no plan any more.
pub(super) async fn renew(
    scene: &mut Scene<'_>,
    course: &mut Course,
    renewal: Renewal<'_>,
    mends: bool,
) -> Result<(), Undrawn> {
    let ground = PlanGround::of(scene.pipeline, scene.turn, scene.offering);
    let conversation = scene.conversation();
    let last = conversation.iter().rev().find(|message| message.speaker == Speaker::User);
    let request = last.map_or("", |message| message.text.as_str());
    let asked = ground.ask(scene.pipeline, scene.turn, request).await;
    let sketch = Sketch { ground: &ground, asked: &asked, conversation: &conversation, outline: &[] };
    drawing::renew(scene, course, &sketch, renewal, mends).await
}
