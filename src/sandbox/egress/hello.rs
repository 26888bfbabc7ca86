//! Reads the TLS ClientHello that opens a tunnel. Bytes in, the server name it asks for out; it
//! decides nothing about the name.

/// Longest hello that is read, in bytes, records and all.
pub(super) const MAX_HELLO: usize = 16 * 1024;

const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
const SERVER_NAME: u16 = 0;
const ENCRYPTED_SERVER_NAME: u16 = 0xffce;
const ENCRYPTED_CLIENT_HELLO: u16 = 0xfe0d;

/// A fatal `access_denied` alert, for a client whose hello was refused.
pub(super) const ALERT: [u8; 7] = [21, 3, 3, 0, 2, 2, 49];

/// What a hello asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hello {
    /// The server name; `None` when there is none.
    pub(super) name: Option<String>,
}

/// Reads a hello from the first bytes of a tunnel; `None` when more are needed.
pub(super) fn parse(bytes: &[u8]) -> Result<Option<Hello>, &'static str> {
    let Some(message) = join_records(bytes)? else {
        return Ok(None);
    };
    let mut rest = message.as_slice();
    let body = (|| {
        let _version = take(&mut rest, 2)?;
        let _random = take(&mut rest, 32)?;
        let _session = take_vector(&mut rest, 1)?;
        let _ciphers = take_vector(&mut rest, 2)?;
        let _compressions = take_vector(&mut rest, 1)?;
        if rest.is_empty() {
            return Some(&[][..]);
        }
        take_vector(&mut rest, 2)
    })();
    let mut extensions = body.ok_or("the TLS hello is malformed")?;
    let mut name = None;
    while !extensions.is_empty() {
        let kind = take_number(&mut extensions, 2).ok_or("the TLS hello is malformed")?;
        let data = take_vector(&mut extensions, 2).ok_or("the TLS hello is malformed")?;
        match u16::try_from(kind) {
            Ok(ENCRYPTED_CLIENT_HELLO | ENCRYPTED_SERVER_NAME) => {
                return Err("the TLS hello is encrypted (ECH), so its server name is hidden");
            }
            Ok(SERVER_NAME) if name.is_some() => {
                return Err("the TLS hello names two servers");
            }
            Ok(SERVER_NAME) => name = Some(parse_name(data)?),
            Ok(_) | Err(_) => {}
        }
    }
    Ok(Some(Hello { name }))
}

/// Puts the handshake message together from as many records as it was cut into.
fn join_records(mut bytes: &[u8]) -> Result<Option<Vec<u8>>, &'static str> {
    const NOT_TLS: &str = "the tunnel does not start with TLS";
    let mut message: Vec<u8> = Vec::new();
    loop {
        match bytes {
            [] => return Ok(None),
            [HANDSHAKE] | [HANDSHAKE, 3] => return Ok(None),
            [HANDSHAKE, 3, ..] => {}
            _ => return Err(NOT_TLS),
        }
        let Some((_, mut rest)) = bytes.split_at_checked(3) else {
            return Ok(None);
        };
        if rest.len() < 2 {
            return Ok(None);
        }
        // An empty record, which TLS forbids, would let a hello be padded for ever.
        if matches!(rest, [0, 0, ..]) {
            return Err(NOT_TLS);
        }
        let Some(record) = take_vector(&mut rest, 2) else {
            return Ok(None);
        };
        message.extend_from_slice(record);
        bytes = rest;
        if message.first().is_some_and(|kind| *kind != CLIENT_HELLO) {
            return Err(NOT_TLS);
        }
        let mut body = message.get(1..).unwrap_or_default();
        if let Some(body) = take_vector(&mut body, 3) {
            return Ok(Some(body.to_vec()));
        }
    }
}

fn parse_name(mut data: &[u8]) -> Result<String, &'static str> {
    let name = (|| {
        let mut list = take_vector(&mut data, 2)?;
        let kind = take_number(&mut list, 1)?;
        let name = take_vector(&mut list, 2)?;
        (kind == 0 && list.is_empty() && data.is_empty()).then_some(name)
    })();
    name.and_then(|name| String::from_utf8(name.to_vec()).ok())
        .ok_or("the TLS hello names its server in a way that is not understood")
}

fn take<'a>(input: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (head, tail) = input.split_at_checked(length)?;
    *input = tail;
    Some(head)
}

fn take_number(input: &mut &[u8], width: usize) -> Option<usize> {
    let digits = take(input, width)?;
    Some(digits.iter().fold(0, |n, b| (n << 8) | usize::from(*b)))
}

fn take_vector<'a>(input: &mut &'a [u8], width: usize) -> Option<&'a [u8]> {
    let length = take_number(input, width)?;
    take(input, length)
}
