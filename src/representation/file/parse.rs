//! A file's text → what it holds, with errors that name file, line, column and what mends them.

use super::error::RepresentationError;
use super::form::FileForm;
use super::limits;
use super::sources::Text;
use super::stored::RepresentationFile;
use super::validate::{Fault, validate};
use crate::domain::yaml::{self, Bounds, YamlProblem};

const BOUNDS: Bounds = Bounds { depth: limits::DEPTH, events: limits::EVENTS };

/// Reads a representation file.
pub(super) fn parse(text: &Text) -> Result<RepresentationFile, RepresentationError> {
    let form: FileForm = match yaml::is_blank(&text.content) {
        true => FileForm::default(),
        false => yaml::read(&text.content, BOUNDS).map_err(|problem| invalid(text, problem))?,
    };
    match validate(&form) {
        Ok(()) => Ok(form.into_file()),
        Err(Fault { place, message }) => Err(invalid(text, yaml::problem_at(&text.content, &place, message, BOUNDS))),
    }
}

fn invalid(text: &Text, problem: YamlProblem) -> RepresentationError {
    let YamlProblem { line, column, message } = problem;
    RepresentationError::Invalid { file: text.shown(), line, column, message }
}
