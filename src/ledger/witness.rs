//! What a ledger's marks say, in its database and in their file: each signature checked, the two
//! held against each other. The marks that can be believed out; records are not read here.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::Connection;

use super::key::PublicKey;
use super::mark::{self, Lines, Mark, Purpose};
use super::verify::{Against, Ends, Kind, Verification};
use super::{Error, beside, seal};

/// The file of marks as it was before the records were read.
#[derive(Debug)]
pub(super) struct File {
    path: PathBuf,
    /// `None` when there is no such file, and none was asked for.
    lines: Option<Lines>,
    /// Whether the file must be there.
    wanted: bool,
}

impl File {
    pub(super) fn read(ledger: &Path, against: &Against) -> Result<Self, Error> {
        let wanted = against.checkpoints.is_some();
        let path = against.checkpoints.clone().unwrap_or_else(|| beside(ledger, ".checkpoints"));
        let lines = Self::lines(&path)?;
        Ok(Self { path, lines, wanted })
    }

    fn lines(path: &Path) -> Result<Option<Lines>, Error> {
        match Lines::read(path) {
            Ok(lines) => Ok(Some(lines)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(source) => Err(Error::Open { path: path.to_owned(), source: Arc::new(source) }),
        }
    }
}

/// Whose marks are believed.
struct Judge<'a> {
    ledger: &'a str,
    key: PublicKey,
    found: &'a mut Verification,
    /// Whether a mark of another key or ledger was told of already.
    told: bool,
}

/// The marks of the database and of the file that can be believed.
pub(super) fn hear(
    snapshot: &Connection,
    (signed, ends): (bool, &Ends),
    (mut file, against): (File, &Against),
    found: &mut Verification,
) -> Result<Vec<Mark>, Error> {
    let identity = if signed { seal::identity(snapshot)? } else { None };
    let Some((ledger, named)) = identity else {
        unsigned_ledger(signed, &file, against, found);
        return Ok(Vec::new());
    };
    let named = PublicKey::parse(&named);
    if let (Some(given), Ok(named)) = (against.key, &named)
        && given != *named
    {
        let reason = format!("the ledger is signed with the key {named}, not with {given}");
        found.tell(Kind::Key, None, reason);
    }
    let Ok(key) = named else {
        found.tell(Kind::Key, None, "the key that the ledger names is no key".to_owned());
        return Ok(Vec::new());
    };
    (found.ledger, found.key) = (Some(ledger.clone()), Some(key));
    found.key_given = against.key == Some(key);
    let stored = mark::stored(snapshot)?;
    let mut judge = Judge { ledger: &ledger, key, found, told: false };
    let kept = judge.database(stored);
    anchor(ends, &kept, judge.found);
    let newest = kept.keys().next_back().copied().unwrap_or(0);
    let early = last(file.lines.as_ref());
    if file.lines.is_some() && early < newest {
        // Signed between the two looks, or cut.
        file.lines = File::lines(&file.path)?;
    }
    let heard = match file.lines.take() {
        Some(lines) => judge.file(&file.path, lines, &kept),
        None => {
            if file.wanted {
                let reason =
                    format!("there is no `{}`: the checkpoints are gone", file.path.display());
                judge.found.tell(Kind::Checkpoint, None, reason);
            }
            BTreeMap::new()
        }
    };
    // What was signed after the first look may vouch for what is not in this view of the records.
    let in_view = |mark: &Mark| mark.number <= early.max(newest) || mark.seq() <= ends.head;
    let mut all = kept;
    all.extend(heard);
    Ok(all.into_values().filter(in_view).collect())
}

fn last(lines: Option<&Lines>) -> u64 {
    let marks = lines.into_iter().flat_map(|lines| &lines.marks);
    marks.filter_map(|(_, mark)| mark.as_ref()).map(|mark| mark.number).max().unwrap_or(0)
}

fn unsigned_ledger(signed: bool, file: &File, against: &Against, found: &mut Verification) {
    let marks = file.lines.as_ref().is_some_and(|lines| !lines.marks.is_empty());
    if signed || marks || file.wanted || against.key.is_some() {
        let reason = if signed {
            "the row that names the ledger and its key is gone"
        } else {
            "it is not signed at all, though a key or checkpoints are there to check it by"
        };
        found.tell(Kind::Signature, None, reason.to_owned());
    }
}

/// Whether the beginning of the chain is where retention has left it.
fn anchor(ends: &Ends, kept: &BTreeMap<u64, Mark>, found: &mut Verification) {
    let Ends { base, base_hash, .. } = ends;
    if *base == 0 && *base_hash == [0; 32] {
        return;
    }
    let anchors = |mark: &&Mark| {
        mark.purpose == Purpose::Anchor
            && mark.seq() == *base
            && mark.digest == hex::encode(base_hash)
    };
    if !kept.values().any(|mark| anchors(&mark)) {
        found.tell(Kind::Missing, Some(1), format!(
            "records 1 to {base} are gone, and no signed anchor says that retention removed them"
        ));
    }
}

impl Judge<'_> {
    fn tell(&mut self, kind: Kind, mark: &Mark, reason: String) {
        let seq = Some(mark.sequence).filter(|seq| *seq > 0);
        self.found.tell(kind, seq, reason);
    }

    /// Whether a mark is this ledger's, and signed.
    fn believes(&mut self, mark: &Mark, place: &str) -> bool {
        let Mark { number, sequence, time, ledger, key, .. } = mark;
        let (kind, reason) = if ledger != self.ledger {
            (
                Kind::Replaced,
                format!(
                    "{place} belongs to the ledger {ledger}, which had {sequence} records at {time}; this \
                 one is {}: the file was replaced, or moved away without its checkpoints",
                    self.ledger
                ),
            )
        } else if *key != self.key.to_string() {
            (Kind::Key, format!("{place} is signed with the key {key}, not with {}", self.key))
        } else if !mark.is_signed_by(&self.key) {
            let reason = "is not as it was signed: it was edited";
            self.tell(Kind::Signature, mark, format!("checkpoint {number} ({place}) {reason}"));
            return false;
        } else {
            return true;
        };
        // All of them would say the same.
        if !std::mem::replace(&mut self.told, true) {
            self.found.tell(kind, None, reason);
        }
        false
    }

    fn database(&mut self, stored: Vec<Result<Mark, String>>) -> BTreeMap<u64, Mark> {
        let mut kept = BTreeMap::new();
        for entry in stored {
            match entry {
                Ok(mark) if self.believes(&mark, "a checkpoint in the database") => {
                    kept.insert(mark.number, mark);
                }
                Ok(_) => {}
                Err(text) => {
                    let reason = format!("a checkpoint in the database was edited: `{text}`");
                    self.found.tell(Kind::Checkpoint, None, reason);
                }
            }
        }
        kept
    }

    fn file(
        &mut self,
        path: &Path,
        lines: Lines,
        kept: &BTreeMap<u64, Mark>,
    ) -> BTreeMap<u64, Mark> {
        let mut heard = BTreeMap::new();
        let mut due: Option<u64> = None;
        let first = lines.marks.iter().find_map(|(_, mark)| mark.as_ref()).map(|mark| mark.number);
        for (line, mark) in lines.marks {
            let place = format!("line {line} of `{}`", path.display());
            let Some(mark) = mark else {
                self.found.tell(Kind::Checkpoint, None, format!("{place} is no checkpoint"));
                due = due.map(|due| due + 1);
                continue;
            };
            if mark.ledger == self.ledger {
                if let Some(due) = due.filter(|due| *due != mark.number) {
                    self.tell(Kind::Checkpoint, &mark, format!(
                        "{place} is checkpoint {}, where {due} is due: lines were removed or moved",
                        mark.number
                    ));
                }
                due = Some(mark.number + 1);
            }
            if self.believes(&mark, &place) {
                heard.insert(mark.number, mark);
            }
        }
        if lines.torn {
            let reason = format!("the last line of `{}` is cut", path.display());
            self.found.tell(Kind::Checkpoint, None, reason);
        }
        self.agree(path, kept, (first, due));
        heard
    }

    /// Whether the file has what the database has.
    fn agree(
        &mut self,
        path: &Path,
        kept: &BTreeMap<u64, Mark>,
        (first, due): (Option<u64>, Option<u64>),
    ) {
        let end = due.map_or(0, |due| due - 1);
        let Some(mark) = kept.values().find(|mark| mark.number > end) else { return };
        let reason = match first {
            Some(_) => format!("it ends with checkpoint {end}"),
            None => "it has no checkpoint of this ledger".to_owned(),
        };
        let newest = kept.keys().next_back().map_or(0, |number| *number);
        self.tell(
            Kind::Checkpoint,
            mark,
            format!("`{}` was cut: {reason}, and the ledger has signed {newest}", path.display()),
        );
    }
}
