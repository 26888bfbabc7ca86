//! Calls that wait for a person: asked, decided, resumed; over gRPC and from the command line.

use std::time::Duration;

use serde_json::{Value, json};
use switchboard::proto::policy::{
    Approval, ListApprovalsRequest, State, WatchApprovalsRequest, decide_approval_request::Decision,
};
use switchboard::proto::tools::CallRequest;
use switchboard::proto::tools::call_event::Event;
use tokio_stream::StreamExt;
use tonic::{Code, Status};
use tonic_types::StatusExt;

use crate::daemon::{code, eventually, parsed, request};
use crate::desk::{Desk, erase};

fn call_id(reply: &Value) -> &str {
    reply["metadata"]["call_id"].as_str().unwrap()
}

fn reason(status: &Status) -> String {
    status.get_details_error_info().unwrap().reason
}

#[tokio::test]
async fn an_approved_call_runs_once_and_its_record_says_who_approved() {
    let desk = Desk::new().await;
    let id = desk.asked(erase(7)).await;
    assert_eq!(desk.asked(erase(7)).await, id, "an equal call waits for the same");

    let seen = desk.get("boss", &id).await.unwrap();
    assert_eq!((seen.caller.as_str(), seen.tool_name.as_str()), ("agent", "probe.erase"));
    assert_eq!((seen.arguments_json.as_str(), seen.risk.as_str()), (r#"{"id":7}"#, "destructive"));
    assert_eq!(
        (seen.decidable, seen.policies.as_slice()),
        (true, &["default-attended".into()][..])
    );
    let approved = desk.approve(&id).await;
    assert_eq!((approved.state(), approved.decided_by.as_str()), (State::Approved, "boss"));
    assert_eq!(approved.reason, "says boss");

    // Nothing but exactly that call has it.
    assert_ne!(desk.asked(erase(8)).await, id);
    let clerk = desk.call("clerk", erase(7)).await;
    assert_ne!(clerk["error"]["details"]["approval_id"], json!(id));

    let reply = desk.call("agent", CallRequest { approval_id: id.clone(), ..erase(7) }).await;
    assert_eq!(code(&reply), "SUCCESS", "{reply}");
    assert_eq!(reply["data"], json!({ "id": 7 }));
    let record = desk.record(call_id(&reply));
    let decision = &record["facts"]["decision"];
    assert_eq!(decision["outcome"], "approved");
    assert_eq!(decision["policies"], json!(["default-attended"]));
    assert_eq!(decision["approval"]["id"], json!(id));
    assert_eq!(decision["approval"]["by"], "boss");
    assert_eq!(decision["approval"]["asked_by"], json!(seen.call_id));

    let used = desk.get("agent", &id).await.unwrap();
    assert_eq!((used.state(), used.used_by_call_id.as_str()), (State::Used, call_id(&reply)));
    let again = desk.call("agent", CallRequest { approval_id: id.clone(), ..erase(7) }).await;
    assert_eq!(code(&again), "APPROVAL_REQUIRED");
    assert_eq!(again["error"]["details"]["approval_state"], "used");
    assert_ne!(desk.asked(erase(7)).await, id, "without the ticket it is asked anew");
}

#[tokio::test]
async fn a_call_can_wait_for_the_decision() {
    let desk = Desk::new().await;
    let (mut stream, id) = desk.waiting(erase(1)).await;
    desk.approve(&id).await;
    let mut last = None;
    while let Some(event) = stream.next().await {
        last = event.unwrap().event;
    }
    let Some(Event::Reply(reply)) = last else { panic!("{last:?}") };
    let reply = parsed(&reply);
    assert_eq!(code(&reply), "SUCCESS", "{reply}");
    let record = desk.record(call_id(&reply));
    assert_eq!(record["facts"]["decision"]["approval"]["asked_by"], json!(call_id(&reply)));
    assert!(record["facts"]["latency_us"]["approval"].as_u64().unwrap() > 0);

    // Refused while it waits.
    let (mut stream, id) = desk.waiting(erase(2)).await;
    desk.decide("boss", &id, Decision::Deny).await.unwrap();
    let Some(Event::Reply(reply)) = stream.next().await.unwrap().unwrap().event else { panic!() };
    let reply = parsed(&reply);
    assert_eq!(code(&reply), "APPROVAL_REJECTED");
    assert_eq!(reply["error"]["details"]["reason"], "says boss");

    // Nobody decides: the reply comes before the deadline, and the approval stays open.
    let waiting = CallRequest { wait_for_approval: true, ..erase(3) };
    let mut call = desk.by("agent", waiting);
    call.set_timeout(Duration::from_millis(1500));
    let reply = desk.daemon.client().await.call(call).await.unwrap().into_inner().reply.unwrap();
    let reply = parsed(&reply);
    assert_eq!(code(&reply), "APPROVAL_REQUIRED");
    let id = reply["error"]["details"]["approval_id"].as_str().unwrap();
    assert_eq!(desk.get("agent", id).await.unwrap().state(), State::Pending);
}

#[tokio::test]
async fn a_waiting_call_holds_no_place_and_can_be_cancelled() {
    let desk = Desk::with("[admission]\nin_flight_per_caller = 1", |setup| setup).await;
    let (stream, _) = desk.waiting(erase(1)).await;
    let beside = desk.call("agent", request("text.stats", r#"{"text":"a b"}"#)).await;
    assert_eq!(code(&beside), "SUCCESS", "the caller's one place is free while it waits");
    drop(stream);
    eventually("the wait ends with its caller", || async {
        !desk.ledger(&["search", "--code", "CANCELLED"]).is_empty()
    })
    .await;
}

#[tokio::test]
async fn approvals_outlive_a_killed_daemon() {
    let mut desk = Desk::new().await;
    let (pending, approved) = (desk.asked(erase(1)).await, desk.asked(erase(2)).await);
    desk.approve(&approved).await;
    desk.daemon.signal("KILL");
    desk.daemon.wait();
    desk.daemon = desk.daemon.restart().await;

    let reply = desk.call("agent", CallRequest { approval_id: approved, ..erase(2) }).await;
    assert_eq!(code(&reply), "SUCCESS", "{reply}");
    assert_eq!(desk.get("boss", &pending).await.unwrap().state(), State::Pending);
    desk.approve(&pending).await;
    let reply = desk.call("agent", erase(1)).await;
    assert_eq!(code(&reply), "SUCCESS", "{reply}");
}

#[tokio::test]
async fn nobody_decides_who_may_not() {
    let desk = Desk::with("", |setup| {
        let wide = "@id(\"wide\") @owner(\"tests\")\npermit (principal, action, resource)\n\
                    when { context.attended };\n";
        setup.policy("cedar/wide.cedar", wide)
    })
    .await;
    let id = desk.asked(erase(1)).await;
    let own = desk.decide("agent", &id, Decision::Approve).await.unwrap_err();
    assert_eq!((own.code(), reason(&own).as_str()), (Code::PermissionDenied, "NOT_AN_APPROVER"));
    assert!(own.message().contains("decide-own"), "{}", own.message());
    // A policy that permits every tool makes no approver, and others are not told of the call.
    for who in ["clerk", "stranger"] {
        let unseen = desk.decide(who, &id, Decision::Approve).await.unwrap_err();
        assert_eq!((unseen.code(), reason(&unseen).as_str()), (Code::NotFound, "UNKNOWN_APPROVAL"));
        assert_eq!(desk.get(who, &id).await.unwrap_err().code(), Code::NotFound);
        let listed = desk.by(who, ListApprovalsRequest::default());
        let listed = desk.policies().await.list_approvals(listed).await.unwrap().into_inner();
        assert!(listed.approvals.is_empty(), "{who}");
    }
    assert_eq!(desk.get("boss", &id).await.unwrap().state(), State::Pending);

    desk.approve(&id).await;
    let late = desk.decide("boss", &id, Decision::Deny).await.unwrap_err();
    assert_eq!((late.code(), reason(&late).as_str()), (Code::FailedPrecondition, "NOT_PENDING"));

    // Each decision that took place, and each that was refused, is in the ledger.
    let records = desk.ledger(&["search", "--tool", "approval:decide"]);
    let told: Vec<(&str, &str)> = records
        .iter()
        .map(|record| (record["caller"].as_str().unwrap(), record["status"].as_str().unwrap()))
        .collect();
    assert_eq!(told, [("boss", "error"), ("boss", "success"), ("agent", "error")]);
    assert_eq!(records[1]["facts"]["decision"]["policies"], json!(["approvers-of-the-tenant"]));
}

#[tokio::test]
async fn a_policy_can_let_callers_approve_their_own_calls() {
    let desk = Desk::with("", |setup| {
        let own = "@id(\"own\") @owner(\"tests\")\npermit (principal, \
                   action == Switchboard::Action::\"decide-own\", resource)\n\
                   when { context.tool == \"probe.erase\" && context.approve };\n";
        setup.policy("approvers/own.cedar", own)
    })
    .await;
    let id = desk.asked(erase(1)).await;
    let refused = desk.decide("agent", &id, Decision::Deny).await.unwrap_err();
    assert_eq!(refused.code(), Code::PermissionDenied, "it permits to approve, not to deny");
    desk.decide("agent", &id, Decision::Approve).await.unwrap();
    assert_eq!(code(&desk.call("agent", erase(1)).await), "SUCCESS");
}

#[tokio::test]
async fn an_approval_ends_with_the_policies_it_was_given_under() {
    let desk = Desk::new().await;
    let id = desk.asked(erase(1)).await;
    desk.approve(&id).await;
    let more = "@id(\"more\") @owner(\"tests\")\nforbid (principal, action, resource)\n\
                when { context.session.conversation == \"none\" };\n";
    let skip = desk.daemon.logged();
    std::fs::write(desk.daemon.setup.policies().join("cedar/more.cedar"), more).unwrap();
    desk.daemon.log_line(skip, "catalog and policies are in force");
    let reply = desk.call("agent", CallRequest { approval_id: id.clone(), ..erase(1) }).await;
    assert_eq!(code(&reply), "APPROVAL_REQUIRED");
    let told = reply["error"]["message"].as_str().unwrap();
    assert!(told.contains("the policies have changed since"), "{told}");
    assert_ne!(desk.asked(erase(1)).await, id);
}

#[tokio::test]
async fn what_changes_is_told_to_those_who_watch_and_may_see_it() {
    let desk = Desk::new().await;
    let watch = |after_revision| WatchApprovalsRequest { states: Vec::new(), after_revision };
    let mut policies = desk.policies().await;
    let mut boss = policies.watch_approvals(desk.by("boss", watch(0))).await.unwrap().into_inner();
    let mut other =
        policies.watch_approvals(desk.by("stranger", watch(0))).await.unwrap().into_inner();
    let id = desk.asked(erase(1)).await;
    let told = boss.next().await.unwrap().unwrap();
    assert_eq!((told.id.as_str(), told.state()), (id.as_str(), State::Pending));
    desk.approve(&id).await;
    let told = boss.next().await.unwrap().unwrap();
    assert_eq!(told.state(), State::Approved);
    desk.call("agent", erase(1)).await;
    let told = boss.next().await.unwrap().unwrap();
    assert_eq!(told.state(), State::Used);
    let mut late = policies
        .watch_approvals(desk.by("boss", watch(told.revision - 1)))
        .await
        .unwrap()
        .into_inner();
    // What is settled loses its arguments in the meantime.
    let bare = |approval| Approval { arguments_json: String::new(), ..approval };
    assert_eq!(bare(late.next().await.unwrap().unwrap()), bare(told));
    // What another tenant does comes to its own, and nothing came before it.
    let call = desk.by("stranger", erase(9));
    desk.daemon.client().await.call(call).await.unwrap();
    assert_eq!(other.next().await.unwrap().unwrap().caller, "stranger");
}

#[tokio::test]
async fn people_list_show_and_decide_from_the_command_line() {
    let desk = Desk::new().await;
    let secret = request("probe.erase", r#"{"id":5,"pin":"very-secret-pin"}"#);
    let id = desk.asked(secret.clone()).await;
    let list = desk.cli("boss", &["approvals", "list"]);
    let text = String::from_utf8(list.stdout).unwrap();
    assert!(text.contains(&id) && text.contains("probe.erase") && text.contains("yes"), "{text}");
    let shown = desk.cli("boss", &["approvals", "show", &id, "--json"]);
    let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!(shown["arguments"]["id"], 5);
    assert!(!shown.to_string().contains("very-secret-pin"), "{shown}");
    assert_eq!(shown["sandbox"]["hosts"], json!([]));
    let kept = std::fs::read(desk.daemon.folder().join("ledger.db.approvals")).unwrap();
    assert!(!kept.windows(15).any(|bytes| bytes == b"very-secret-pin"));

    let denied = desk.cli("agent", &["approvals", "approve", &id]);
    assert_eq!(denied.status.code(), Some(1));
    let approved = desk.cli("boss", &["approvals", "approve", &id, "--reason", "fine", "--json"]);
    assert_eq!(approved.status.code(), Some(0), "{approved:?}");
    let approved: Value = serde_json::from_slice(&approved.stdout).unwrap();
    assert_eq!((&approved["state"], &approved["reason"]), (&json!("approved"), &json!("fine")));
    let call = ["call", "probe.erase", r#"{"id":5,"pin":"very-secret-pin"}"#, "--approval", &id];
    assert_eq!(desk.cli("agent", &call).status.code(), Some(0));
    let none = desk.cli("boss", &["approvals", "list", "--json"]);
    assert!(none.stdout.is_empty());
    let used = desk.cli("boss", &["approvals", "list", "--state", "used", "--json"]);
    assert!(String::from_utf8(used.stdout).unwrap().contains(&id));
    let missing = desk.cli("boss", &["approvals", "show", "nonsense"]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(String::from_utf8(missing.stderr).unwrap().contains("no approval `nonsense`"));
}

#[tokio::test]
async fn a_call_that_did_not_run_keeps_its_approval() {
    let desk = Desk::new().await;
    let call = CallRequest { conversation_id: "c".to_owned(), ..erase(1) };
    let id = desk.asked(call.clone()).await;
    desk.approve(&id).await;
    assert_eq!(code(&desk.call("agent", call.clone()).await), "SUCCESS");
    // The same call again in the conversation is refused before it runs, approved or not.
    let id = desk.asked(call.clone()).await;
    desk.approve(&id).await;
    let again = desk.call("agent", call).await;
    assert_eq!(code(&again), "DUPLICATE_CALL");
    assert_eq!(desk.get("agent", &id).await.unwrap().state(), State::Approved);
}

#[tokio::test]
async fn a_repeat_of_an_approved_call_gets_its_reply_and_asks_nobody() {
    let desk = Desk::new().await;
    let call = CallRequest { idempotency_key: "once".to_owned(), ..erase(4) };
    let id = desk.asked(call.clone()).await;
    desk.approve(&id).await;
    let first = desk.call("agent", call.clone()).await;
    assert_eq!(code(&first), "SUCCESS", "{first}");
    // As after a connection that broke: with the ticket, and without.
    for again in [CallRequest { approval_id: id.clone(), ..call.clone() }, call] {
        let again = desk.call("agent", again).await;
        assert_eq!((code(&again), &again["data"]), ("SUCCESS", &first["data"]), "{again}");
        assert_eq!(again["metadata"]["cache_hit"], true);
    }
    let listed = desk.by("boss", ListApprovalsRequest::default());
    let listed = desk.policies().await.list_approvals(listed).await.unwrap().into_inner();
    assert_eq!(listed.approvals.len(), 1);
}

#[tokio::test]
async fn a_call_that_waits_is_answered_when_the_daemon_ends() {
    let mut desk = Desk::with("[server]\ndrain_grace = \"60s\"", |setup| setup).await;
    let (mut stream, _) = desk.waiting(erase(1)).await;
    let watch = desk.by("boss", WatchApprovalsRequest::default());
    let mut watch = desk.policies().await.watch_approvals(watch).await.unwrap().into_inner();
    assert_eq!(watch.next().await.unwrap().unwrap().state(), State::Pending);
    desk.daemon.signal("TERM");
    let Some(Event::Reply(reply)) = stream.next().await.unwrap().unwrap().event else { panic!() };
    let reply = parsed(&reply);
    assert_eq!(code(&reply), "APPROVAL_REQUIRED");
    let id = reply["error"]["details"]["approval_id"].as_str().unwrap().to_owned();
    assert_eq!(watch.next().await.unwrap().unwrap_err().code(), Code::Unavailable);
    assert_eq!(desk.daemon.wait(), Some(0));
    desk.daemon = desk.daemon.restart().await;
    assert_eq!(desk.get("agent", &id).await.unwrap().state(), State::Pending);
}
