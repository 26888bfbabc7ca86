//! The only writer to standard output and standard error of the command line.

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use serde::Serialize;

use super::Failed;

/// Prints `text` and a line break where it has none. A reader that went away is no error.
pub(super) fn text(text: &str) -> Result<ExitCode, Failed> {
    let mut out = std::io::stdout().lock();
    let end = if text.ends_with('\n') { "" } else { "\n" };
    match out.write_all(text.as_bytes()).and_then(|()| out.write_all(end.as_bytes())) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
        Err(error) => Err(Failed::answer(format!("cannot write the answer: {error}"))),
    }
}

/// Prints text for people, of which no line steers a terminal.
pub(super) fn shown(words: &str) -> Result<ExitCode, Failed> {
    text(&lines(words))
}

/// Prints one line of JSON.
pub(super) fn json(value: &impl Serialize) -> Result<ExitCode, Failed> {
    text(&serde_json::to_string(value).map_err(Failed::answer)?)
}

/// Prints rows in columns that line up; the first row is the heading.
pub(super) fn table(rows: &[Vec<String>]) -> Result<ExitCode, Failed> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let mut out = String::new();
    for row in rows {
        let cells: Vec<String> = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{:width$}", visible(cell)))
            .collect();
        out.push_str(cells.join("  ").trim_end());
        out.push('\n');
    }
    text(&out)
}

/// Text in which nothing steers a terminal or reorders what stands beside it: control characters, and
/// those that have no width or turn the direction of text, are written as their numbers.
pub(super) fn visible(text: &str) -> String {
    let hides = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
            || matches!(c, '\u{61c}' | '\u{feff}' | '\u{ad}' | '\u{e0000}'..='\u{e007f}')
    };
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if hides(c) { out.extend(c.escape_unicode()) } else { out.push(c) }
    }
    out
}

/// Says on standard error what went wrong. A message may have several lines; nothing else of it steers a
/// terminal, as much of it was said by a daemon, a tool or a model.
pub(super) fn error(message: &str) {
    // Nothing is left to tell when standard error is gone too.
    drop(writeln!(std::io::stderr(), "switchboard: {}", lines(message)));
}

/// Each line of a text, visible.
fn lines(text: &str) -> String {
    text.lines().map(visible).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::lines;

    #[test]
    fn what_went_wrong_steers_no_terminal() {
        let said = "no model answered: bad\r\n\u{1b}[2J\u{9b}31m\u{202e}evil";
        assert_eq!(lines(said), "no model answered: bad\n\\u{1b}[2J\\u{9b}31m\\u{202e}evil");
    }
}
