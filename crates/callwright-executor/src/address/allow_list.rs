//! Exceptions of the operator: addresses, networks and host names.

use std::net::IpAddr;

use super::ranges::{same_prefix_v4, same_prefix_v6};
use crate::BuildError;

/// Addresses, networks and host names that the operator allows in addition to public addresses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct AllowList {
    networks: Vec<(IpAddr, u32)>,
    names: Vec<String>,
}

impl AllowList {
    /// Parses the entries of `allowed_addresses`.
    ///
    /// # Errors
    /// [`BuildError::AllowedAddress`] for the first entry that is not an address, a network or a host name.
    pub(crate) fn parse(entries: &[String]) -> Result<Self, BuildError> {
        let mut list = Self::default();
        for entry in entries {
            list.add(entry.trim()).map_err(|why| BuildError::AllowedAddress { entry: entry.clone(), why })?;
        }
        Ok(list)
    }

    /// Whether the address is listed, or is in a listed network.
    pub(super) fn has_address(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.networks.iter().any(|(network, bits)| match (address, network) {
            (IpAddr::V4(address), IpAddr::V4(network)) => same_prefix_v4(address, *network, *bits),
            (IpAddr::V6(address), IpAddr::V6(network)) => same_prefix_v6(address, *network, *bits),
            _ => false,
        })
    }

    pub(super) fn has_name(&self, name: &str) -> bool {
        self.names.contains(&normalised_name(name))
    }

    fn add(&mut self, entry: &str) -> Result<(), &'static str> {
        if entry.contains("://") {
            return Err("a URL; leave out the scheme, the port and the path");
        }
        if has_port(entry) {
            return Err("an address with a port, but an entry allows every port; leave out the port");
        }
        if let Some((address, bits)) = entry.split_once('/') {
            let address: IpAddr =
                address.parse().map_err(|_| "not a network: the part before the `/` is not an IP address")?;
            let bits: u32 =
                bits.parse().map_err(|_| "not a network: the part after the `/` is not a number of bits")?;
            if bits > address_bits(address) {
                return Err("not a network: its prefix is longer than the address");
            }
            self.networks.push((address, bits));
        } else if let Ok(address) = bare_address(entry) {
            let address = address.to_canonical();
            self.networks.push((address, address_bits(address)));
        } else {
            self.names.push(host_name(entry)?);
        }
        Ok(())
    }
}

/// Whether the entry is a host or address with a port, as in a URL.
fn has_port(entry: &str) -> bool {
    let (host, port) = entry.rsplit_once(':').unwrap_or((entry, ""));
    let is_port = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    // An IPv6 address has a port only if it is in brackets.
    is_port && (host.ends_with(']') || !host.contains(':'))
}

/// Parses an address, also an IPv6 address in the brackets of a URL.
fn bare_address(entry: &str) -> Result<IpAddr, std::net::AddrParseError> {
    entry.trim_start_matches('[').trim_end_matches(']').parse()
}

/// Normalises a name with the URL parser, so that the Unicode and Punycode forms of an international name are equal.
fn host_name(entry: &str) -> Result<String, &'static str> {
    match url::Host::parse(entry) {
        Ok(url::Host::Domain(name)) if name.contains('*') => Err("a pattern, which is not supported"),
        Ok(url::Host::Domain(name)) => Ok(normalised_name(&name)),
        Ok(_) => Err("an address in an ambiguous notation"),
        Err(_) => Err("not a host name"),
    }
}

/// Removes the dot of a fully qualified name, and folds the case.
fn normalised_name(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

fn address_bits(address: IpAddr) -> u32 {
    if address.is_ipv4() { 32 } else { 128 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(entry: &str) -> Result<AllowList, BuildError> {
        AllowList::parse(&[entry.to_owned()])
    }

    #[test]
    fn addresses_networks_and_names_are_read() {
        let list =
            AllowList::parse(&["127.0.0.1", "[::1]", "fd00::/8", "0.0.0.0/0", "Bücher.example."].map(str::to_owned))
                .unwrap();
        for address in ["127.0.0.1", "::1", "fdff::1", "10.9.8.7", "::ffff:10.9.8.7"] {
            assert!(list.has_address(address.parse().unwrap()), "{address}");
        }
        assert!(!list.has_address("fe80::1".parse().unwrap()));
        assert!(list.has_name("xn--bcher-kva.example") && list.has_name("XN--bcher-kva.example."));
        assert!(!list.has_name("example"));
    }

    #[test]
    fn an_invalid_entry_is_an_error_that_names_it() {
        for (entry, why) in [
            ("http://a", "leave out the scheme"),
            ("https://10.0.0.1:80/x", "leave out the scheme"),
            ("127.0.0.1:8080", "leave out the port"),
            ("[::1]:80", "leave out the port"),
            ("rooms.internal:443", "leave out the port"),
        ] {
            let error = parse(entry).unwrap_err().to_string();
            assert!(error.contains(&format!("`{entry}`")) && error.contains(why), "{error}");
        }
        for entry in ["", "10.0.0.0/33", "10.0.0.0/x", "host/8", "http://a", "a b", "*.internal", "0x7f.1", "::1/129"] {
            let error = parse(entry).unwrap_err().to_string();
            assert!(error.contains(&format!("`{entry}`")) && error.contains("allowed_addresses"), "{error}");
        }
    }
}
