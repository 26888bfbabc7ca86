//! The password of the server: read from its file or variable when the store is opened, wiped after.
//! It stands in no message.

use std::os::unix::ffi::OsStrExt;

use zeroize::Zeroizing;

use super::Config;

/// Bytes of a password, at most.
const LONGEST: usize = 4096;

/// Reads the password; `None` where the configuration names none.
pub(super) fn read(config: &Config) -> Result<Option<Zeroizing<Vec<u8>>>, String> {
    let (value, origin) = match (&config.password_file, &config.password_env) {
        (None, None) => return Ok(None),
        (Some(_), Some(_)) => {
            return Err("both `password_file` and `password_env` are set: keep one".to_owned());
        }
        (Some(file), None) => {
            let origin = format!("the password file `{}`", file.display());
            let value =
                std::fs::read(file).map_err(|error| format!("{origin} cannot be read: {error}"))?;
            (Zeroizing::new(value), origin)
        }
        (None, Some(name)) => {
            let origin = format!("the environment variable `{name}`");
            // Which variable it is is said by the configuration that came in.
            let value = std::env::var_os(name)
                .ok_or_else(|| format!("{origin} is not set: set it for the daemon"))?;
            (Zeroizing::new(value.as_bytes().to_vec()), origin)
        }
    };
    let mut value = value;
    let end = [&b"\r\n"[..], b"\n"].into_iter().find(|end| value.ends_with(end));
    let kept = value.len() - end.map_or(0, <[u8]>::len);
    value.truncate(kept);
    if value.is_empty() || value.len() > LONGEST || value.contains(&0) {
        return Err(format!("{origin} holds no password: 1 to {LONGEST} bytes"));
    }
    Ok(Some(value))
}
