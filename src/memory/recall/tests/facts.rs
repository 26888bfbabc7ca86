//! Facts on two axes of time: what holds when, and what was known when.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::home::{Home, ids, text, unit};
use crate::memory::{Question, Receipt, Stage};

fn city(id: &str, said: &str, value: &str, from: &str) -> crate::memory::Draft {
    unit(
        id,
        json!({
            "text": format!("The office of team Kestrel is in {value}."),
            "source_time": said,
            "valid_from": from,
            "facts": [{"entity": "team Kestrel", "attribute": "city", "value": value}],
        }),
    )
}

async fn given(home: &Home, as_of: &str, known_at: Option<Timestamp>) -> Vec<String> {
    let question = Question {
        as_of: Some(as_of.parse().unwrap()),
        known_at,
        ..text("In which city is the office of team Kestrel?")
    };
    let answer = home.ask(&question).await;
    let value = |hit: &crate::memory::Recollection| hit.version.draft.facts[0].value.clone();
    answer.hits.iter().map(value).collect()
}

#[tokio::test]
async fn the_fact_that_holds_since_last_is_given_on_both_axes() {
    let home = Home::new().await;
    let write = async |draft| {
        let stages: Vec<Stage> =
            home.write("ana", vec![draft]).await.iter().map(|one: &Receipt| one.stage).collect();
        assert_eq!(stages, [Stage::Stored]);
        Timestamp::now()
    };
    let first = write(city("1", "2026-04-01T08:00:00Z", "Lyon", "2026-03-01")).await;
    let second = write(city("2", "2026-04-02T08:00:00Z", "Oslo", "2026-01-01")).await;
    // A correction of the first: it held later only.
    write(city("1", "2026-04-05T08:00:00Z", "Lyon", "2026-03-15")).await;
    for (as_of, known_at, value) in [
        ("2026-02-10T00:00:00Z", None, Some("Oslo")),
        ("2026-03-10T00:00:00Z", None, Some("Oslo")),
        ("2026-03-20T00:00:00Z", None, Some("Lyon")),
        ("2026-03-10T00:00:00Z", Some(second), Some("Lyon")),
        ("2026-03-20T00:00:00Z", Some(first), Some("Lyon")),
        ("2026-02-10T00:00:00Z", Some(first), None),
    ] {
        let expected: Vec<String> = value.map(ToOwned::to_owned).into_iter().collect();
        assert_eq!(given(&home, as_of, known_at).await, expected, "{as_of} {known_at:?}");
    }
}

#[tokio::test]
async fn what_is_overtaken_says_by_what() {
    let home = Home::new().await;
    home.write(
        "ana",
        vec![
            city("1", "2026-01-01T08:00:00Z", "Oslo", "2026-01-01"),
            city("2", "2026-02-01T08:00:00Z", "Lyon", "2026-02-01"),
        ],
    )
    .await;
    let as_of = Some("2026-03-01T00:00:00Z".parse().unwrap());
    let question = Question { as_of, explain: true, ..text("office of team Kestrel") };
    let answer = home.ask(&question).await;
    assert_eq!(ids(&answer), ["2"]);
    let missed = answer.missed.iter().find(|one| one.version.draft.source_id == "1").unwrap();
    assert!(missed.withheld.contains(&answer.hits[0].evidence()), "{}", missed.withheld);
}

#[tokio::test]
async fn facts_of_which_there_can_be_many_stay_beside_each_other() {
    let home = Home::new().await;
    let speaks = |id: &str, value: &str| -> crate::memory::Draft {
        let facts: Value = json!([{"entity": "user", "attribute": "speaks", "value": value}]);
        unit(id, json!({"text": format!("The user speaks {value}."), "facts": facts}))
    };
    home.write("ana", vec![speaks("1", "Chinese"), speaks("2", "English")]).await;
    let answer = home.ask(&text("what does the user speak")).await;
    let mut found = ids(&answer);
    found.sort_unstable();
    assert_eq!(found, ["1", "2"]);
}

#[tokio::test]
async fn held_units_come_back_only_where_they_are_asked_for_and_are_marked() {
    let home = Home::new().await;
    let torque = |id: &str, value: &str| {
        unit(
            id,
            json!({
                "text": format!("The gland bolts take {value} Nm."),
                "facts": [{"entity": "gland bolts", "attribute": "torque", "value": value, "unit": "Nm"}],
            }),
        )
    };
    home.write("ana", vec![torque("1", "18")]).await;
    let held = home.write("ana", vec![torque("2", "22")]).await;
    assert_eq!(held[0].stage, Stage::Held);
    assert_eq!(ids(&home.ask(&text("torque of gland bolts")).await), ["1"]);
    let answer = home.ask(&Question { held: true, ..text("gland bolts take Nm") }).await;
    let state = |id: &str| {
        let hit = answer.hits.iter().find(|hit| hit.version.draft.source_id == id).unwrap();
        hit.version.state
    };
    assert_eq!(state("2"), crate::memory::State::Held);
    assert_eq!(state("1"), crate::memory::State::Active);
}

#[tokio::test]
async fn nothing_is_overtaken_by_what_is_believed_less_or_lies_outside_the_place_asked_for() {
    let home = Home::new().await;
    let at = |id: &str, value: &str, from: &str, latitude: f64| {
        let mut draft = city(id, "2026-04-01T08:00:00Z", value, from);
        let place = json!({"latitude": latitude, "longitude": 10.0, "type": "office"});
        draft.place = Some(serde_json::from_value(place).unwrap());
        draft
    };
    home.write("ana", vec![at("1", "Oslo", "2026-01-01", 59.9)]).await;
    home.write("ana", vec![at("2", "Lyon", "2026-02-01", 45.7)]).await;
    let as_of = Some("2026-06-01T00:00:00Z".parse().unwrap());
    let near = |metres| crate::memory::Spot::Within {
        latitude: 59.9,
        longitude: 10.0,
        metres,
        kinds: Vec::new(),
    };
    for (spot, found) in [(None, "2"), (Some(near(1e7)), "2"), (Some(near(1000.0)), "1")] {
        let question = Question { as_of, spot, ..text("office of team Kestrel") };
        assert_eq!(ids(&home.ask(&question).await), [found], "{:?}", question.spot);
    }
    // Two reviewers may keep both: each says what it says.
    let mut weak = at("3", "Rome", "2026-03-01", 41.9);
    weak.origin = Some(crate::memory::Origin::Web);
    let held = home.write("ana", vec![weak]).await.remove(0);
    assert_eq!(held.stage, Stage::Held);
    let used = crate::memory::Change {
        state: Some(crate::memory::State::Active),
        ..crate::memory::writing::nothing(held.stored.unwrap().1)
    };
    home.store.change(None, &[used]).await.unwrap();
    let question = Question { as_of, ..text("office of team Kestrel") };
    let answer = home.ask(&question).await;
    let mut both = ids(&answer);
    both.sort_unstable();
    assert_eq!(both, ["2", "3"]);
}
