//! Places: by distance, by area, the nearest.

use super::super::{Ask, Store};
use super::kit::{ask_words, put, scope, seqs, version};
use crate::memory::{Place, Scope, Spot};

async fn put_place(store: &dyn Store, kind: &str, latitude: f64, longitude: f64) -> i64 {
    let mut version = version("a place");
    version.draft.place = Some(Place { latitude, longitude, kind: kind.into() });
    put(store, version).await
}

async fn found(store: &dyn Store, spot: Spot) -> Vec<i64> {
    let scope = Scope { spot: Some(spot), ..scope() };
    let mut found = seqs(&ask_words(store, &scope, "place").await);
    found.sort_unstable();
    found
}

pub(super) async fn places_are_found_by_distance_and_area(store: &dyn Store) {
    let shop = put_place(store, "store", 48.137, 11.575).await;
    let depot = put_place(store, "warehouse", 48.2, 11.6).await;
    let west = put_place(store, "store", 0.0, -179.99).await;
    let east = put_place(store, "store", 0.0, 179.99).await;
    let pole = put_place(store, "site", 89.999, 170.0).await;
    put(store, version("a place of no known place")).await;
    let within = |latitude, longitude, metres, kinds: &[&str]| {
        let kinds = kinds.iter().map(|kind| (*kind).to_owned()).collect();
        Spot::Within { latitude, longitude, metres, kinds }
    };
    assert_eq!(found(store, within(48.137, 11.575, 0.0, &[])).await, [shop]);
    assert_eq!(found(store, within(48.137, 11.575, 10_000.0, &[])).await, [shop, depot]);
    let depots = within(48.137, 11.575, 10_000.0, &["warehouse"]);
    assert_eq!(found(store, depots).await, [depot]);
    assert_eq!(found(store, within(0.0, 180.0, 2_000.0, &[])).await, [west, east]);
    assert_eq!(found(store, within(89.999, -10.0, 300.0, &[])).await, [pole]);
    assert_eq!(found(store, within(-48.0, 11.5, 10_000.0, &[])).await, [] as [i64; 0]);
    let inside = |ring: &[(f64, f64)]| Spot::Inside { ring: ring.to_vec(), kinds: Vec::new() };
    let town = [(48.0, 11.4), (48.0, 11.7), (48.15, 11.7), (48.15, 11.4)];
    assert_eq!(found(store, inside(&town)).await, [shop]);
    let line = [(-1.0, 179.0), (-1.0, -179.0), (1.0, -179.0), (1.0, 179.0)];
    assert_eq!(found(store, inside(&line)).await, [west, east]);

    let distances = store.distances(&[depot, pole, 999, shop], (48.137, 11.575)).await.unwrap();
    assert_eq!(distances.iter().map(|(seq, _)| *seq).collect::<Vec<_>>(), [depot, pole, shop]);
    assert!((distances[0].1 - 7_248.0).abs() < 20.0 && distances[2].1 == 0.0, "{distances:?}");
}

pub(super) async fn the_nearest_rank_first_whatever_the_meridian(store: &dyn Store) {
    let far = put_place(store, "store", 52.5, 13.4).await;
    let near = put_place(store, "store", 10.0, -179.9).await;
    let nearer = put_place(store, "site", 10.0, 179.95).await;
    let ask = |kinds: &[&str], limit| {
        let kinds = kinds.iter().map(|kind| (*kind).to_owned()).collect();
        let ask = Ask { nearest: Some((10.0, 179.99, kinds)), limit, ..Ask::default() };
        async move { store.search(&scope(), &ask).await.unwrap().nearest.unwrap().unwrap() }
    };
    let hits = ask(&[], 9).await;
    assert_eq!(seqs(&hits), [nearer, near, far]);
    assert!((hits[0].score + 4_385.0).abs() < 10.0, "{hits:?}");
    assert_eq!(seqs(&ask(&[], 1).await), [nearer]);
    assert_eq!(seqs(&ask(&["store"], 9).await), [near, far]);
}
