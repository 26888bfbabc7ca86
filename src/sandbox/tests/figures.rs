//! Figures of this machine, printed; run by hand with `--ignored`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt;

use super::live::{Room, config, profile, shell};
use crate::catalog::Pool;
use crate::sandbox::PoolUse;
use crate::sandbox::recipe::Recipe;

fn quantile(sorted: &[Duration], q: usize) -> Duration {
    sorted[(sorted.len() - 1) * q / 100]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement, not a check"]
async fn warm_latency() {
    let room = Room::open(config()).await;
    let mut profile = profile("shell");
    profile.pool = Pool { min: 4, max: 8 };
    let profile = Arc::new(profile);
    room.keep(&[&profile]);
    room.ready().await;
    let mut times = Vec::new();
    let mut hits = 0;
    for _ in 0..150 {
        tokio::time::sleep(Duration::from_millis(600)).await;
        let begun = Instant::now();
        let outcome = room.run(shell(&profile, "true")).await;
        times.push(begun.elapsed());
        hits += usize::from(outcome.pool == PoolUse::Hit);
    }
    times.sort();
    println!(
        "warm call p50 {:?} p90 {:?} p99 {:?}, {hits} hits of {}",
        quantile(&times, 50),
        quantile(&times, 90),
        quantile(&times, 99),
        times.len()
    );
    room.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement, not a check"]
async fn sustained_rate() {
    const CALLS: u32 = 100;
    let profile = Arc::new(profile("shell"));
    let room = Room::with(config(), &[&profile]).await;
    for round in 0..3 {
        let begun = Instant::now();
        futures::stream::iter(0..CALLS)
            .map(|_| room.run(shell(&profile, "true")))
            .buffer_unordered(16)
            .for_each(|_| std::future::ready(()))
            .await;
        let ours = f64::from(CALLS) / begun.elapsed().as_secs_f64();
        let hub = &room.sandbox.hub;
        let recipe = Recipe::new(&profile, &hub.images.load()).unwrap();
        let begun = Instant::now();
        futures::stream::iter(0..CALLS)
            .map(|n| {
                let mut body = recipe.body(&hub.yard.owner);
                body.entrypoint = Some(vec!["/bin/true".to_owned()]);
                body.host_config.as_mut().unwrap().auto_remove = Some(false);
                async move {
                    let engine = &hub.yard.engine;
                    let name = format!("figure-{round}-{n}-{}", hub.yard.owner.boot);
                    let id = engine.create(&name, body).await.unwrap();
                    engine.start(&id).await.unwrap();
                    engine.remove(&id).await.unwrap();
                }
            })
            .buffer_unordered(2)
            .for_each(|()| std::future::ready(()))
            .await;
        let engine = f64::from(CALLS) / begun.elapsed().as_secs_f64();
        println!("one-shot {ours:.2}/s, engine alone {engine:.2}/s, ratio {:.2}", ours / engine);
    }
    room.close().await;
}
