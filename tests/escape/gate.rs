//! The egress gate from outside: what the services around it saw, and what the reply and the ledger
//! say of each attempt.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::expect::short;
use crate::requests::Scene;
use crate::site::Run;
use crate::trial::Finding;
use crate::world::SECRET;

/// Every refused attempt is in the reply and in the ledger; returns how many there are.
fn audited(run: &Run, finding: &mut Finding) -> usize {
    let attempts = |place: &Value| place.as_array().cloned().unwrap_or_default();
    let told = attempts(&run.reply["metadata"]["egress"]);
    let kept = attempts(&run.record["facts"]["run"]["egress"]);
    let refused = kept.iter().filter(|attempt| attempt["allowed"] == false);
    for attempt in refused.clone() {
        let reason = attempt["reason"].as_str().unwrap_or_default();
        finding.check(!reason.is_empty(), || format!("refused without a reason: {attempt}"));
    }
    let refused = refused.count();
    finding.check(!told.is_empty(), || "the reply tells of no attempt".to_owned());
    refused
}

/// Nothing at all was reached, or only what is expected.
pub(crate) async fn metadata(scene: Scene<'_>) {
    let Scene { site, program, finding, runs, mark } = scene;
    let run = runs.first().unwrap();
    let statuses = run.data().as_object().cloned().unwrap_or_default();
    let refused = |status: &Value| status == 403 || status == 400;
    for (what, status) in statuses.iter().filter(|(what, _)| *what != "redirect") {
        finding.check(refused(status), || format!("`{what}` gave {status}"));
    }
    finding.check(statuses.get("redirect").is_some_and(|status| status == 302), || {
        format!("the redirect was followed or lost: {:?}", statuses.get("redirect"))
    });
    let spellings = statuses.len().saturating_sub(1);
    finding.check(spellings == 74, || format!("{spellings} spellings were tried"));
    let reached = site.world.reached(mark);
    let only = [format!("{}:80 GET /redirect HTTP/1.1 allowed.test", crate::world::PUBLIC)];
    finding.check(reached == only, || format!("reached: {reached:?}"));
    let count = audited(run, finding);
    finding.check(count == spellings, || format!("{count} of {spellings} are in the ledger"));
    finding.saw(format!("{spellings} spellings refused and recorded"));

    // The control: the same program, with rules that name these networks.
    let open = site.attack("attack.opened", &program.unwrap().code, "").await;
    let through: Vec<&str> = open
        .data()
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(what, status)| what.starts_with("get ") && **status == 200)
        .map(|(what, _)| what.as_str())
        .collect();
    for needed in ["get 169.254.169.254", "get 2852039166", "get [fd00:ec2::254]", "get meta.test"]
    {
        finding.check(through.contains(&needed), || {
            format!("the control did not succeed with `{needed}`: {through:?}, {}", open.reply)
        });
    }
    let line = format!("{} spellings succeed with rules that name the networks", through.len());
    finding.controls.push(line);
    runs.push(open);
}

/// The name server was asked for names that a rule allows, and for no other.
pub(crate) async fn names(scene: Scene<'_>) {
    let Scene { site, finding, runs, mark, .. } = scene;
    let asked = site.world.questions(mark);
    finding.check(asked.iter().all(|question| question.starts_with("label.wild.test ")), || {
        format!("the name server was asked: {asked:?}")
    });
    finding.check(!asked.is_empty(), || "the name server is not the one in use".to_owned());
    audited(runs.first().unwrap(), finding);
    finding.saw("0 queries but the one that a rule allows");
}

/// Only the public address was reached.
pub(crate) async fn rebinding(scene: Scene<'_>) {
    let Scene { site, finding, runs, mark, .. } = scene;
    let reached = site.world.reached(mark);
    let public = |name| format!("{}:80 GET / HTTP/1.1 {name}", crate::world::PUBLIC);
    finding.check(reached == [public("rebind.test"), public("both.test")], || {
        format!("reached: {reached:?}")
    });
    audited(runs.first().unwrap(), finding);
}

/// The upstream saw the right ones and not a byte of the others.
pub(crate) async fn disguises(scene: Scene<'_>) {
    let Scene { site, finding, runs, mark, .. } = scene;
    let reached = site.world.reached(mark);
    let mut expected = vec![format!("{}:443 hello", crate::world::PUBLIC); 3];
    // Fronting reaches the host of the address; the other name does not leave the gate.
    expected.push(format!("{}:80 GET / HTTP/1.1 allowed.test", crate::world::PUBLIC));
    finding.check(reached == expected, || format!("reached: {reached:?}"));
    audited(runs.first().unwrap(), finding);
}

/// Nothing was reached or looked up.
pub(crate) async fn neighbours(scene: Scene<'_>) {
    let Scene { site, finding, runs, mark, .. } = scene;
    let (reached, asked) = (site.world.reached(mark), site.world.questions(mark));
    finding.check(reached.is_empty() && asked.is_empty(), || {
        format!("reached: {reached:?}, asked: {asked:?}")
    });
    audited(runs.first().unwrap(), finding);
}

/// The secret reaches its host and is in nothing that the caller, the ledger or the log has.
pub(crate) async fn secrets(scene: Scene<'_>) {
    let Scene { site, finding, runs, mark, .. } = scene;
    let reached = site.world.reached(mark);
    let with: Vec<&String> = reached.iter().filter(|line| line.contains(SECRET)).collect();
    let bound = with.len() == 2 && with.iter().all(|line| line.starts_with("127.0.0.1:8181"));
    finding.check(bound, || format!("who got it: {with:?}"));
    let elsewhere = reached.iter().filter(|line| line.starts_with("127.0.0.1:8182")).count();
    finding.check(elsewhere >= 2, || format!("the other host was not reached: {reached:?}"));
    let run = runs.first().unwrap();
    let text = run.reply.to_string();
    finding.check(text.contains("****"), || format!("nothing is masked: {}", short(&run.reply)));
    let log = site.daemon.log_lines().join("\n");
    let percent: String = SECRET.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let base64 = STANDARD.encode(SECRET);
    for spelling in [SECRET, &hex::encode(SECRET), &base64, &percent] {
        for (place, text) in [("reply", &text), ("ledger", &run.record.to_string()), ("log", &log)]
        {
            finding.check(!text.contains(spelling), || format!("the {place} has `{spelling}`"));
        }
    }
    let ids = site.engine.containers(&site.daemon.setup.instance);
    let mut inspect = vec!["inspect"];
    inspect.extend(ids.iter().map(String::as_str));
    let told = String::from_utf8(site.engine.docker(&inspect).stdout).unwrap();
    finding.check(!told.contains(SECRET), || "docker inspect shows it".to_owned());
    finding.saw("4 spellings masked, in no reply, ledger, log or container");
}
