//! Finds the parameters that a model should not fill, and how requests get them instead.
//!
//! - Credentials: a security scheme covers them, or a documented convention ([`conventions`]) identifies them.
//! - Parameters of the transport: a documented convention identifies them.
//! - The version of the API ([`api_version`]): every request has its value. The same holds for required arguments with
//!   a single allowed value, which the translation of schemas finds.
//!
//! The load report lists all of them with the reason.

mod api_version;
mod conventions;
mod survey;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use api_version::ApiVersion;
use conventions::{CONVENTIONS, Condition, Convention};
use survey::ParameterSurvey;

use crate::tool::text::is_among;
use crate::{
    ApiDocument, DocumentOperation, HiddenParameter, LoadNotes, Location, OperationBody, OperationParameter,
    Requirement, SecurityScheme,
};
use callwright_common::text::{letters, name_words};

/// Last words of the names of headers that carry a credential.
const CREDENTIAL_WORDS: &str = "key password secret token";

/// Maximum number of alternative security requirements that an optional credential may lead to.
const MAX_ALTERNATIVES: usize = 16;

/// Rules of one document for the parameters that are not offered.
pub(super) struct HiddenParameterRules {
    survey: ParameterSurvey,
    /// The document's security schemes, and those implied by parameters.
    schemes: BTreeMap<String, SecurityScheme>,
    version: ApiVersion,
}

/// Reason why a parameter is not offered.
enum HidingReason {
    /// The security scheme with this name sends it.
    Scheme(String),
    /// A documented convention.
    Convention(&'static Convention),
    /// A token that the operation's security schemes send.
    Token,
}

impl HiddenParameterRules {
    /// Examines the operations `sources`. `schemes` are the security schemes that the document defines.
    pub(super) fn new(
        document: &ApiDocument,
        sources: &[DocumentOperation<'_>],
        schemes: &BTreeMap<String, SecurityScheme>,
    ) -> Self {
        let survey = ParameterSurvey::new(sources);
        let mut rules = Self { survey, schemes: schemes.clone(), version: ApiVersion::new(document) };
        let mut implied: Vec<(String, Location)> = Vec::new();
        for (name, location) in rules.survey.parameters() {
            if rules.is_key(name, *location) && rules.covering(name, *location).is_none() {
                implied.push((name.clone(), *location));
            }
        }
        implied.sort_unstable();
        for (name, location) in implied {
            let taken = rules.schemes.contains_key(&name);
            let scheme = if taken { format!("{name}_{}", location.as_str()) } else { name.clone() };
            rules.schemes.entry(scheme).or_insert(SecurityScheme::ApiKey { location, name });
        }
        rules
    }

    /// Returns the schemes of the document, and the implied ones that `used` contains.
    pub(super) fn into_schemes<'a>(
        self,
        own: BTreeMap<String, SecurityScheme>,
        used: impl Iterator<Item = &'a Requirement>,
    ) -> BTreeMap<String, SecurityScheme> {
        let mut schemes = own;
        for requirement in used {
            if let Some((name, scheme)) = self.schemes.get_key_value(&requirement.scheme) {
                schemes.entry(name.clone()).or_insert_with(|| scheme.clone());
            }
        }
        schemes
    }

    /// Removes the parameters that the model is not offered, and adds the credentials among them to `security`.
    pub(super) fn take(
        &self,
        parameters: &mut Vec<OperationParameter<'_>>,
        security: &mut Vec<Vec<Requirement>>,
        notes: &mut LoadNotes,
    ) {
        let names: Vec<(String, Location)> =
            parameters.iter().map(|parameter| (parameter.name.to_lowercase(), parameter.location)).collect();
        let has_token = self.requires_token(security);
        parameters.retain(|parameter| {
            let Some(reason) = self.reason(parameter, &names, has_token) else { return true };
            let text = match &reason {
                HidingReason::Scheme(scheme) => {
                    require(security, scheme, parameter.required);
                    format!("sent by the security scheme `{scheme}`")
                }
                HidingReason::Token => "a token that the operation's security scheme sends".to_owned(),
                HidingReason::Convention(convention) => format!("{} ({})", convention.name, convention.source),
            };
            notes.hide(HiddenParameter::new(&parameter.name, parameter.location.as_str(), None, text));
            false
        });
    }

    /// Removes the tokens among the fields of a form, as [`Self::take`] does for parameters.
    pub(super) fn take_fields(
        &self,
        body: &mut Option<OperationBody<'_>>,
        security: &[Vec<Requirement>],
        notes: &mut LoadNotes,
    ) {
        let Some(form) = body.as_mut().filter(|form| !form.fields.is_empty() && self.requires_token(security)) else {
            return;
        };
        form.fields.retain(|field| {
            let is_token = is_bearer_name(field.name) || self.is_general_token(field.name);
            if is_token {
                let text = "a token that the operation's security scheme sends";
                notes.hide(HiddenParameter::new(field.name, "body", None, text.to_owned()));
            }
            !is_token
        });
        if form.fields.is_empty() {
            *body = None;
        }
    }

    /// Returns the parameter for the version of the API with its value.
    pub(super) fn version(&self, parameters: &[OperationParameter<'_>]) -> Option<HiddenParameter> {
        parameters.iter().find_map(|parameter| {
            let (value, reason) = self.version.value(parameter, &self.survey)?;
            Some(HiddenParameter::new(&parameter.name, parameter.location.as_str(), Some(value), reason.to_owned()))
        })
    }

    fn reason(
        &self,
        parameter: &OperationParameter<'_>,
        names: &[(String, Location)],
        has_token: bool,
    ) -> Option<HidingReason> {
        let location = parameter.location;
        if location == Location::Path {
            return None;
        }
        let name = parameter.name.to_lowercase();
        if has_token && self.is_general_token(&parameter.name) {
            return Some(HidingReason::Token);
        }
        if let Some(scheme) = self.covering(&parameter.name, location) {
            let is_implied = self.is_key(&parameter.name, location);
            let convention = applicable(&name, parameter, names, has_token);
            // A key of a convention that does not apply to this operation, such as a lone `key`, is an argument.
            if !is_implied || convention.is_some() || self.is_general_header(&parameter.name, location) {
                return Some(HidingReason::Scheme(scheme.to_owned()));
            }
        }
        applicable(&name, parameter, names, has_token).map(HidingReason::Convention)
    }

    /// Returns the name of the scheme that sends the parameter.
    fn covering(&self, name: &str, location: Location) -> Option<&str> {
        self.schemes.iter().find(|(_, scheme)| covers(scheme, name, location)).map(|(name, _)| name.as_str())
    }

    /// Whether the parameter may be a key that the document has no scheme for.
    fn is_key(&self, name: &str, location: Location) -> bool {
        let lower = name.to_lowercase();
        let is_listed =
            CONVENTIONS.iter().any(|convention| convention.has(&lower, location) && is_among(convention.keys, &lower));
        is_listed || self.is_general_header(name, location)
    }

    /// Whether it is a header for a key or token that most operations have.
    fn is_general_header(&self, name: &str, location: Location) -> bool {
        let words = name_words(name);
        location == Location::Header
            && !is_listed(name, location)
            && words.last().is_some_and(|last| is_among(CREDENTIAL_WORDS, last))
            && !words.concat().contains("idempot")
            && self.survey.is_general(name, location)
    }

    /// Whether it is a `token` that most operations have, whatever its location.
    fn is_general_token(&self, name: &str) -> bool {
        name.eq_ignore_ascii_case("token") && self.survey.is_general_anywhere(name)
    }

    fn is_token(&self, required: &Requirement) -> bool {
        matches!(
            self.schemes.get(&required.scheme),
            Some(SecurityScheme::Bearer | SecurityScheme::OAuth2 { .. } | SecurityScheme::OpenIdConnect)
        )
    }

    /// Whether every alternative of the requirements includes a token that a security scheme sends.
    fn requires_token(&self, security: &[Vec<Requirement>]) -> bool {
        let mut given = security.iter().filter(|alternative| !alternative.is_empty()).peekable();
        given.peek().is_some() && given.all(|alternative| alternative.iter().any(|required| self.is_token(required)))
    }
}

/// Whether the scheme sends the parameter.
fn covers(scheme: &SecurityScheme, name: &str, location: Location) -> bool {
    match scheme {
        SecurityScheme::ApiKey { location: own, name: field } if *own == location => match location {
            Location::Header => field.eq_ignore_ascii_case(name),
            _ => field == name,
        },
        _ => false,
    }
}

/// Returns the convention that applies to the parameter `name` (in lower case) among the operation's `names`.
fn applicable(
    name: &str,
    parameter: &OperationParameter<'_>,
    names: &[(String, Location)],
    has_token: bool,
) -> Option<&'static Convention> {
    CONVENTIONS.iter().filter(|convention| convention.has(name, parameter.location)).find(|convention| match convention
        .condition
    {
        Condition::Name => true,
        Condition::Optional => !parameter.required,
        Condition::Together(least) => {
            names.iter().filter(|(name, location)| convention.has(name, *location)).count() >= least
        }
        Condition::Mentions(term) => letters(parameter.description.unwrap_or_default()).contains(term),
        Condition::TokenRequired => has_token,
    })
}

/// Whether a convention identifies the parameter by its name alone.
fn is_listed(name: &str, location: Location) -> bool {
    let lower = name.to_lowercase();
    CONVENTIONS.iter().any(|convention| convention.condition == Condition::Name && convention.has(&lower, location))
}

fn is_bearer_name(name: &str) -> bool {
    let lower = name.to_lowercase();
    CONVENTIONS
        .iter()
        .any(|convention| convention.condition == Condition::TokenRequired && is_among(convention.names, &lower))
}

/// Adds the scheme to the requirements: to every alternative if the parameter is required, otherwise as a further
/// alternative that is preferred.
fn require(security: &mut Vec<Vec<Requirement>>, scheme: &str, is_required: bool) {
    let is_known = security.iter().flatten().any(|required| required.scheme == scheme);
    if is_known || security.len() * 2 > MAX_ALTERNATIVES {
        return;
    }
    if security.is_empty() {
        security.push(Vec::new());
    }
    let mut with = security.clone();
    for alternative in &mut with {
        alternative.push(Requirement::from(scheme));
    }
    if !is_required {
        with.append(security);
    }
    *security = with;
}
