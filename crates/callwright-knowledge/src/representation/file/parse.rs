//! Parses a representation file. Errors contain file, line, column and fix.

use super::error::RepresentationError;
use super::form::RepresentationFileForm;
use super::limits;
use super::stored::RepresentationFile;
use super::validate::{InvalidValue, validate};
use callwright_common::watch::FolderFile;
use callwright_common::yaml::{self, Bounds, YamlProblem};

const BOUNDS: Bounds = Bounds { depth: limits::DEPTH, events: limits::EVENTS };

/// Parses and validates a representation file.
pub(super) fn parse(file: &FolderFile) -> Result<RepresentationFile, RepresentationError> {
    let form: RepresentationFileForm = match yaml::is_blank(&file.text) {
        true => RepresentationFileForm::default(),
        false => yaml::read(&file.text, BOUNDS).map_err(|problem| invalid(file, problem))?,
    };
    match validate(&form) {
        Ok(()) => Ok(form.into_file()),
        Err(InvalidValue { place, message }) => {
            Err(invalid(file, yaml::problem_at(&file.text, &place, message, BOUNDS)))
        }
    }
}

fn invalid(file: &FolderFile, problem: YamlProblem) -> RepresentationError {
    let YamlProblem { line, column, message } = problem;
    RepresentationError::Invalid { file: file.shown(), line, column, message }
}
