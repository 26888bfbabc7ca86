//! Names of members whose values are secret whatever they hold.

/// Ends of names, in lower case and without what joins words.
const ENDS: [&str; 26] = [
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "secret",
    "secretkey",
    "apikey",
    "accesskey",
    "accountkey",
    "privatekey",
    "signingkey",
    "accesstoken",
    "authtoken",
    "refreshtoken",
    "sessiontoken",
    "bearertoken",
    "idtoken",
    "apitoken",
    "csrftoken",
    "credential",
    "令牌",
    "authorization",
    "credentials",
    "密码",
    "口令",
    "密钥",
];
/// Whole names.
const WHOLE: [&str; 5] = ["token", "bearer", "cookie", "setcookie", "cvv"];

/// A name in lower case, without what joins its words.
pub(super) fn plain(name: &str) -> String {
    let letters = name.chars().filter(|c| !matches!(c, '_' | '-' | ' ' | '.'));
    letters.flat_map(char::to_lowercase).collect()
}

/// Whether values under this name are secret.
pub(super) fn is_secret(name: &str) -> bool {
    let plain = plain(name);
    ENDS.iter().any(|end| plain.ends_with(end)) || WHOLE.contains(&plain.as_str())
}
