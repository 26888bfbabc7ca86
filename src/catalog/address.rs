//! Which addresses count as public, and the networks a rule can name. An address in, its kind or
//! membership out; nothing is resolved or dialled here.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A CIDR network of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Network {
    base: IpAddr,
    prefix: u32,
}

impl Network {
    /// Reads `address/prefix`; a bare address is a network of one.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (base, prefix) = match text.split_once('/') {
            Some((base, prefix)) => (base, Some(prefix)),
            None => (text, None),
        };
        let base: IpAddr = base.parse().ok()?;
        let widest = if base.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => digits.parse().ok()?,
            Some(_) => return None,
            None => widest,
        };
        (prefix <= widest).then_some(Self { base, prefix })
    }

    /// Whether `address` lies inside.
    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        match (self.base, address) {
            (IpAddr::V4(base), IpAddr::V4(address)) => within_v4(address, base, self.prefix),
            (IpAddr::V6(base), IpAddr::V6(address)) => within_v6(address, base, self.prefix),
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}

fn within_v4(address: Ipv4Addr, base: Ipv4Addr, prefix: u32) -> bool {
    let mask = u32::MAX.checked_shl(32_u32.saturating_sub(prefix)).unwrap_or(0);
    address.to_bits() & mask == base.to_bits() & mask
}

fn within_v6(address: Ipv6Addr, base: Ipv6Addr, prefix: u32) -> bool {
    let mask = u128::MAX.checked_shl(128_u32.saturating_sub(prefix)).unwrap_or(0);
    address.to_bits() & mask == base.to_bits() & mask
}

// IANA's special-purpose registries, whatever is not globally reachable, and the one public address
// at which a cloud (Azure) serves its machines their settings; the first match names it.
const SPECIAL_V4: [(Ipv4Addr, u32, &str); 20] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8, "unspecified"),
    (Ipv4Addr::new(10, 0, 0, 0), 8, "private"),
    (Ipv4Addr::new(100, 100, 100, 200), 32, "metadata service"),
    (Ipv4Addr::new(100, 64, 0, 0), 10, "shared (carrier-grade NAT)"),
    (Ipv4Addr::new(127, 0, 0, 0), 8, "loopback"),
    (Ipv4Addr::new(168, 63, 129, 16), 32, "metadata service"),
    (Ipv4Addr::new(169, 254, 169, 254), 32, "metadata service"),
    (Ipv4Addr::new(169, 254, 0, 0), 16, "link-local"),
    (Ipv4Addr::new(172, 16, 0, 0), 12, "private"),
    (Ipv4Addr::new(192, 0, 0, 0), 24, "reserved"),
    (Ipv4Addr::new(192, 0, 2, 0), 24, "documentation"),
    (Ipv4Addr::new(192, 31, 196, 0), 24, "reserved"),
    (Ipv4Addr::new(192, 52, 193, 0), 24, "reserved"),
    (Ipv4Addr::new(192, 88, 99, 0), 24, "6to4 relay"),
    (Ipv4Addr::new(192, 168, 0, 0), 16, "private"),
    (Ipv4Addr::new(198, 18, 0, 0), 15, "benchmarking"),
    (Ipv4Addr::new(198, 51, 100, 0), 24, "documentation"),
    (Ipv4Addr::new(203, 0, 113, 0), 24, "documentation"),
    (Ipv4Addr::new(224, 0, 0, 0), 4, "multicast"),
    (Ipv4Addr::new(240, 0, 0, 0), 4, "reserved"),
];

const SPECIAL_V6: [(Ipv6Addr, u32, &str); 15] = [
    (Ipv6Addr::UNSPECIFIED, 128, "unspecified"),
    (Ipv6Addr::LOCALHOST, 128, "loopback"),
    (Ipv6Addr::new(0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x254), 128, "metadata service"),
    (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7, "private (unique local)"),
    (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10, "link-local"),
    (Ipv6Addr::new(0xfec0, 0, 0, 0, 0, 0, 0, 0), 10, "private (site-local)"),
    (Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8, "multicast"),
    (Ipv6Addr::new(0x0064, 0xff9b, 1, 0, 0, 0, 0, 0), 48, "NAT64 (local use)"),
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 32, "Teredo"),
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23, "reserved"),
    (Ipv6Addr::new(0x2001, 0x0db8, 0, 0, 0, 0, 0, 0), 32, "documentation"),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16, "6to4"),
    (Ipv6Addr::new(0x3ffe, 0, 0, 0, 0, 0, 0, 0), 16, "reserved"),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20, "documentation"),
    (Ipv6Addr::new(0x5f00, 0, 0, 0, 0, 0, 0, 0), 16, "segment routing"),
];

const NAT64: Ipv6Addr = Ipv6Addr::new(0x0064, 0xff9b, 0, 0, 0, 0, 0, 0);
const GLOBAL: Ipv6Addr = Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0);

/// Names what keeps `address` from being public; `None` for a public one.
///
/// IPv4 inside IPv6 counts as what it carries (mapped, NAT64). 6to4, Teredo and ISATAP are never public:
/// nothing is served there, and their relays can be anywhere.
pub(crate) fn special(address: IpAddr) -> Option<&'static str> {
    match address.to_canonical() {
        IpAddr::V4(v4) => SPECIAL_V4
            .iter()
            .find(|(base, prefix, _)| within_v4(v4, *base, *prefix))
            .map(|(_, _, name)| *name),
        IpAddr::V6(v6) if within_v6(v6, NAT64, 96) => {
            let [.., a, b, c, d] = v6.octets();
            special(IpAddr::V4(Ipv4Addr::new(a, b, c, d)))
        }
        // The last eight bytes of an ISATAP address end in the IPv4 address that it leads to.
        IpAddr::V6(v6) if matches!(v6.segments(), [_, _, _, _, 0 | 0x200, 0x5efe, _, _]) => {
            Some("ISATAP")
        }
        IpAddr::V6(v6) => SPECIAL_V6
            .iter()
            .find(|(base, prefix, _)| within_v6(v6, *base, *prefix))
            .map(|(_, _, name)| *name)
            .or_else(|| (!within_v6(v6, GLOBAL, 3)).then_some("reserved")),
    }
}
