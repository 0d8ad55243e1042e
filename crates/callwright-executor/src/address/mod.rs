//! Address policy: the addresses that the executor may connect to.
//!
//! The policy applies to addresses, not to names. The proxy resolves a name, checks its addresses, and connects to a
//! checked address. A name that resolves differently the second time (DNS rebinding) therefore gains nothing.

mod allow_list;
mod audit;
mod ranges;
mod resolver;

use std::net::IpAddr;

use url::Host;

pub(super) use allow_list::AllowList;
pub use audit::AddressAudit;
pub use resolver::Lookup;
pub(super) use resolver::{CheckedResolver, ForbiddenAddress, SystemLookup};

use super::refusal::refuse;
use callwright_types::Refusal;

/// Decides whether the executor may connect to an address: public addresses and those that the operator allows.
#[derive(Debug, Clone, Default)]
pub(super) struct AddressPolicy {
    allowed: AllowList,
}

impl AddressPolicy {
    pub(super) fn new(allowed: AllowList) -> Self {
        Self { allowed }
    }

    /// Checks a host that is an IP address literal; a name is checked when it is resolved. The URL parser has already
    /// normalised the decimal, octal, hexadecimal and shortened forms of IPv4 addresses.
    pub(super) fn check_literal(&self, host: Host<&str>) -> Result<(), Refusal> {
        let address = match host {
            Host::Domain(_) => return Ok(()),
            Host::Ipv4(address) => IpAddr::V4(address),
            Host::Ipv6(address) => IpAddr::V6(address),
        };
        if self.permits(address) { Ok(()) } else { Err(forbidden(&address.to_string(), &[address])) }
    }

    /// Whether the operator's list names this host.
    pub(super) fn names(&self, host: Host<&str>) -> bool {
        match host {
            Host::Domain(name) => self.allowed.has_name(name),
            Host::Ipv4(address) => self.allowed.has_address(IpAddr::V4(address)),
            Host::Ipv6(address) => self.allowed.has_address(IpAddr::V6(address)),
        }
    }

    /// Returns the addresses of `name` that the executor may connect to.
    pub(super) fn check_resolved(&self, name: &str, addresses: Vec<IpAddr>) -> Result<Vec<IpAddr>, Refusal> {
        if self.allowed.has_name(name) {
            return Ok(addresses);
        }
        let (permitted, others): (Vec<_>, Vec<_>) = addresses.into_iter().partition(|address| self.permits(*address));
        if permitted.is_empty() { Err(forbidden(name, &others)) } else { Ok(permitted) }
    }

    fn permits(&self, address: IpAddr) -> bool {
        ranges::is_public(address) || self.allowed.has_address(address)
    }
}

fn forbidden(host: &str, addresses: &[IpAddr]) -> Refusal {
    match addresses.first() {
        Some(address) => refuse!(
            AddressNotAllowed,
            "the address {address} of `{host}` is private, local or reserved; `executor.allowed_addresses` in the configuration would allow it"
        ),
        None => refuse!(NoAddress, "`{host}` has no address"),
    }
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::*;

    fn check(policy: &AddressPolicy, url: &str) -> bool {
        let url = Url::parse(url).unwrap();
        policy.check_literal(url.host().unwrap()).is_ok()
    }

    #[test]
    fn every_notation_of_a_local_address_is_refused() {
        let policy = AddressPolicy::default();
        let hostile = [
            "http://127.0.0.1/", "http://127.1/", "http://2130706433/", "http://0x7f000001/", "http://0x7f.0.0.1/",
            "http://0177.0.0.1/", "http://017700000001/", "http://127.0.0.1./", "http://127.000.000.001/",
            "http://①②⑦.⓪.⓪.①/", "http://0/", "http://0.0.0.0/", "http://[::1]/", "http://[::]/",
            "http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/", "http://[::127.0.0.1]/",
            "http://[0:0:0:0:0:ffff:a00:1]/", "http://[64:ff9b::7f00:1]/", "http://[2002:7f00:1::]/",
            "http://[fe80::1]/", "http://[fc00::1]/", "http://169.254.169.254/", "http://0xa9fea9fe/",
            "http://2852039166/", "http://0251.0376.0251.0376/", "http://[fd00:ec2::254]/", "http://10.0.0.1/",
            "http://172.31.255.255/", "http://192.168.1.1/", "http://100.100.100.200/", "http://168.63.129.16/",
            "http://224.0.0.1/", "http://255.255.255.255/", "http://[ff02::1]/",
        ];
        for url in hostile {
            assert!(!check(&policy, url), "{url}");
        }
        for url in
            ["http://8.8.8.8/", "http://[2606:4700:4700::1111]/", "http://172.32.0.1/", "http://[::ffff:8.8.8.8]/"]
        {
            assert!(check(&policy, url), "{url}");
        }
    }

    #[test]
    fn only_allowed_addresses_are_permitted() {
        let policy = AddressPolicy::new(AllowList::parse(&["127.0.0.1".into(), "10.1.0.0/16".into()]).unwrap());
        for url in ["http://127.0.0.1/", "http://2130706433/", "http://[::ffff:127.0.0.1]/", "http://10.1.255.1/"] {
            assert!(check(&policy, url), "{url}");
        }
        for url in ["http://127.0.0.2/", "http://10.2.0.1/", "http://[::1]/"] {
            assert!(!check(&policy, url), "{url}");
        }
    }

    #[test]
    fn of_a_name_s_addresses_only_permitted_ones_remain() {
        let policy = AddressPolicy::default();
        let mixed = vec!["10.0.0.1".parse().unwrap(), "8.8.8.8".parse().unwrap()];
        assert_eq!(policy.check_resolved("x.example", mixed), Ok(vec!["8.8.8.8".parse().unwrap()]));
        let local: Vec<IpAddr> = vec!["127.0.0.1".parse().unwrap()];
        for name in ["localhost", "app.localhost", "rebound.example"] {
            let refusal = policy.check_resolved(name, local.clone()).unwrap_err();
            assert!(refusal.message.contains("allowed_addresses"), "{refusal}");
        }
        assert!(policy.check_resolved("nothing.example", Vec::new()).is_err());
    }

    #[test]
    fn an_allowed_name_may_have_any_address_that_alone_is_refused() {
        let policy = AddressPolicy::new(AllowList::parse(&["rooms.internal".into()]).unwrap());
        let address: IpAddr = "10.0.0.7".parse().unwrap();
        assert_eq!(policy.check_resolved("Rooms.Internal.", vec![address]), Ok(vec![address]));
        assert!(policy.check_resolved("evil.example", vec![address]).is_err());
        assert!(!check(&policy, "http://10.0.0.7/"));
    }
}
