//! Content codings of answers: the names in the header and a compressed body in, the plain body out
//! as it comes. Bounded by who reads it; refuses what it does not know and codings in a row.

use std::io::{self, Cursor, Read};

use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use ruzstd::decoding::StreamingDecoder;

/// Largest window of a zstd frame, as RFC 8878 advises.
const MAX_WINDOW: u64 = 8 << 20;
/// Bytes that brotli reads at once.
const READ: usize = 8 * 1024;
/// Registered codings of content that are not undone here.
const FOREIGN: [&str; 7] = ["compress", "x-compress", "dcb", "dcz", "exi", "pack200-gzip", "br-d"];

/// How a body is coded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Coding {
    /// Not at all, as far as can be known.
    Plain,
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

impl Coding {
    /// The coding that these values of `Content-Encoding` name. A word that is no coding says
    /// nothing: servers put charsets there.
    pub(super) fn of<'h>(values: impl Iterator<Item = &'h str>) -> Result<Self, String> {
        let mut found = Self::Plain;
        for name in values.flat_map(|value| value.split(',')) {
            let name = name.trim().to_ascii_lowercase();
            let coding = match name.as_str() {
                "gzip" | "x-gzip" => Self::Gzip,
                "deflate" => Self::Deflate,
                "br" => Self::Brotli,
                "zstd" => Self::Zstd,
                foreign if FOREIGN.contains(&foreign) => {
                    return Err(format!("the answer is in the coding `{foreign}`, unasked"));
                }
                _ => continue,
            };
            if found != Self::Plain {
                return Err("the answer is compressed more than once".to_owned());
            }
            found = coding;
        }
        Ok(found)
    }

    /// The body behind `body`. Reads the first bytes of it.
    pub(super) fn undo<'b>(self, mut body: impl Read + 'b) -> io::Result<Box<dyn Read + 'b>> {
        let mut start = Vec::new();
        (&mut body).take(18).read_to_end(&mut start)?;
        // Nothing at all is coded as nothing.
        if start.is_empty() {
            return Ok(Box::new(io::empty()));
        }
        let zlib = is_zlib(&start);
        if self == Self::Zstd {
            check_window(&start)?;
        }
        let whole = Cursor::new(start).chain(body);
        Ok(match self {
            Self::Plain => Box::new(whole),
            Self::Gzip => Box::new(MultiGzDecoder::new(whole)),
            Self::Deflate if zlib => Box::new(ZlibDecoder::new(whole)),
            // Some servers leave the frame of RFC 1950 out.
            Self::Deflate => Box::new(DeflateDecoder::new(whole)),
            Self::Brotli => Box::new(brotli_decompressor::Decompressor::new(whole, READ)),
            Self::Zstd => Box::new(StreamingDecoder::new(whole).map_err(io::Error::other)?),
        })
    }
}

fn is_zlib(start: &[u8]) -> bool {
    let [method, flags, ..] = start else { return false };
    method & 0x0f == 8 && (u16::from(*method) << 8 | u16::from(*flags)) % 31 == 0
}

/// Refuses a zstd frame that wants more memory than a small one does.
fn check_window(start: &[u8]) -> io::Result<()> {
    let wrong = || io::Error::other("it is no zstd frame");
    let rest = start.strip_prefix(&[0x28, 0xb5, 0x2f, 0xfd]).ok_or_else(wrong)?;
    let (descriptor, rest) = rest.split_first().ok_or_else(wrong)?;
    let single = descriptor & 0x20 != 0;
    let dictionary = [0, 1, 2, 4].get(usize::from(descriptor & 3)).copied().unwrap_or_default();
    let window = if single {
        let length = match descriptor >> 6 {
            0 => 1,
            1 => 2,
            2 => 4,
            _ => 8,
        };
        let field = rest.get(dictionary..dictionary + length).ok_or_else(wrong)?;
        let more = if length == 2 { 256 } else { 0 };
        field.iter().rev().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte)) + more
    } else {
        let byte = rest.first().ok_or_else(wrong)?;
        let base = 1_u64 << (10 + u32::from(byte >> 3));
        base + base / 8 * u64::from(byte & 7)
    };
    if window > MAX_WINDOW {
        let why = format!("its zstd frame wants a window of {window} bytes; {MAX_WINDOW} at most");
        return Err(io::Error::other(why));
    }
    Ok(())
}
