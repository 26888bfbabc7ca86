//! The kinds of values that are looked for, and which of them someone wants found.

use serde::{Deserialize, Serialize};

/// What kind of value stands at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The number of a mainland identity card: 18 characters by their check character; 15 digits
    /// behind a word such as `身份证`.
    Identity,
    /// A telephone number: mainland mobile and landline, international with its `+`, and what a word
    /// such as `phone` or `电话` announces.
    Phone,
    /// The number of a bank card, by Luhn's check digit, first digits, length and groups.
    Card,
    /// A mail address.
    Mail,
    /// A password, key, token, private key block, or the password in a URL.
    Secret,
    /// An address of the Internet Protocol, of either version. Off unless asked for.
    Ip,
    /// The number of a parcel. Off unless asked for.
    Tracking,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 7] = [
        Self::Identity,
        Self::Phone,
        Self::Card,
        Self::Mail,
        Self::Secret,
        Self::Ip,
        Self::Tracking,
    ];

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// Which kinds are looked for. In TOML and JSON a list of their names, such as
/// `["identity", "phone", "card", "mail", "secret"]`, which is the default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<Kind>", into = "Vec<Kind>")]
pub struct Rules(u8);

impl Rules {
    /// What is nobody else's business wherever it stands.
    pub const USUAL: Self =
        Self::of(&[Kind::Identity, Kind::Phone, Kind::Card, Kind::Mail, Kind::Secret]);

    /// Of these kinds.
    pub const fn of(mut kinds: &[Kind]) -> Self {
        let mut bits = 0;
        while let Some((first, rest)) = kinds.split_first() {
            bits |= first.bit();
            kinds = rest;
        }
        Self(bits)
    }

    /// Whether this kind is looked for.
    pub const fn has(self, kind: Kind) -> bool {
        self.0 & kind.bit() != 0
    }
}

impl Default for Rules {
    fn default() -> Self {
        Self::USUAL
    }
}

impl From<Vec<Kind>> for Rules {
    fn from(kinds: Vec<Kind>) -> Self {
        Self::of(&kinds)
    }
}

impl From<Rules> for Vec<Kind> {
    fn from(rules: Rules) -> Self {
        Kind::ALL.into_iter().filter(|kind| rules.has(*kind)).collect()
    }
}
