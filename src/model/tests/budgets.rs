//! Budgets: taken before, settled after, of the run and of its tenant's day, over a restart.

use super::server::{Act, chat, fail, say};
use super::*;

const PRICED: &str = "stream = false\nretries = 0\nprice_in = \"3\"\nprice_out = \"15\"";

fn purse(models: &Models, tokens: Option<u64>, money: Option<&str>) -> Purse {
    let money = money.map(|text| Money::parse(text, models.currency()).unwrap());
    models.purse("acme", Budget { tokens, money }, Spent::nothing(models.currency()))
}

async fn spend(models: &Models, purse: &Purse) -> Result<Said, Failed> {
    models.ask(Who::Role(Role::Reasoner), &question("2 + 2?"), purse, None).await
}

/// The models with the tasks that write for them.
fn open_with_tasks(config: &Config) -> (Models, TaskTracker) {
    let tasks = TaskTracker::new();
    (Models::open(config, &tasks).unwrap(), tasks)
}

/// Ends when all that they write is written.
async fn close((models, tasks): (Models, TaskTracker)) {
    drop(models);
    tasks.close();
    tasks.wait().await;
}

fn limit(failed: Result<Said, Failed>) -> Limit {
    match failed {
        Err(Failed::Budget { limit, .. }) => limit,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_answer_costs_exactly_what_its_tokens_do() {
    let server = Server::start(vec![say(&chat("4"))]).await;
    let models = one(&server, "openai", PRICED);
    let run = purse(&models, Some(5000), Some("1"));
    let said = spend(&models, &run).await.unwrap();
    // 10 tokens at 3 and 5 at 15 a million.
    assert_eq!(said.cost.to_string(), "0.000105 USD");
    assert_eq!((run.spent().tokens, run.spent().money), (15, said.cost));
    assert_eq!(run.left().tokens, Some(4985));
    assert_eq!(run.left().money.unwrap().amount(), "0.999895");
}

#[tokio::test]
async fn a_budget_of_zero_refuses_at_once_and_nobody_is_asked() {
    let server = Server::start(vec![say(&chat("4"))]).await;
    let models = one(&server, "openai", "stream = false");
    assert_eq!(limit(spend(&models, &purse(&models, Some(0), None)).await), Limit::RunTokens);
    assert_eq!(limit(spend(&models, &purse(&models, None, Some("0"))).await), Limit::RunMoney);
    assert!(server.asked().is_empty());
}

#[tokio::test]
async fn what_is_left_bounds_the_answer() {
    let server = Server::start(vec![say(&chat("4"))]).await;
    let models = one(&server, "openai", PRICED);
    spend(&models, &purse(&models, Some(120), None)).await.unwrap();
    let most = server.bodies()[0]["max_tokens"].as_u64().unwrap();
    assert!((10..120).contains(&most), "{most}");
    let failed = spend(&models, &purse(&models, Some(12), None)).await.unwrap_err();
    let told = failed.to_string();
    assert!(told.starts_with("the run's budget of tokens is not enough: 12 left, "), "{told}");
    assert_eq!(
        limit(spend(&models, &purse(&models, None, Some("0.000001"))).await),
        Limit::RunMoney
    );
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn a_dear_endpoint_is_passed_over_for_one_that_can_be_paid() {
    let (dear, cheap) = (Server::start(vec![]).await, Server::start(vec![say(&chat("4"))]).await);
    let keys = "stream = false\nprice_in = \"1000\"";
    let models =
        open(&config(&[("dear", &dear, "openai", keys), ("cheap", &cheap, "openai", PRICED)]));
    let said = spend(&models, &purse(&models, None, Some("0.01"))).await.unwrap();
    assert_eq!(outcomes(&said.tried), ["dear budget", "cheap ok"]);
}

#[tokio::test]
async fn a_failed_attempt_costs_nothing_until_it_was_begun() {
    let begun = Act::Say(200, vec![], "<html>".to_owned());
    let server = Server::start(vec![fail(500, &json!({})), begun]).await;
    let models = one(&server, "openai", PRICED);
    let run = purse(&models, Some(5000), None);
    spend(&models, &run).await.unwrap_err();
    assert_eq!((run.spent().tokens, run.left().tokens), (0, Some(5000)));
    spend(&models, &run).await.unwrap_err();
    assert!(run.spent().tokens > 0, "{:?}", run.spent());
    assert_eq!(run.left().tokens, Some(5000 - run.spent().tokens));
}

#[tokio::test]
async fn runs_of_one_tenant_share_its_day_and_a_named_tenant_has_its_own() {
    let server = Server::start(vec![say(&chat("4"))]).await;
    let mut config = config(&[("only", &server, "openai", PRICED)]);
    config.tenant = Allowance { tokens: Some(1200), money: None };
    let rich = Allowance { tokens: None, money: Some("0.0001".to_owned()) };
    config.tenants.insert("rich".to_owned(), rich);
    let models = open(&config);
    let (one, two) = (free(&models), free(&models));
    spend(&models, &one).await.unwrap();
    assert_eq!((one.left().tokens, two.left().tokens), (Some(1185), Some(1185)));
    let other = models.purse("beta", Budget::default(), Spent::nothing(models.currency()));
    assert_eq!(other.left().tokens, Some(1200));
    let rich = models.purse("rich", Budget::default(), Spent::nothing(models.currency()));
    assert_eq!(limit(spend(&models, &rich).await), Limit::TenantMoney);
}

#[tokio::test]
async fn two_asks_at_once_cannot_both_take_the_last_of_it() {
    let server = Server::start(vec![Act::Hang]).await;
    let mut config = config(&[("only", &server, "openai", PRICED)]);
    config.tenant = Allowance { tokens: Some(1000), money: None };
    let models = open(&config);
    let (one, two) = (free(&models), free(&models));
    let mut asking = Box::pin(spend(&models, &one));
    tokio::select! {
        said = &mut asking => panic!("{said:?}"),
        () = server.was_asked(1) => {
            assert_eq!(limit(spend(&models, &two).await), Limit::TenantTokens);
        }
    }
    drop(asking);
    assert_eq!(two.left().tokens, Some(1000));
}

#[tokio::test]
async fn what_a_tenant_spent_is_known_after_a_restart_and_its_file_is_one_daemons() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(vec![say(&chat("4"))]).await;
    let mut config = config(&[("only", &server, "openai", PRICED)]);
    config.spending = Some(folder.path().join("spending"));
    config.tenant = Allowance { tokens: Some(5000), money: Some("2".to_owned()) };
    let (models, tasks) = open_with_tasks(&config);
    for _ in 0..3 {
        spend(&models, &free(&models)).await.unwrap();
    }
    let second = Models::open(&config, &TaskTracker::new()).unwrap_err().to_string();
    assert!(second.contains("another daemon has it"), "{second}");
    close((models, tasks)).await;
    let models = open(&config);
    let left = free(&models).left();
    assert_eq!(left.tokens, Some(5000 - 45));
    assert_eq!(left.money.unwrap().to_string(), "1.999685 USD");
}

#[tokio::test]
async fn an_ask_that_a_kill_cuts_counts_with_all_that_it_held_and_once() {
    let (folder, killed) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = Server::start(vec![say(&chat("4")), Act::Hang]).await;
    let mut config = config(&[("only", &server, "openai", PRICED)]);
    config.spending = Some(folder.path().join("spending"));
    config.tenant = Allowance { tokens: Some(5000), money: Some("2".to_owned()) };
    let (models, tasks) = open_with_tasks(&config);
    let purse = free(&models);
    spend(&models, &purse).await.unwrap();
    let mut asking = Box::pin(spend(&models, &purse));
    let held = tokio::select! {
        said = &mut asking => panic!("{said:?}"),
        () = server.was_asked(2) => purse.left(),
    };
    assert!(held.tokens < Some(5000 - 15 - 1024), "{held:?}");
    // What a kill leaves at this moment. Another process has nothing else to go by.
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), killed.path().join(entry.file_name())).unwrap();
    }
    let left = Config { spending: Some(killed.path().join("spending")), ..config.clone() };
    for _ in 0..2 {
        assert_eq!(free(&open(&left)).left(), held);
    }
    // The process itself knows better, and so does its file.
    drop(asking);
    assert_eq!(purse.left().tokens, Some(5000 - 15));
    drop(purse);
    close((models, tasks)).await;
    assert_eq!(free(&open(&config)).left().tokens, Some(5000 - 15));
}

#[tokio::test]
async fn a_file_of_something_else_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("spending");
    std::fs::write(&path, "no database").unwrap();
    let server = Server::start(vec![]).await;
    let mut config = config(&[("only", &server, "openai", PRICED)]);
    config.spending = Some(path);
    let error = Models::open(&config, &TaskTracker::new()).unwrap_err().to_string();
    assert!(error.contains("move the file away"), "{error}");
}

#[tokio::test]
async fn a_run_that_goes_on_has_spent_what_it_had() {
    let server = Server::start(vec![say(&chat("4"))]).await;
    let models = one(&server, "openai", PRICED);
    let spent = Spent { tokens: 995, money: Money::zero(models.currency()) };
    let run = models.purse("acme", Budget { tokens: Some(1000), money: None }, spent);
    assert_eq!(run.left().tokens, Some(5));
    assert_eq!(limit(spend(&models, &run).await), Limit::RunTokens);
}

#[tokio::test]
async fn a_budget_of_another_currency_buys_nothing() {
    let server = Server::start(vec![say(&chat("4"))]).await;
    let models = one(&server, "openai", PRICED);
    let yen = Money::parse("100", "JPY".parse().unwrap()).unwrap();
    let budget = Budget { tokens: None, money: Some(yen) };
    let run = models.purse("acme", budget, Spent::default());
    assert_eq!(limit(spend(&models, &run).await), Limit::RunMoney);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_asks_at_once_are_all_answered_and_all_counted() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(vec![say(&chat("4"))]).await;
    let mut config = config(&[("only", &server, "openai", PRICED)]);
    config.spending = Some(folder.path().join("spending"));
    config.tenant = Allowance { tokens: Some(1_000_000), money: None };
    let (models, tasks) = open_with_tasks(&config);
    let asks = (0..200).map(|_| async { spend(&models, &free(&models)).await });
    let answered = futures::future::join_all(asks).await;
    assert_eq!(answered.iter().filter(|said| said.is_ok()).count(), 200);
    drop(answered);
    close((models, tasks)).await;
    assert_eq!(free(&open(&config)).left().tokens, Some(1_000_000 - 200 * 15));
}

#[tokio::test]
async fn tokens_that_cannot_be_are_not_believed() {
    for (read, written) in [(0, 5), (10, 0), (u64::MAX, 5), (10, u64::MAX)] {
        let mut answer = chat("Good day to you");
        answer["usage"] = json!({ "prompt_tokens": read, "completion_tokens": written });
        let server = Server::start(vec![say(&answer)]).await;
        let models = one(&server, "openai", PRICED);
        let run = purse(&models, Some(5000), Some("1"));
        let usage = spend(&models, &run).await.unwrap().usage;
        assert!(usage.estimated, "{usage:?}");
        assert!((1..500).contains(&usage.input) && (1..50).contains(&usage.output), "{usage:?}");
        assert!(run.left().tokens > Some(4000), "{usage:?}");
    }
}
