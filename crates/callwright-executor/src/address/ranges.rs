//! The address ranges that are not public.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// IPv4 ranges that are not public: the IANA special-purpose registry (RFC 6890), multicast and reserved space, and
/// one public address at which a cloud provider serves its metadata.
const LOCAL_IPV4: [([u8; 4], u32); 16] = [
    ([0, 0, 0, 0], 8),        // "this network" (RFC 791)
    ([10, 0, 0, 0], 8),       // private (RFC 1918)
    ([100, 64, 0, 0], 10),    // shared by carriers (RFC 6598); Alibaba Cloud's metadata
    ([127, 0, 0, 0], 8),      // loopback (RFC 1122)
    ([169, 254, 0, 0], 16),   // link-local (RFC 3927); most clouds' metadata
    ([172, 16, 0, 0], 12),    // private (RFC 1918)
    ([192, 0, 0, 0], 24),     // protocol assignments (RFC 6890); Oracle Cloud's metadata
    ([192, 0, 2, 0], 24),     // documentation (RFC 5737)
    ([192, 88, 99, 0], 24),   // 6to4 relays (RFC 7526)
    ([192, 168, 0, 0], 16),   // private (RFC 1918)
    ([198, 18, 0, 0], 15),    // benchmarks (RFC 2544)
    ([198, 51, 100, 0], 24),  // documentation (RFC 5737)
    ([203, 0, 113, 0], 24),   // documentation (RFC 5737)
    ([224, 0, 0, 0], 4),      // multicast (RFC 5771)
    ([240, 0, 0, 0], 4),      // reserved, limited broadcast (RFC 1112, RFC 919)
    ([168, 63, 129, 16], 32), // Azure's metadata
];

/// Ranges inside 2000::/3, the only public space of IPv6 (RFC 4291), that are not public.
const LOCAL_IPV6: [([u16; 8], u32); 3] = [
    ([0x2001, 0, 0, 0, 0, 0, 0, 0], 23), // protocol assignments (RFC 2928), Teredo among them
    ([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32), // documentation (RFC 3849)
    ([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20), // documentation (RFC 9637)
];

/// Whether an address is public. An address that embeds an IPv4 address (mapped, NAT64, 6to4) is public if that IPv4
/// address is.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => match embedded_v4(address) {
            Some(address) => is_public_v4(address),
            None => is_public_v6(address),
        },
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    !LOCAL_IPV4.iter().any(|(network, bits)| same_prefix_v4(address, Ipv4Addr::from(*network), *bits))
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let global = same_prefix_v6(address, Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);
    global && !LOCAL_IPV6.iter().any(|(network, bits)| same_prefix_v6(address, Ipv6Addr::from(*network), *bits))
}

/// Returns the IPv4 address inside an IPv6 address: mapped (RFC 4291 section 2.5.5.2), NAT64 (RFC 6052 section 2.1)
/// or 6to4 (RFC 3056 section 2).
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, d, e, f, g, h] = address.segments();
    match (a, b) {
        (0x2002, _) => Some(joined(b, c)),
        (0x64, 0xff9b) if (c, d, e, f) == (0, 0, 0, 0) => Some(joined(g, h)),
        _ => address.to_ipv4_mapped(),
    }
}

fn joined(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from((u32::from(high) << 16) | u32::from(low))
}

/// Whether the first `bits` bits are equal.
pub(super) fn same_prefix_v4(left: Ipv4Addr, right: Ipv4Addr, bits: u32) -> bool {
    (u32::from(left) ^ u32::from(right)).checked_shr(32 - bits.min(32)).unwrap_or(0) == 0
}

/// Whether the first `bits` bits are equal.
pub(super) fn same_prefix_v6(left: Ipv6Addr, right: Ipv6Addr, bits: u32) -> bool {
    (u128::from(left) ^ u128::from(right)).checked_shr(128 - bits.min(128)).unwrap_or(0) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_every_range_are_inside_and_neighbours_outside() {
        let cases = [
            ("9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0"),
            ("100.63.255.255", "100.64.0.0", "100.127.255.255", "100.128.0.0"),
            ("126.255.255.255", "127.0.0.0", "127.255.255.255", "128.0.0.0"),
            ("169.253.255.255", "169.254.0.0", "169.254.255.255", "169.255.0.0"),
            ("172.15.255.255", "172.16.0.0", "172.31.255.255", "172.32.0.0"),
            ("192.167.255.255", "192.168.0.0", "192.168.255.255", "192.169.0.0"),
            ("198.17.255.255", "198.18.0.0", "198.19.255.255", "198.20.0.0"),
            ("2001:db7:ffff::", "2001:db8::", "2001:db8:ffff::", "2001:db9::"),
            ("3ffe::", "3fff::", "3fff:fff::", "3fff:1000::"),
        ];
        for (before, first, last, after) in cases {
            for outside in [before, after] {
                assert!(is_public(outside.parse().unwrap()), "{outside}");
            }
            for inside in [first, last] {
                assert!(!is_public(inside.parse().unwrap()), "{inside}");
            }
        }
    }

    #[test]
    fn an_embedded_address_is_checked_as_the_inner_address() {
        for local in
            ["::ffff:10.0.0.1", "64:ff9b::a00:1", "2002:a00:1::1", "::10.0.0.1", "64:ff9b:1::808:808", "2001::1"]
        {
            assert!(!is_public(local.parse().unwrap()), "{local}");
        }
        for public in ["::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1", "2a00:1450::1"] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
    }
}
