//! The steps of a JSON Pointer (RFC 6901, section 3): a name in, the same as it stands between two
//! slashes out, and back.

use std::borrow::Cow;

/// A name as a step of a pointer.
pub(crate) fn escape(name: &str) -> Cow<'_, str> {
    if name.contains(['~', '/']) {
        Cow::Owned(name.replace('~', "~0").replace('/', "~1"))
    } else {
        Cow::Borrowed(name)
    }
}

/// The name that a step of a pointer stands for.
pub(crate) fn unescape(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

#[cfg(test)]
mod tests {
    use super::{escape, unescape};

    #[test]
    fn a_name_is_itself_again_whatever_is_in_it() {
        for (name, step) in [("a/b", "a~1b"), ("~1", "~01"), ("~01", "~001"), ("", ""), ("é", "é")]
        {
            assert_eq!(escape(name), step);
            assert_eq!(unescape(step), name);
        }
    }
}
