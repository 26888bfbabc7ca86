//! Evened-out text in, the places of keys in it out that their vendors gave a beginning of their own;
//! and whether anything in it is worth a look with the patterns. It reads each text once and fast:
//! most texts have nothing to hide.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::Place;
use super::kind::Kind;

/// Beginnings that vendors gave their keys and tokens, what these are made of beside letters and
/// digits, and how many characters follow at least. A longer beginning stands before its own.
const VENDORS: [(&str, &str, usize); 54] = [
    ("AKIA", "", 16),
    ("ASIA", "", 16),
    ("ABIA", "", 16),
    ("ACCA", "", 16),
    ("AKID", "", 32),
    ("LTAI", "", 12),
    ("ghp_", "", 20),
    ("gho_", "", 20),
    ("ghu_", "", 20),
    ("ghs_", "", 20),
    ("ghr_", "", 20),
    ("github_pat_", "_", 20),
    ("glpat-", "_-.", 20),
    ("gldt-", "_-", 20),
    ("glrt-", "_-", 20),
    ("glcbt-", "_-", 20),
    ("glptt-", "_-", 20),
    ("glft-", "_-", 20),
    ("glsoat-", "_-", 20),
    ("glagent-", "_-", 20),
    ("gloas-", "_-", 20),
    ("xoxa-", "-", 10),
    ("xoxb-", "-", 10),
    ("xoxe-", "-", 10),
    ("xoxo-", "-", 10),
    ("xoxp-", "-", 10),
    ("xoxr-", "-", 10),
    ("xoxs-", "-", 10),
    ("xapp-", "-", 20),
    ("sk_live_", "", 16),
    ("sk_test_", "", 16),
    ("rk_live_", "", 16),
    ("rk_test_", "", 16),
    ("whsec_", "+/=", 20),
    ("AIza", "_-", 30),
    ("ya29.", "_-.", 20),
    ("GOCSPX-", "_-", 20),
    ("npm_", "", 30),
    ("pypi-", "_-", 40),
    ("hf_", "", 30),
    ("SG.", "_-.", 40),
    ("dop_v1_", "", 40),
    ("shpat_", "", 32),
    ("shpss_", "", 32),
    ("gsk_", "", 40),
    ("xai-", "", 40),
    ("pplx-", "", 40),
    ("r8_", "", 30),
    ("dapi", "", 32),
    ("lin_api_", "", 30),
    ("ntn_", "", 40),
    ("hvs.", "_-", 20),
    ("sbp_", "", 40),
    ("AGE-SECRET-KEY-1", "", 50),
];

/// Text without any of these, in lower case, has nothing that the patterns look for.
const SIGNS: [&str; 20] = [
    "%40",
    " private key",
    "passw",
    "passphrase",
    "pwd",
    "secret",
    "key",
    "token",
    "credential",
    "authorization",
    "bearer",
    "basic ",
    "cookie",
    "密码",
    "口令",
    "密钥",
    "令牌",
    "eyj",
    "sk-",
    ":aa",
];

/// What may begin at a place, by its first two bytes in lower case.
struct Beginnings {
    /// One bit for each pair of bytes.
    pairs: Vec<bool>,
    vendors: BTreeMap<[u8; 2], Vec<usize>>,
    signs: BTreeMap<[u8; 2], Vec<&'static [u8]>>,
}

static BEGINNINGS: LazyLock<Beginnings> = LazyLock::new(Beginnings::new);

fn pair(first: u8, second: u8) -> usize {
    usize::from(first) << 8 | usize::from(second)
}

impl Beginnings {
    fn new() -> Self {
        let mut own =
            Self { pairs: vec![false; 1 << 16], vendors: BTreeMap::new(), signs: BTreeMap::new() };
        for (index, (beginning, ..)) in VENDORS.iter().enumerate() {
            if let Some(first) = own.add(beginning.as_bytes()) {
                own.vendors.entry(first).or_default().push(index);
            }
        }
        for sign in SIGNS {
            if let Some(first) = own.add(sign.as_bytes()) {
                own.signs.entry(first).or_default().push(sign.as_bytes());
            }
        }
        own
    }

    fn add(&mut self, text: &[u8]) -> Option<[u8; 2]> {
        let [first, second, ..] = text else { return None };
        let first = [first.to_ascii_lowercase(), second.to_ascii_lowercase()];
        if let Some(bit) = self.pairs.get_mut(pair(first[0], first[1])) {
            *bit = true;
        }
        Some(first)
    }
}

/// Adds the places of vendors' keys; says whether the patterns may find more.
pub(super) fn find(text: &[u8], found: &mut Vec<Place>) -> bool {
    let beginnings = &*BEGINNINGS;
    let (mut more, mut free) = (false, 0);
    let mut before = 0;
    for (end, byte) in text.iter().enumerate() {
        let second = byte.to_ascii_lowercase();
        more |= second == b'@';
        let first = std::mem::replace(&mut before, second);
        if beginnings.pairs.get(pair(first, second)) != Some(&true) {
            continue;
        }
        let Some((start, rest)) = end.checked_sub(1).and_then(|at| Some((at, text.get(at..)?)))
        else {
            continue;
        };
        more = more || beginnings.sign(first, second, rest);
        if start >= free
            && let Some(length) = beginnings.key(first, second, rest)
            && is_border(text, start)
        {
            found.push((Kind::Secret, start..start + length));
            free = start + length;
        }
    }
    more
}

impl Beginnings {
    fn sign(&self, first: u8, second: u8, text: &[u8]) -> bool {
        let signs = self.signs.get(&[first, second]);
        signs.into_iter().flatten().any(|sign| {
            text.get(..sign.len()).is_some_and(|start| start.eq_ignore_ascii_case(sign))
        })
    }

    /// Length of the key that begins here.
    fn key(&self, first: u8, second: u8, text: &[u8]) -> Option<usize> {
        let vendors = self.vendors.get(&[first, second])?;
        let lengths = vendors.iter().filter_map(|index| {
            let (beginning, others, least) = VENDORS.get(*index)?;
            let rest = text.strip_prefix(beginning.as_bytes())?;
            let is_part =
                |byte: &&u8| byte.is_ascii_alphanumeric() || others.as_bytes().contains(byte);
            let mut length = rest.iter().take_while(is_part).count();
            // What ends a sentence is no part of a key.
            length -= rest.get(..length)?.iter().rev().take_while(|byte| **byte == b'.').count();
            (length >= *least).then_some(beginning.len() + length)
        });
        lengths.max()
    }
}

/// Whether a word may begin here: behind anything that is no letter or digit, or behind an escape.
pub(super) fn is_border(text: &[u8], at: usize) -> bool {
    let back = |count: usize| at.checked_sub(count).and_then(|at| text.get(at)).copied();
    match back(1) {
        Some(byte) if byte.is_ascii_alphanumeric() => {
            let escaped = back(3) == Some(b'%')
                && byte.is_ascii_hexdigit()
                && back(2).is_some_and(|byte| byte.is_ascii_hexdigit());
            escaped || (back(2) == Some(b'\\') && matches!(byte, b'n' | b'r' | b't'))
        }
        _ => true,
    }
}
