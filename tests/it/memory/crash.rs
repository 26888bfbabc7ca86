//! The daemon is killed while an import is under way, again and again: what was acknowledged is there and
//! found, and nothing is there by half.

use std::collections::BTreeMap;

use switchboard::proto::memory::remember_many_response::written::Outcome;
use switchboard::proto::memory::{
    GetReceiptRequest, ListRequest, RecallRequest, RememberManyRequest, Stage,
};
use tokio::sync::mpsc;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;

use super::bed::{Bed, asked, ticket};

/// Moments at which it is killed.
const MOMENTS: usize = 20;

/// Words that only one unit has.
fn word(round: usize, number: usize) -> String {
    format!("zulu{round}x{number}q")
}

/// Sends units until `acks` of them are acknowledged, then kills the daemon. Gives what was acknowledged:
/// the receipts by the unit's id at its source.
async fn killed(bed: &Bed, round: usize, acks: usize) -> BTreeMap<String, String> {
    let (send, sent) = mpsc::channel(8);
    let mut client = bed.client("agent").await;
    let feed = tokio::spawn(async move {
        for number in 0.. {
            let text = format!("Report {} of a fault at the press.", word(round, number));
            let draft = ticket(&format!("{round}-{number}"), &text);
            let one = RememberManyRequest { draft: Some(draft), images: Vec::new() };
            if send.send(one).await.is_err() {
                return;
            }
        }
    });
    let mut answers = client.remember_many(ReceiverStream::new(sent)).await.unwrap().into_inner();
    let mut known = BTreeMap::new();
    let mut dead = acks == 0;
    if dead {
        bed.daemon.signal("KILL");
    }
    // What still arrives after the kill was acknowledged too.
    while let Some(Ok(answer)) = answers.next().await {
        for one in answer.written {
            assert!(matches!(one.outcome, Some(Outcome::Receipt(_))), "{one:?}");
            let Some(Outcome::Receipt(receipt)) = one.outcome else { continue };
            known.insert(format!("{round}-{}", one.index), receipt.id);
        }
        if known.len() >= acks && !dead {
            bed.daemon.signal("KILL");
            dead = true;
        }
    }
    feed.abort();
    known
}

#[tokio::test(flavor = "multi_thread")]
async fn no_acknowledged_unit_is_lost_and_none_is_there_by_half() {
    let mut bed = Bed::new().await;
    let mut all = BTreeMap::new();
    for round in 0..MOMENTS {
        let known = killed(&bed, round, round * 37).await;
        assert_eq!(bed.daemon.wait(), None, "killed");
        bed = bed.restart().await;
        let mut client = bed.client("agent").await;
        // Of each round the first, the last and one between: all are looked at in the end.
        for (id, receipt) in &known {
            let asked = GetReceiptRequest { receipt_id: receipt.clone(), wait_ms: 60_000 };
            let told = client.get_receipt(asked).await.unwrap().into_inner();
            assert_eq!(told.stage(), Stage::Stored, "{id}: {told:?}");
        }
        all.extend(known);
    }
    let mut client = bed.client("agent").await;
    let (mut stored, mut token) = (Vec::new(), String::new());
    loop {
        let asked = ListRequest { page_size: 1000, page_token: token, ..ListRequest::default() };
        let page = client.list(asked).await.unwrap().into_inner();
        stored.extend(page.units.into_iter().map(|unit| unit.draft.unwrap().source_id));
        token = page.next_page_token;
        if token.is_empty() {
            break;
        }
    }
    let missing: Vec<&String> = all.keys().filter(|id| !stored.contains(id)).collect();
    assert!(missing.is_empty(), "acknowledged and lost: {missing:?}");
    assert!(all.len() > MOMENTS, "{} were acknowledged", all.len());
    // What is stored, acknowledged or not, is found by its words: every fifth of it is looked for.
    for id in stored.iter().step_by(5) {
        let (round, number) = id.split_once('-').unwrap();
        let wanted = word(round.parse().unwrap(), number.parse().unwrap());
        let mut question: RecallRequest = asked(&wanted);
        question.question.as_mut().unwrap().top_k = 3;
        let found = client.recall(question).await.unwrap().into_inner();
        let ids = found.hits.iter().map(|hit| hit.unit.clone().unwrap().draft.unwrap().source_id);
        assert!(ids.collect::<Vec<_>>().contains(id), "{id} is stored and not found");
    }
}
