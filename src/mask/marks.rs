//! Evened-out text in, the places in it out of what is secret by what stands before or around it:
//! tokens, private keys, passwords in URLs and behind their names, and mail addresses. Every pattern
//! is matched in linear time.

use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes::{Regex, RegexBuilder};

use super::kind::{self, Rules};
use super::{MASK, Place};

/// What must stand before a key, so that it is no part of a longer word: an escape will do.
const LEFT: &str = r"(?:^|[^A-Za-z0-9]|%[0-9A-Fa-f]{2}|\\[nrt])";

/// Names of secrets. Where a hyphen or another word stands before them, they still are.
const NAME: &str = r"(?i:pass(?:word|wd|phrase)|secret|(?:api|access|private|secret|signing|account)[_ -]?key|(?:access|auth|refresh|session|bearer|id|api|csrf)[_-]?token|credentials?|authorization|密码|口令|密钥|令牌)|(?:^|--|[^A-Za-z0-9_-])(?i:token)|(?:^|[^A-Za-z])(?i:pwd)";
/// What stands between a name and its value: a closing quotation mark first, at last the scheme of a
/// header.
const IS: &str = r#"\\*["'`\]]*[ \t]*(?:=>|:=|==?|:|是|为)[ \t]*(?:(?i:bearer|basic|digest|token|apikey|negotiate)[ \t]+)?"#;
/// A value: in quotation marks, in escaped ones, or bare.
const VALUE: &str = r#"(?:"((?:[^"\\\r\n]|\\.)+)|'((?:[^'\\\r\n]|\\.)+)|\\+["']([^"'\\\r\n]+)|((?:[^\s"'`&;<>\\\x80-\xff({\[]|[\xc3-\xdf][\x80-\xbf])(?:[^\s"'`&;<>\\\x80-\xff]|[\xc3-\xdf][\x80-\xbf])*))"#;
/// One letter or digit of a mail address before its `@`, and of a name in its domain.
const LOCAL: &str = r"(?:[A-Za-z0-9._%+-]|[\xc3-\xc9][\x80-\xbf])";
const LABEL: &str = r"(?:[A-Za-z0-9-]|[\xc3-\xc9][\x80-\xbf])";

/// What a pattern finds; it decides what else must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A private key, or a password in a URL.
    Certain,
    /// The beginning of a JWT.
    Token,
    /// What stands between the two parts of a bot's token.
    Bot,
    /// `sk-` and what follows, which may be a word with hyphens.
    Hyphened,
    /// What follows a name.
    Named,
    /// What follows `Bearer` or `Basic` outside of a header.
    Scheme,
    Cookie,
    Mail,
    /// A password with a slash in it; or a port with a path behind it.
    Slashed,
}

struct Patterns {
    all: Regex,
    /// The kind of each group of `all`, from the first on.
    kinds: Vec<Kind>,
}

static PATTERNS: LazyLock<Option<Patterns>> = LazyLock::new(|| Patterns::build(|_| true).ok());
/// For who wants no secrets found: one would hide the address in it.
static MAILS: LazyLock<Option<Patterns>> =
    LazyLock::new(|| Patterns::build(|kind| kind == Kind::Mail).ok());

impl Patterns {
    /// Counted repetitions are left to [`judge`]: they would cost memory.
    fn build(wanted: fn(Kind) -> bool) -> Result<Self, regex::Error> {
        let key = r"PRIVATE KEY(?: BLOCK)?-----";
        let end = format!("-----END [A-Z0-9 ]*{key}");
        let user = r#"://[^\s/?#@:"'<>\\]*:"#;
        let parts = [
            // Up to its end where one is; else as far as it can be one.
            (
                Kind::Certain,
                format!(
                    r#"(-----BEGIN [A-Z0-9 ]*{key}(?:(?:[A-Za-z0-9+/=\s:,.\\"'|>#;()]|[A-Za-z]-[A-Za-z])*{end}|(?:[A-Za-z0-9+/=\s:,\\]|[A-Za-z]-[A-Za-z])*))"#
                ),
            ),
            (Kind::Certain, format!(r#"{user}([^\s/?#"'<>\\]+)@"#)),
            (Kind::Slashed, format!(r#"{user}([^\s/?#@:"'<>\\]*[/?#][^\s@:"'<>\\]*)@"#)),
            (
                Kind::Cookie,
                r#"\b(?i:(?:set-)?cookie)["']?[ \t]?:[ \t]*["']?([^\r\n"]+)"#.to_owned(),
            ),
            (Kind::Scheme, r"\b(?i:bearer|basic)(?:[ \t]+|%20)([A-Za-z0-9._~+/=-]+)".to_owned()),
            (Kind::Named, format!("(?:{NAME}){IS}{VALUE}")),
            (Kind::Hyphened, format!("{LEFT}(sk-[A-Za-z0-9_-]+)")),
            (Kind::Token, format!(r"{LEFT}(eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_.-]+)")),
            (Kind::Bot, "[0-9](:)AA[A-Za-z0-9_-]".to_owned()),
            (
                Kind::Mail,
                format!(
                    r"({LOCAL}+(?:@|%40)(?:{LABEL}+\.)+(?:xn--[A-Za-z0-9-]+|[A-Za-z][A-Za-z]+)\b)"
                ),
            ),
        ];
        let mut kinds = Vec::new();
        let parts: Vec<_> = parts.into_iter().filter(|(kind, _)| wanted(*kind)).collect();
        for (kind, part) in &parts {
            let groups = compile(part)?.captures_len() - 1;
            kinds.extend(std::iter::repeat_n(*kind, groups));
        }
        let parts: Vec<_> = parts.iter().map(|(_, part)| format!("(?:{part})")).collect();
        Ok(Self { all: compile(&parts.join("|"))?, kinds })
    }
}

fn compile(pattern: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern).unicode(false).build()
}

/// Adds the places of all that looks secret, and of mail addresses.
pub(super) fn find(text: &[u8], rules: Rules, found: &mut Vec<Place>) {
    let patterns = match (rules.has(kind::Kind::Secret), rules.has(kind::Kind::Mail)) {
        (true, _) => &*PATTERNS,
        (false, true) => &*MAILS,
        (false, false) => return,
    };
    let Some(patterns) = patterns else {
        // A test holds that there are some; without them no text can be shown.
        found.push((kind::Kind::Secret, 0..text.len()));
        return;
    };
    let mut at = 0;
    while let Some(captures) = patterns.all.captures_at(text, at) {
        let mut groups = captures.iter().skip(1).zip(&patterns.kinds);
        let hit = groups.find_map(|(group, kind)| Some((group?.range(), *kind)));
        let (Some((range, kind)), Some(whole)) = (hit, captures.get(0)) else {
            return;
        };
        let before = text.get(whole.start()..range.start).unwrap_or_default();
        let secret = judge(text, before, range.clone(), kind);
        at = match (kind, &secret) {
            // A path behind a port may hold what a password would hide.
            (Kind::Slashed, None) => range.start,
            // The match is only where it begins.
            (Kind::Bot, Some(secret)) => secret.end,
            _ => whole.end(),
        };
        let own = if kind == Kind::Mail { kind::Kind::Mail } else { kind::Kind::Secret };
        found.extend(secret.map(|range| (own, range)));
    }
}

/// The part of a hit that is secret, if it is.
fn judge(text: &[u8], before: &[u8], mut range: Range<usize>, kind: Kind) -> Option<Range<usize>> {
    let value = text.get(range.clone())?;
    let is_secret = match kind {
        Kind::Certain => !is_numbered(value) && value != MASK.as_bytes(),
        Kind::Bot => {
            range = bot(text, range.start)?;
            true
        }
        Kind::Token => {
            let mut parts = value.split(|byte| *byte == b'.').map(<[u8]>::len);
            let (head, body) = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
            head >= 11 && (body >= 8 || parts.next().is_some_and(|more| more >= 8))
        }
        Kind::Hyphened => {
            let digits = value.iter().filter(|byte| byte.is_ascii_digit()).count();
            let mixed = digits >= 3 || (digits > 0 && value.iter().any(u8::is_ascii_uppercase));
            value.len() >= 20 && mixed
        }
        Kind::Cookie => value.contains(&b'='),
        Kind::Scheme => value.len() >= 8 && looks_random(value),
        Kind::Slashed => {
            let port = value.iter().take_while(|byte| byte.is_ascii_digit()).count();
            !value.get(port).is_none_or(|byte| matches!(byte, b'/' | b'?' | b'#'))
        }
        Kind::Mail => is_persons(value),
        Kind::Named => {
            range = named(text, before, range)?;
            true
        }
    };
    // What ends a sentence is no part of a key.
    let shown = text.get(range.clone())?;
    let dots = shown.iter().rev().take_while(|byte| **byte == b'.').count();
    range.end -= if kind == Kind::Mail { 0 } else { dots };
    (is_secret && !range.is_empty()).then_some(range)
}

/// A bot's token, around the colon in it: a number of eight to ten digits, and a key.
fn bot(text: &[u8], colon: usize) -> Option<Range<usize>> {
    let (before, after) = text.split_at_checked(colon)?;
    let digits = before.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let length = after.iter().skip(1).take_while(is_part).count();
    // An escape such as `%20` before it adds two.
    let digits = if digits > 10 && before.get(colon - digits - 1) == Some(&b'%') {
        digits - 2
    } else {
        digits
    };
    let is_token = (8..=10).contains(&digits) && length >= 34;
    is_token.then_some(colon - digits..colon + 1 + length)
}

/// The part of what follows a name that is its value, if that is a secret.
fn named(text: &[u8], before: &[u8], mut range: Range<usize>) -> Option<Range<usize>> {
    let quoted = before.ends_with(b"\"") || before.ends_with(b"'");
    let by = before.iter().rev().find(|byte| !matches!(byte, b' ' | b'\t' | b'"' | b'\'' | b'\\'));
    if !quoted {
        let value = text.get(range.clone())?;
        range.end -= value.iter().rev().take_while(|byte| b",.:)}]|".contains(byte)).count();
    }
    let value = text.get(range.clone())?;
    // Behind a colon or a verb there may be a sentence.
    let told = by.is_none_or(|byte| *byte == b':' || !byte.is_ascii());
    let prose = told && !quoted && !looks_chosen(value);
    (!value.is_empty() && !prose && !is_placeholder(before, value)).then_some(range)
}

/// Whether a word looks like a password and not like one of a sentence.
fn looks_chosen(value: &[u8]) -> bool {
    let has = |test: fn(&u8) -> bool| value.iter().any(test);
    let inner = value.get(1..).unwrap_or_default();
    value.len() >= 4
        && (has(u8::is_ascii_digit)
            || inner.iter().any(u8::is_ascii_uppercase)
            || inner.iter().any(|byte| b"!@#$%^*+=_~".contains(byte)))
}

fn looks_random(value: &[u8]) -> bool {
    let digits = value.iter().any(u8::is_ascii_digit);
    let letters = value.iter().any(u8::is_ascii_alphabetic);
    // More often than in names such as `AuthFilter`.
    let turns = value
        .windows(2)
        .filter(|pair| matches!(pair, [b'a'..=b'z', b'A'..=b'Z'] | [b'A'..=b'Z', b'a'..=b'z']));
    (digits && letters) || turns.count() >= 4 || value.len() >= 32
}

/// What stands for a value that is not told.
fn is_placeholder(before: &[u8], value: &[u8]) -> bool {
    const WORDS: [&[u8]; 14] = [
        b"null",
        b"none",
        b"nil",
        b"undefined",
        b"true",
        b"false",
        b"empty",
        b"redacted",
        b"hidden",
        b"masked",
        b"required",
        b"optional",
        b"string",
        b"...",
    ];
    let is_variable = |rest: &[u8]| {
        rest.starts_with(b"{")
            || rest.starts_with(b"(")
            || (!rest.is_empty()
                && rest.iter().all(|b| b.is_ascii_uppercase() || *b == b'_' || b.is_ascii_digit()))
    };
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"{}_. -".contains(&byte);
    // The name of a folder in a shell's environment.
    let is_folder = value.starts_with(b"/")
        && before.to_ascii_lowercase().windows(3).any(|name| name == b"pwd");
    is_folder
        || WORDS.iter().any(|word| value.eq_ignore_ascii_case(word))
        || value.iter().all(|byte| matches!(byte, b'*' | b'x' | b'X' | b'.' | b'-'))
        || value.starts_with(b"[masked")
        || value.starts_with(b"[redacted")
        || is_numbered(value)
        || (value.starts_with(b"<") && value.ends_with(b">"))
        || (value.starts_with(b"{") && value.iter().all(|byte| is_plain(*byte)))
        || (value.starts_with(b"%") && value.len() <= 2)
        || value.strip_prefix(b"$").is_some_and(is_variable)
}

/// `[SECRET_1]`, which stands for a value in the memory.
fn is_numbered(value: &[u8]) -> bool {
    let inner = value.strip_prefix(b"[").and_then(|value| value.strip_suffix(b"]"));
    let mut parts = inner.unwrap_or_default().splitn(2, |byte| *byte == b'_');
    let (name, number) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    !name.is_empty()
        && name.iter().all(u8::is_ascii_uppercase)
        && !number.is_empty()
        && number.iter().all(|byte| byte.is_ascii_digit() || byte.is_ascii_lowercase())
}

/// Whether what looks like a mail address is one of a person.
fn is_persons(address: &[u8]) -> bool {
    const IMAGES: [&[u8]; 7] = [b".png", b".jpg", b".jpeg", b".gif", b".webp", b".svg", b".ico"];
    // `git@host:path` names a repository, and `icon@2x.png` a file.
    let is_file = IMAGES.iter().any(|end| address.to_ascii_lowercase().ends_with(end));
    !address.starts_with(b"git@") && !is_file
}
