//! Log lines on their way to standard error: each as it was formatted in, the same with all that
//! looks sensitive masked out. It is the last step, so that no event and no span can go around it.

use std::io::{self, Stderr, Write};

use serde_json::Value;
use tracing_subscriber::fmt::MakeWriter;

use super::Format;
use crate::mask::{self, Masker};

/// Makes a writer for each line.
#[derive(Debug)]
pub(super) struct Lines(pub(super) Format);

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Line<Stderr>;

    fn make_writer(&'a self) -> Self::Writer {
        Line { format: self.0, to: io::stderr() }
    }
}

/// Takes one whole line at a time, as the formatter gives it.
#[derive(Debug)]
pub(super) struct Line<W> {
    pub(super) format: Format,
    pub(super) to: W,
}

impl<W: Write> Write for Line<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let line = String::from_utf8_lossy(bytes);
        self.to.write_all(masked(&line, self.format).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Lines that hold nothing suspicious go out as they are.
fn masked(line: &str, format: Format) -> std::borrow::Cow<'_, str> {
    let text = mask::text(line);
    if format == Format::Text || text == line {
        return text;
    }
    // Text that is masked across quotation marks would no longer be JSON.
    match serde_json::from_str::<Value>(line) {
        Ok(event) => format!("{}\n", Masker::default().value(&event)).into(),
        Err(_) => text,
    }
}
