//! Checks of requests that web pages make: served `Host` names, and refused origins.
//!
//! A page of another site can make a browser on the same machine or network send requests to the proxy. Two attacks
//! follow. In *DNS rebinding* the page's own name resolves to the proxy's address, so the browser takes the proxy for
//! the page's origin. Such a request names a foreign host. In a *cross-site request* the page addresses the proxy
//! directly. Such a request has a foreign `Origin` or `Sec-Fetch-Site`, which no script can set
//! (<https://fetch.spec.whatwg.org/#forbidden-request-header>).

use std::net::{IpAddr, Ipv6Addr};

use axum::http::header::{HOST, ORIGIN};
use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, Method, Uri, Version};

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const SEC_FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// Path of the console's page, which other pages may link to.
const CONSOLE: &str = "/console";

/// Parses an entry of `server.hosts` to a name, an address, or a suffix of names, which begins with a dot; `None` if no
/// host could match it.
pub(super) fn host_pattern(text: &str) -> Option<String> {
    let text = text.trim_end_matches('.').to_ascii_lowercase();
    let name = text.strip_prefix("*.").unwrap_or(&text);
    let has_valid_letters = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_'));
    if has_valid_letters && !name.is_empty() && !name.starts_with('.') {
        return Some(text.trim_start_matches('*').to_owned());
    }
    let address = text.trim_start_matches('[').trim_end_matches(']').parse::<Ipv6Addr>().ok()?;
    Some(address.to_string())
}

fn matches(pattern: &str, host: &str) -> bool {
    let is_suffix = pattern.starts_with('.') && host.len() > pattern.len() && host.ends_with(pattern);
    is_suffix || pattern == host
}

/// Whether a text is an origin as browsers send it: scheme, host and, unless it is the default, port.
pub(super) fn is_origin(text: &str) -> bool {
    let Some((scheme, authority)) = text.split_once("://") else { return false };
    let is_scheme = scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
    !scheme.is_empty() && is_scheme && authority.parse::<Authority>().is_ok()
}

/// The hosts that a listener serves.
#[derive(Debug)]
pub(super) struct HostRules {
    listed: Vec<String>,
    /// Address to which the listener is bound.
    bound: IpAddr,
}

/// Reason why the host of a request is refused.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HostFault {
    /// The host is absent, given more than once, or unparsable (RFC 9112, section 3.2).
    Invalid,
    /// The host belongs to another server.
    Foreign(String),
}

impl HostRules {
    pub(super) fn new(hosts: &[String], bound: IpAddr) -> Self {
        let listed = hosts.iter().filter_map(|host| host_pattern(host)).collect();
        Self { listed, bound: bound.to_canonical() }
    }

    /// Checks every host that a request names: the `:authority` of HTTP/2, the authority of an absolute request target,
    /// and `Host`.
    pub(super) fn check(&self, parts: &Parts) -> Result<(), HostFault> {
        let mut fields = parts.headers.get_all(HOST).iter();
        let field = match (fields.next(), fields.next()) {
            (None, _) => None,
            (Some(field), None) => {
                let authority = field.to_str().ok().and_then(|text| text.parse::<Authority>().ok());
                Some(authority.ok_or(HostFault::Invalid)?)
            }
            (Some(_), Some(_)) => return Err(HostFault::Invalid),
        };
        if field.is_none() && parts.uri.authority().is_none() {
            // Every browser sends a host. Probes that use HTTP/1.0 do not.
            return if parts.version <= Version::HTTP_10 { Ok(()) } else { Err(HostFault::Invalid) };
        }
        for authority in parts.uri.authority().into_iter().chain(&field) {
            if authority.as_str().contains('@') {
                return Err(HostFault::Invalid);
            }
            if !self.serves(authority.host()) {
                return Err(HostFault::Foreign(authority.host().to_owned()));
            }
        }
        Ok(())
    }

    /// Whether the proxy serves a host.
    ///
    /// An IP literal is not a name, so no DNS answer can rebind it. Loopback addresses and the address to which the
    /// listener is bound are served. A listener on all addresses serves every literal, because probes and scrapers of a
    /// cluster use the pod's address.
    fn serves(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        let host = host.strip_suffix('.').unwrap_or(&host);
        let literal = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
        let is_listed = self.listed.iter().any(|pattern| matches(pattern, literal));
        match literal.parse::<IpAddr>() {
            Ok(address) => {
                let address = address.to_canonical();
                address.is_loopback() || address == self.bound || self.bound.is_unspecified() || is_listed
            }
            Err(_) => host == "localhost" || host.ends_with(".localhost") || is_listed,
        }
    }
}

/// The origins that a listener serves.
#[derive(Debug)]
pub(super) struct OriginRules {
    allowed: Vec<String>,
    is_tls: bool,
    has_console: bool,
}

/// Origin of the page that made a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Initiator {
    /// No page, a page of the listener itself, or the user.
    Own,
    /// A page of an allowed origin.
    Allowed,
    /// A page of another origin.
    Foreign,
}

impl OriginRules {
    pub(super) fn new(allowed: &[String], is_tls: bool, has_console: bool) -> Self {
        Self { allowed: allowed.iter().map(|origin| origin.to_ascii_lowercase()).collect(), is_tls, has_console }
    }

    /// Determines the origin of the page that made a request.
    ///
    /// `Sec-Fetch-Site` decides if the browser sends it: it is correct even if a reverse proxy replaced `Host`.
    /// Otherwise `Origin` must match the request's host.
    pub(super) fn initiator(&self, parts: &Parts) -> Initiator {
        let origin = parts.headers.get(ORIGIN);
        if origin.and_then(|origin| origin.to_str().ok()).is_some_and(|origin| self.is_allowed(origin)) {
            return Initiator::Allowed;
        }
        let is_own = match parts.headers.get(&SEC_FETCH_SITE).map(|site| site.as_bytes()) {
            Some(b"same-origin" | b"none") => true,
            Some(_) => self.is_console_link(parts),
            None => origin.is_none_or(|origin| {
                origin.to_str().is_ok_and(|origin| self.is_same_origin(origin, &parts.uri, &parts.headers))
            }),
        };
        if is_own { Initiator::Own } else { Initiator::Foreign }
    }

    fn is_allowed(&self, origin: &str) -> bool {
        self.allowed.iter().any(|allowed| allowed.eq_ignore_ascii_case(origin))
    }

    /// Whether the request is a link from another page to the console. Such a link has no side effect, and the other
    /// page cannot read the response.
    fn is_console_link(&self, parts: &Parts) -> bool {
        self.has_console
            && parts.method == Method::GET
            && parts.uri.path() == CONSOLE
            && parts.headers.get(&SEC_FETCH_MODE).is_some_and(|mode| mode == "navigate")
            && parts.headers.get(&SEC_FETCH_DEST).is_some_and(|destination| destination == "document")
    }

    fn is_same_origin(&self, origin: &str, uri: &Uri, headers: &HeaderMap) -> bool {
        let Ok(origin) = origin.parse::<Uri>() else { return false };
        let (Some(scheme), Some(theirs)) = (origin.scheme_str(), origin.authority()) else { return false };
        // A reverse proxy may terminate TLS in front of a listener without TLS, but not the other way round.
        let default_port = match scheme {
            "https" => 443,
            "http" if !self.is_tls => 80,
            _ => return false,
        };
        let Some(own) = uri.authority().cloned().or_else(|| host_field(headers)) else { return false };
        own.host().eq_ignore_ascii_case(theirs.host())
            && own.port_u16().unwrap_or(default_port) == theirs.port_u16().unwrap_or(default_port)
    }
}

fn host_field(headers: &HeaderMap) -> Option<Authority> {
    headers.get(HOST)?.to_str().ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    fn parts(target: &str, fields: &[(&str, &str)]) -> Parts {
        let request = fields.iter().fold(Request::get(target), |request, (name, value)| request.header(*name, *value));
        request.body(()).unwrap().into_parts().0
    }

    fn rules(hosts: &[&str], bound: &str) -> HostRules {
        let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
        HostRules::new(&hosts, bound.parse().unwrap())
    }

    #[test]
    fn loopback_localhost_and_listed_hosts_are_served() {
        let rules = rules(&["Callwright", "*.example.com", "10.0.0.9", "[fd00::1]"], "127.0.0.1");
        for host in [
            "127.0.0.1:8787", "127.8.9.1", "[::1]:1", "[::ffff:127.0.0.1]", "localhost", "LOCALHOST:80", "localhost.",
            "a.localhost", "callwright:8787", "a.b.example.com", "10.0.0.9", "[fd00::1]:3",
        ] {
            assert_eq!(rules.check(&parts("/", &[("host", host)])), Ok(()), "{host}");
        }
        for host in [
            "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "evillocalhost", "example.com",
            "xexample.com", "callwright.evil.example", "10.0.0.1", "0.0.0.0", "2130706433", "[fd00::2]",
        ] {
            let found = rules.check(&parts("/", &[("host", host)]));
            assert_eq!(found, Err(HostFault::Foreign(host.to_owned())), "{host}");
        }
    }

    #[test]
    fn every_host_that_a_request_names_is_checked() {
        let rules = rules(&[], "127.0.0.1");
        let foreign = Err(HostFault::Foreign("evil.example".to_owned()));
        assert_eq!(rules.check(&parts("http://evil.example/", &[])), foreign);
        assert_eq!(rules.check(&parts("http://evil.example/", &[("host", "localhost")])), foreign);
        assert_eq!(rules.check(&parts("http://localhost/", &[("host", "evil.example")])), foreign);
        for fields in [&[][..], &[("host", "localhost"), ("host", "localhost")], &[("host", "a b")], &[("host", "")]] {
            assert_eq!(rules.check(&parts("/", fields)), Err(HostFault::Invalid), "{fields:?}");
        }
        assert_eq!(rules.check(&parts("/", &[("host", "x@localhost")])), Err(HostFault::Invalid));
        let mut old = parts("/", &[]);
        old.version = Version::HTTP_10;
        assert_eq!(rules.check(&old), Ok(()));
    }

    #[test]
    fn address_literals_are_served_where_the_listener_has_them() {
        let serves = |bound: &str, host: &str| rules(&[], bound).check(&parts("/", &[("host", host)])).is_ok();
        assert!(
            serves("10.1.2.3", "10.1.2.3:80") && serves("10.1.2.3", "127.0.0.1") && !serves("10.1.2.3", "10.1.2.4")
        );
        for bound in ["0.0.0.0", "::"] {
            assert!(
                serves(bound, "10.1.2.4") && serves(bound, "[fd00::1]") && !serves(bound, "evil.example"),
                "{bound}"
            );
        }
    }

    fn initiator(is_tls: bool, host: &str, fields: &[(&str, &str)]) -> Initiator {
        let rules = OriginRules::new(&["https://Chat.example".to_owned()], is_tls, true);
        let fields: Vec<(&str, &str)> = [("host", host)].into_iter().chain(fields.iter().copied()).collect();
        rules.initiator(&parts("/v1/models", &fields))
    }

    #[test]
    fn an_origin_must_be_the_requests_own_host() {
        let of = |is_tls, host: &str, origin: &str| initiator(is_tls, host, &[("origin", origin)]);
        for (is_tls, host, origin) in [
            (false, "127.0.0.1:8787", "http://127.0.0.1:8787"),
            (false, "LocalHost:80", "http://localhost"),
            (false, "[::1]:8787", "http://[::1]:8787"),
            (true, "a.example", "https://a.example"),
            (false, "a.example", "https://a.example"),
        ] {
            assert_eq!(of(is_tls, host, origin), Initiator::Own, "{origin} to {host}");
        }
        for (is_tls, host, origin) in [
            (false, "127.0.0.1:8787", "http://127.0.0.1:8788"),
            (false, "127.0.0.1:8787", "http://localhost:8787"),
            (false, "127.0.0.1:8787", "https://127.0.0.1"),
            (false, "127.0.0.1:8787", "null"),
            (false, "127.0.0.1:8787", ""),
            (false, "127.0.0.1:8787", "https://evil.example"),
            (false, "evil.example:443", "http://evil.example"),
            (true, "a.example", "http://a.example"),
            (false, "a.example", "chrome-extension://a.example"),
        ] {
            assert_eq!(of(is_tls, host, origin), Initiator::Foreign, "{origin} to {host}");
        }
        assert_eq!(of(false, "127.0.0.1:8787", "https://chat.example"), Initiator::Allowed);
        assert_eq!(initiator(false, "127.0.0.1", &[]), Initiator::Own, "no browser");
    }

    #[test]
    fn what_the_browser_says_of_the_site_decides() {
        let of = |site: &str| initiator(false, "127.0.0.1", &[("sec-fetch-site", site)]);
        assert_eq!((of("same-origin"), of("none")), (Initiator::Own, Initiator::Own));
        for site in ["cross-site", "same-site", "unknown", ""] {
            assert_eq!(of(site), Initiator::Foreign, "{site}");
        }
        let allowed = [("sec-fetch-site", "cross-site"), ("origin", "https://chat.example")];
        assert_eq!(initiator(false, "127.0.0.1", &allowed), Initiator::Allowed);
        let behind_a_proxy = [("sec-fetch-site", "same-origin"), ("origin", "https://console.example")];
        assert_eq!(initiator(false, "127.0.0.1", &behind_a_proxy), Initiator::Own);
    }

    #[test]
    fn a_link_leads_to_the_console_and_to_nothing_else() {
        let rules = |has_console| OriginRules::new(&[], false, has_console);
        let link = |path: &str, dest: &str| {
            let fields = [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", dest)];
            parts(path, &fields)
        };
        assert_eq!(rules(true).initiator(&link("/console", "document")), Initiator::Own);
        for foreign in [link("/admin/keys", "document"), link("/console", "iframe")] {
            assert_eq!(rules(true).initiator(&foreign), Initiator::Foreign);
        }
        assert_eq!(rules(false).initiator(&link("/console", "document")), Initiator::Foreign);
    }
}
