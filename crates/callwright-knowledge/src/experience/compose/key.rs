//! Keys of composed lessons.

use super::place::ArgumentLocation;
use super::{Event, Lived, Settings, subject};
use crate::experience::text::{first_sentence, shortened};

/// Builds the key: tool, parameter, kind of failure, and the tool's purpose. The purpose is what later requests have in
/// common with the lesson.
pub(super) fn key(lived: &Lived<'_>, settings: &Settings) -> String {
    let subject = subject(lived);
    let mut parts = vec![subject.name.clone()];
    match lived.event {
        Event::Fault { diagnosis, .. } => {
            let place = ArgumentLocation::of(&subject.parameters, &diagnosis.path);
            parts.extend(place.parameter.map(str::to_owned));
            parts.push(diagnosis.code.words().to_owned());
        }
        Event::Failure { status, .. } => parts.extend(status.map(|status| format!("status {status}"))),
        Event::Success { .. } => {}
    }
    if lived.tool.name != subject.name {
        parts.push(lived.tool.name.clone());
    }
    // Requests describe what the right tool does; the wrong tool's purpose may be unrelated.
    let purpose = if lived.tool.description.trim().is_empty() { subject } else { lived.tool };
    parts.push(first_sentence(&purpose.description, settings.key_chars));
    parts.retain(|part| !part.is_empty());
    shortened(&parts.join(", "), settings.key_chars).to_owned()
}
