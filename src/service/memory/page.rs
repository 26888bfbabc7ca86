//! Pages: the place behind one into its token and back, and units that are too large for one message cut to
//! what they are. A token belongs to the caller and the request that it was given for.

use prost::Message;
use sha2::{Digest, Sha256};
use tonic::Status;

use super::status;
use crate::admission::Caller;
use crate::proto::memory as proto;

/// Bytes of the units of one answer, nearly; clients take messages of 4 MiB if nobody tells them to take more.
pub(super) const BYTES: usize = 2 << 20;
/// Bytes of a member that stays in a unit that is cut.
const MEMBER: usize = 512;
/// Hex digits of a token that tell whose it is.
const MARK: usize = 16;

/// The pages of one request.
pub(super) struct Pages(Sha256);

impl Pages {
    /// Those of a request, without its page.
    pub(super) fn new(caller: &Caller, asked: &impl Message) -> Self {
        let of = Sha256::new().chain_update(&caller.tenant).chain_update([0]);
        Self(of.chain_update(&caller.name).chain_update([0]).chain_update(asked.encode_to_vec()))
    }

    /// Where a token goes on; `None` for the first page.
    pub(super) fn read(&self, token: &str) -> Result<Option<i64>, Status> {
        if token.is_empty() {
            return Ok(None);
        }
        let place = token.split_once('.').and_then(|(place, _)| place.parse().ok());
        place.filter(|place| self.token(*place) == token).map(Some).ok_or_else(|| {
            status::malformed(&[("page_token", "is none that was given for this".to_owned())])
        })
    }

    /// The token of a place.
    pub(super) fn token(&self, place: i64) -> String {
        let mark = hex::encode(self.0.clone().chain_update(place.to_be_bytes()).finalize());
        format!("{place}.{}", mark.get(..MARK).unwrap_or_default())
    }
}

/// Cuts units so that one message holds all: those within their share are whole, and of the others the first
/// that have room. What is cut has its names, dates and short members, and says what it has not.
pub(super) fn fit<'u>(units: impl Iterator<Item = &'u mut proto::Unit>) {
    let units: Vec<&mut proto::Unit> = units.collect();
    let share = BYTES / units.len().max(1);
    let sizes: Vec<usize> = units.iter().map(|unit| unit.encoded_len()).collect();
    let small: usize = sizes.iter().filter(|size| **size <= share).sum();
    let mut left = BYTES.saturating_sub(small);
    for (unit, size) in units.into_iter().zip(sizes).filter(|(_, size)| *size > share) {
        if size > left {
            cut(unit);
        }
        left = left.saturating_sub(unit.encoded_len());
    }
}

fn cut(unit: &mut proto::Unit) {
    let proto::Unit { draft: Some(draft), left_out, .. } = unit else { return };
    let mut goes = |name: &str, bytes: usize| {
        let goes = bytes > MEMBER;
        if goes {
            left_out.push(name.to_owned());
        }
        goes
    };
    for (name, text) in [
        ("text", &mut draft.text),
        ("value", &mut draft.value),
        ("metadata_json", &mut draft.metadata_json),
    ] {
        if goes(name, text.len()) {
            text.clear();
        }
    }
    for (name, texts) in
        [("triggers", &mut draft.triggers), ("derived_from", &mut draft.derived_from)]
    {
        if goes(name, texts.iter().map(String::len).sum()) {
            texts.clear();
        }
    }
    if goes("entities", bytes(&draft.entities)) {
        draft.entities.clear();
    }
    if goes("facts", bytes(&draft.facts)) {
        draft.facts.clear();
    }
    if goes("images", bytes(&draft.images)) {
        draft.images.clear();
    }
    if goes("tables", bytes(&draft.tables)) {
        draft.tables.clear();
    }
}

fn bytes(members: &[impl Message]) -> usize {
    members.iter().map(Message::encoded_len).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(tenant: &str) -> Caller {
        Caller { name: "ann".into(), tenant: tenant.into(), roles: Vec::new() }
    }

    #[test]
    fn a_token_is_of_its_caller_and_its_request() {
        let asked = proto::ListRequest { held: true, ..proto::ListRequest::default() };
        let pages = Pages::new(&caller("acme"), &asked);
        let token = pages.token(42);
        assert_eq!(pages.read(&token).unwrap(), Some(42));
        assert_eq!(pages.read("").unwrap(), None);
        for forged in ["1", "-1", "42", "42.", &token.replacen("42", "43", 1), "x.y"] {
            assert!(pages.read(forged).is_err(), "{forged}");
        }
        assert!(Pages::new(&caller("other"), &asked).read(&token).is_err());
        let other = proto::ListRequest { archived: true, ..asked };
        assert!(Pages::new(&caller("acme"), &other).read(&token).is_err());
    }

    #[test]
    fn a_large_unit_does_not_keep_the_small_ones_out() {
        let unit = |text: usize| proto::Unit {
            draft: Some(proto::Draft {
                key: "its title".into(),
                text: "x".repeat(text),
                ..proto::Draft::default()
            }),
            ..proto::Unit::default()
        };
        let mut units = [unit(1 << 20), unit(1000), unit(1 << 20), unit(1 << 20), unit(1000)];
        fit(units.iter_mut());
        let whole: Vec<bool> = units.iter().map(|unit| unit.left_out.is_empty()).collect();
        assert_eq!(whole, [true, true, false, false, true], "the best has the room");
        assert_eq!(units[2].left_out, ["text"]);
        assert_eq!(units[2].draft.as_ref().unwrap().key, "its title");
        assert!(units.iter().map(Message::encoded_len).sum::<usize>() <= BYTES);
    }
}
