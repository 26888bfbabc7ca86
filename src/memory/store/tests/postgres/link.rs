//! How the server is reached: its address, its password, TLS, and what happens when it is slow or gone.

use std::time::Duration;

use super::super::super::{Ask, Error, PostgresConfig, Sslmode};
use super::super::kit::{
    Dice, MODEL, TENANT, ask_vector, ask_words, chunk, draft, filter, put, scope, seqs, settlement,
    version, write,
};
use super::Server;
use super::proxy::Proxy;
use crate::memory::{Chunk, Compare, Entity, Scope};

fn port(config: &mut PostgresConfig, port: u16) {
    let mut url: url::Url = config.url.parse().unwrap();
    url.set_port(Some(port)).unwrap();
    config.url = url.to_string();
}

fn host(config: &mut PostgresConfig, name: &str) {
    let mut url: url::Url = config.url.parse().unwrap();
    url.set_host(Some(name)).unwrap();
    config.url = url.to_string();
}

#[tokio::test]
async fn a_server_that_went_away_is_down_and_works_when_it_is_back() {
    let server = Server::new();
    let proxy = Proxy::plain(0).await;
    let there = proxy.port;
    let store = server
        .store_with(|config| {
            port(config, there);
            config.connect_timeout = Duration::from_secs(2);
        })
        .await
        .unwrap();
    let seq = put(&*store, version("the pump")).await;
    drop(proxy);
    for _ in 0..3 {
        let error = store.load(TENANT, &[seq]).await.unwrap_err();
        assert!(matches!(error, Error::Down(_)), "{error}");
        assert!(matches!(store.waiting(None, 9).await, Err(Error::Down(_))));
    }
    let _proxy = Proxy::plain(there).await;
    assert_eq!(seqs(&ask_words(&*store, &scope(), "pump").await), [seq]);
    let write = write(draft("after"));
    store.accept(vec![write.clone()]).await.unwrap();
    assert_eq!(store.waiting(None, 9).await.unwrap(), [write]);
}

#[tokio::test]
async fn connections_that_the_server_ended_are_replaced() {
    let server = Server::new();
    let store = server.store().await;
    let seq = put(&*store, version("the pump")).await;
    server
        .run(&format!(
            "SELECT pg_terminate_backend(l.pid) FROM pg_locks l WHERE l.locktype = 'advisory' \
             AND l.classid::bigint = (hashtext('{}')::bigint & 4294967295)",
            server.config.schema
        ))
        .await;
    let writes = vec![write(draft("after"))];
    store.accept(writes.clone()).await.unwrap();
    // The lock of its number is gone: it takes another.
    assert_eq!(store.waiting(None, 9).await.unwrap(), writes);
    assert_eq!(store.load(TENANT, &[seq]).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_certificate_is_checked_as_the_configuration_says() {
    let server = Server::new();
    let root = server.home.path().join("root.pem");
    let proxy = Proxy::tls("localhost", &root).await;
    let open = |sslmode, name: &'static str, ca: bool| {
        let (root, port_of) = (root.clone(), proxy.port);
        server.store_with(move |config| {
            port(config, port_of);
            host(config, name);
            config.sslmode = sslmode;
            config.ca_file = ca.then_some(root);
        })
    };
    open(Sslmode::Require, "127.0.0.1", false).await.unwrap();
    let store = open(Sslmode::VerifyFull, "localhost", true).await.unwrap();
    put(&*store, version("over TLS")).await;
    let unknown = open(Sslmode::VerifyFull, "localhost", false).await.unwrap_err().to_string();
    assert!(unknown.contains("certificate"), "{unknown}");
    let elsewhere = open(Sslmode::VerifyFull, "127.0.0.1", true).await.unwrap_err().to_string();
    assert!(elsewhere.contains("certificate"), "{elsewhere}");
    // A server that speaks no TLS is refused, not believed.
    let plain = Proxy::plain(0).await;
    let plain = server
        .store_with(|config| {
            port(config, plain.port);
            config.sslmode = Sslmode::Require;
        })
        .await
        .unwrap_err();
    assert!(plain.to_string().contains("TLS"), "{plain}");
}

#[tokio::test]
async fn a_password_stands_in_no_message() {
    let server = Server::new();
    let store = server.store().await;
    assert!(!format!("{store:?}").contains(&server.password));
    assert!(format!("{store:?}").contains("127.0.0.1"));
    let told = |error: Error| {
        let text = format!("{error} {error:?}");
        assert!(!text.contains(&server.password) && !text.contains("sesame"), "{text}");
        text
    };
    let file = server.home.path().join("other");
    std::fs::write(&file, "sesame").unwrap();
    let wrong = server.store_with(|config| config.password_file = Some(file)).await;
    let wrong = told(wrong.unwrap_err());
    assert!(wrong.contains("cannot open the memory `postgres://postgres@127.0.0.1"), "{wrong}");
    let inside = server
        .store_with(|config| config.url = config.url.replace("postgres@", "postgres:sesame@"))
        .await;
    assert!(told(inside.unwrap_err()).contains("password_file"));
    for url in ["postgres://a:sesame@[::1", "", "postgres://a@h:1/d?sslmode=verify-full"] {
        told(server.store_with(|config| config.url = url.into()).await.unwrap_err());
    }
    let variable = server
        .store_with(|config| {
            config.password_file = None;
            config.password_env = Some("SWITCHBOARD_NO_SUCH_VARIABLE".into());
        })
        .await;
    assert!(told(variable.unwrap_err()).contains("SWITCHBOARD_NO_SUCH_VARIABLE"));
    let missing = server.store_with(|config| config.password_file = Some("/no/such".into())).await;
    assert!(told(missing.unwrap_err()).contains("/no/such"));
    let both = server.store_with(|config| config.password_env = Some("PATH".into())).await;
    assert!(told(both.unwrap_err()).contains("keep one"));
}

#[tokio::test]
async fn what_cannot_be_set_up_is_told() {
    let server = Server::new();
    for name in ["", "Upper", "1st", "a-b", "pg_x", "a\"b", &"x".repeat(60)] {
        let refused = server.store_with(|config| config.schema = name.into()).await;
        assert!(matches!(refused, Err(Error::Open { .. })), "{name}");
    }
    let nobody = server.store_with(|config| port(config, 1)).await.unwrap_err();
    assert!(matches!(nobody, Error::Open { .. }), "{nobody}");
    // Daemons that start together set up once.
    let opened = futures::future::join_all((0..6).map(|_| server.store())).await;
    let first = put(&*opened[0], version("one")).await;
    assert_eq!(opened[5].load(TENANT, &[first]).await.unwrap().len(), 1);
    server.run(&format!("UPDATE {}.meta SET version = 99", server.config.schema)).await;
    let newer = server.store_with(|_| {}).await.unwrap_err().to_string();
    assert!(newer.contains("version 99") && newer.contains("newer daemon"), "{newer}");
}

#[tokio::test]
async fn what_lasts_too_long_is_ended_and_no_question_waits_for_ever() {
    let server = Server::new();
    let store = server
        .store_with(|config| {
            config.connections = 1;
            config.wait = Duration::from_millis(300);
            config.statement_timeout = Duration::from_millis(900);
        })
        .await
        .unwrap();
    let seq = put(&*store, version("one")).await;
    let schema = &server.config.schema;
    let lock = format!("BEGIN; LOCK TABLE {schema}.versions; SELECT pg_sleep(4); COMMIT");
    let held = async { server.run(&lock).await };
    let asked = async {
        server.run(&until_locked(schema)).await;
        let seqs = [seq];
        tokio::join!(store.load(TENANT, &seqs), store.load(TENANT, &seqs))
    };
    let ((), (first, second)) = tokio::join!(held, asked);
    let mut told = [first.unwrap_err().to_string(), second.unwrap_err().to_string()];
    told.sort();
    assert!(told[1].contains("statement_timeout"), "{told:?}");
    assert!(told[0].contains("memory.store.connections"), "{told:?}");
    assert_eq!(store.load(TENANT, &[seq]).await.unwrap().len(), 1);
}

/// Waits on the server until another has locked the versions.
fn until_locked(schema: &str) -> String {
    format!(
        "DO $$ BEGIN WHILE NOT EXISTS (SELECT FROM pg_locks WHERE granted \
         AND relation = '{schema}.versions'::regclass AND mode = 'AccessExclusiveLock') \
         LOOP PERFORM pg_sleep(0.01); END LOOP; END $$"
    )
}

#[tokio::test]
async fn every_character_is_kept() {
    let server = Server::new();
    let store = server.store().await;
    let mut odd = version("nul \0 and \u{10ffff} and \u{feff}");
    odd.draft.source_id = "id \0 0".into();
    odd.draft.group = "\0".into();
    odd.draft.metadata.insert("k\0".into(), "v\0\u{10ffff}".into());
    odd.draft.entities = vec![Entity { kind: "part\0".into(), value: "PX\0".into() }];
    odd.draft.triggers = vec!["\0 pump \0".into()];
    odd.owner = "ann\0".into();
    odd.remarks = vec!["\0".into()];
    let write = crate::memory::Write { caller: "ann\0".into(), ..write(odd.draft.clone()) };
    store.accept(vec![write.clone()]).await.unwrap();
    assert_eq!(store.waiting(None, 9).await.unwrap(), std::slice::from_ref(&write));
    let seq =
        store.settle(vec![settlement(&write.receipt, odd.clone())]).await.unwrap()[0].unwrap();
    let found = store.load(TENANT, &[seq]).await.unwrap().remove(0);
    assert_eq!(found.draft, odd.draft);
    assert_eq!((found.owner, found.remarks), (odd.owner.clone(), odd.remarks.clone()));
    assert_eq!(store.receipt(TENANT, &write.receipt).await.unwrap().unwrap().caller, "ann\0");
    assert_eq!(store.texts(&[(seq, 0)]).await.unwrap(), [odd.draft.text.clone()]);
    assert_eq!(store.of_source(TENANT, &odd.draft).await.unwrap().len(), 1);
    let mut other = odd.draft.clone();
    other.source_id = "id  0".into();
    assert_eq!(store.of_source(TENANT, &other).await.unwrap(), []);
    let filters = vec![filter("k\0", Compare::Any, "v\0\u{10ffff}".into())];
    let ask = Ask { entities: odd.draft.entities.clone(), limit: 9, ..Ask::default() };
    let found = store.search(&Scope { filters, ..scope() }, &ask).await.unwrap();
    assert_eq!(seqs(&found.entity.unwrap().unwrap()), [seq]);
}

/// The index is asked from the first vector on.
#[tokio::test]
async fn the_index_finds_the_nearest_under_any_filter() {
    let server = Server::new();
    let store = server.store_with(|config| config.exact = 0).await.unwrap();
    let mut dice = Dice(11);
    let (mut all, mut settlements) = (Vec::new(), Vec::new());
    for number in 0..4000_u32 {
        let mut version = version(&format!("unit {number}"));
        let line = dice.roll(40);
        version.draft.metadata.insert("line".into(), line.into());
        let vector = dice.vector(32);
        let chunk = Chunk { vector: Some((MODEL.into(), vector.clone())), ..chunk(&version) };
        let mut one = settlement(&number.to_string(), version.clone());
        one.version = Some((version, vec![chunk]));
        settlements.push(one);
        all.push((line, vector));
    }
    let stored = store.settle(settlements).await.unwrap();
    let length = |v: &[f32]| v.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
    let (mut right, mut wanted) = (0, 0);
    for ask in 0..40 {
        let question = dice.vector(32);
        let line = (ask % 2 == 0).then(|| dice.roll(40));
        let mut exact: Vec<(f64, i64)> = all
            .iter()
            .zip(&stored)
            .filter(|((own, _), _)| line.is_none_or(|line| line == *own))
            .map(|((_, vector), seq)| {
                let product: f64 =
                    vector.iter().zip(&question).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
                (product / length(vector) / length(&question), seq.unwrap())
            })
            .collect();
        exact.sort_by(|left, right| right.0.total_cmp(&left.0));
        exact.truncate(20);
        let filters = line.map(|line| filter("line", Compare::Any, line.into()));
        let scope = Scope { filters: filters.into_iter().collect(), ..scope() };
        let hits = ask_vector(&*store, &scope, MODEL, &question).await;
        assert!(hits.windows(2).all(|two| two[0].score >= two[1].score));
        assert_eq!(hits.len(), exact.len());
        assert!((hits[0].score - exact[0].0).abs() < 1e-3, "{:?} {:?}", hits[0], exact[0]);
        wanted += exact.len();
        right += exact.iter().filter(|(_, seq)| seqs(&hits).contains(seq)).count();
    }
    assert!(right * 100 >= wanted * 99, "{right} of {wanted}");
}

#[tokio::test]
async fn connections_that_are_all_in_use_are_no_server_that_is_gone() {
    let server = Server::new();
    let store = server
        .store_with(|config| {
            config.connections = 1;
            config.wait = Duration::from_millis(200);
        })
        .await
        .unwrap();
    let seq = put(&*store, version("the pump")).await;
    let schema = &server.config.schema;
    let lock = format!("BEGIN; LOCK TABLE {schema}.versions IN ACCESS EXCLUSIVE MODE");
    let slow = server.held(&lock).await;
    let seqs = [seq];
    let ask = || store.load(TENANT, &seqs);
    let (first, second) = tokio::join!(ask(), async {
        let error = ask().await.unwrap_err();
        drop(slow);
        error
    });
    assert!(matches!(second, Error::Busy(_)), "{second}");
    assert_eq!(first.unwrap().len(), 1);
}
