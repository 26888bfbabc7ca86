//! Frames from the daemon in, bytes for the tool's standard input out. Tells when the daemon has given
//! the call up.

use std::time::Duration;

use switchboard_runner::Kind;
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe;
use tokio::time::sleep;

use crate::wire::Wire;

/// How often a feed that the tool does not read looks whether the daemon has cancelled.
const LOOK: Duration = Duration::from_millis(50);

/// Carries stdin from the daemon to the tool; ends only when the daemon closes the stream.
pub(crate) async fn feed(wire: &Wire, stdin: pipe::Sender) {
    let mut stdin = Some(stdin);
    let mut payload = Vec::new();
    loop {
        match wire.receive(&mut payload).await {
            Ok(Some(Kind::Stdin)) => {
                if let Some(pipe) = &mut stdin {
                    match write(wire, pipe, &payload).await {
                        Written::All => {}
                        Written::Refused => stdin = None,
                        Written::Cancelled => return,
                    }
                }
            }
            Ok(Some(Kind::StdinEnd)) => stdin = None,
            Ok(Some(_) | None) | Err(_) => return,
        }
    }
}

enum Written {
    All,
    Refused,
    Cancelled,
}

async fn write(wire: &Wire, pipe: &mut pipe::Sender, bytes: &[u8]) -> Written {
    let mut rest = bytes;
    while !rest.is_empty() {
        tokio::select! {
            written = pipe.write(rest) => match written {
                Ok(written) => rest = rest.get(written..).unwrap_or_default(),
                Err(_) => return Written::Refused,
            },
            // Bytes that wait unread hide the end of the stream behind them.
            () = sleep(LOOK) => if wire.is_closed() {
                return Written::Cancelled;
            },
        }
    }
    Written::All
}
