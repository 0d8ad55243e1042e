//! The key of a composed lesson.

use super::place::Place;
use super::{Event, Lived, Settings, subject};
use crate::experience::text::{first_sentence, shortened};

/// Tool, parameter, what went wrong, and what the tool is for: the last is what requests have in common with it.
pub(super) fn key(lived: &Lived<'_>, settings: &Settings) -> String {
    let subject = subject(lived);
    let mut parts = vec![subject.name.clone()];
    match lived.event {
        Event::Fault { diagnosis, .. } => {
            let place = Place::of(&subject.parameters, &diagnosis.path);
            parts.extend(place.parameter.map(str::to_owned));
            parts.push(diagnosis.code.words().to_owned());
        }
        Event::Failure { status, .. } => parts.extend(status.map(|status| format!("status {status}"))),
        Event::Success { .. } => {}
    }
    if lived.tool.name != subject.name {
        parts.push(lived.tool.name.clone());
    }
    // What is asked for is what the right tool does; a wrong one may have little to do with it.
    let purpose = if lived.tool.description.trim().is_empty() { subject } else { lived.tool };
    parts.push(first_sentence(&purpose.description, settings.key_chars));
    parts.retain(|part| !part.is_empty());
    shortened(&parts.join(", "), settings.key_chars).to_owned()
}
