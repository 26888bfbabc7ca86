//! Decodes chunked transfer coding, for the gate and the HTTP client alike. Wire bytes in, which
//! of them are body out; it copies nothing and refuses every ambiguous spelling.

/// Longest chunk-size line with its extension, in bytes.
const MAX_LINE: usize = 256;
/// Longest trailer section, in bytes.
const MAX_TRAILER: usize = 8 * 1024;

/// Remembers where in the coding it stands.
#[derive(Debug, Default)]
pub struct Decoder(State);

#[derive(Debug, Default)]
enum State {
    #[default]
    Size,
    Data(u64),
    DataEnd,
    Trailer(usize),
    Done,
}

/// What the first bytes of the input are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece {
    /// So many bytes of body.
    Data(usize),
    /// So many bytes of framing; drop them and ask again.
    Skip(usize),
    /// Nothing can be said before more arrives.
    More,
    /// The coding is over, whatever follows.
    End,
}

/// Names what is wrong with the coding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadChunk(pub &'static str);

impl Decoder {
    /// Judges the first bytes of `input`, which must go on where the last piece ended.
    pub fn next(&mut self, input: &[u8]) -> Result<Piece, BadChunk> {
        match self.0 {
            State::Size => self.size(input),
            State::Data(left) => {
                let here = usize::try_from(left).map_or(input.len(), |left| left.min(input.len()));
                if here == 0 {
                    return Ok(Piece::More);
                }
                let left = left.saturating_sub(u64::try_from(here).unwrap_or(u64::MAX));
                self.0 = if left == 0 { State::DataEnd } else { State::Data(left) };
                Ok(Piece::Data(here))
            }
            State::DataEnd => match input {
                [b'\r', b'\n', ..] => {
                    self.0 = State::Size;
                    Ok(Piece::Skip(2))
                }
                [] | [b'\r'] => Ok(Piece::More),
                _ => Err(BadChunk("a chunk is longer than its size")),
            },
            State::Trailer(before) => self.trailer(input, before),
            State::Done => Ok(Piece::End),
        }
    }

    fn size(&mut self, input: &[u8]) -> Result<Piece, BadChunk> {
        let Some(line) = line(input, MAX_LINE)? else {
            return Ok(Piece::More);
        };
        let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let (digits, extension) = line.split_at_checked(digits).unwrap_or((line, &[]));
        let extension = extension.trim_ascii_start();
        if !(extension.is_empty() || extension.starts_with(b";")) || digits.len() > 16 {
            return Err(BadChunk("a chunk size is malformed"));
        }
        let size = std::str::from_utf8(digits)
            .ok()
            .and_then(|digits| u64::from_str_radix(digits, 16).ok())
            .ok_or(BadChunk("a chunk size is malformed"))?;
        self.0 = if size == 0 { State::Trailer(0) } else { State::Data(size) };
        Ok(Piece::Skip(line.len() + 2))
    }

    fn trailer(&mut self, input: &[u8], before: usize) -> Result<Piece, BadChunk> {
        let Some(line) = line(input, MAX_TRAILER)? else {
            return Ok(Piece::More);
        };
        let seen = before + line.len() + 2;
        if seen > MAX_TRAILER {
            return Err(BadChunk("the trailer section is too long"));
        }
        self.0 = if line.is_empty() { State::Done } else { State::Trailer(seen) };
        Ok(Piece::Skip(line.len() + 2))
    }
}

/// The first line of `input`, without its CRLF; `None` when its end has not arrived.
fn line(input: &[u8], most: usize) -> Result<Option<&[u8]>, BadChunk> {
    let Some(end) = input.iter().take(most).position(|byte| *byte == b'\n') else {
        return if input.len() >= most {
            Err(BadChunk("a line of the chunked coding is too long"))
        } else {
            Ok(None)
        };
    };
    let line = input.get(..end).and_then(|line| line.strip_suffix(b"\r"));
    let line = line.ok_or(BadChunk("a line of the chunked coding does not end in CRLF"))?;
    if line.iter().any(|byte| byte.is_ascii_control() && *byte != b'\t') {
        return Err(BadChunk("a line of the chunked coding has a control character"));
    }
    Ok(Some(line))
}
