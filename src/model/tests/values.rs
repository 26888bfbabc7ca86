//! Money, and values of the configuration.

use proptest::prelude::*;

use super::*;
use crate::model::money::Price;

fn usd(text: &str) -> Money {
    Money::parse(text, Currency::default()).unwrap()
}

#[test]
fn money_is_read_and_told_without_a_loss() {
    for (text, told) in [
        ("0", "0"),
        ("0.10", "0.1"),
        ("12", "12"),
        ("0.000000000001", "0.000000000001"),
        ("999999999999999.999999999999", "999999999999999.999999999999"),
        ("007.50", "7.5"),
    ] {
        assert_eq!(usd(text).amount(), told);
    }
    for text in ["", ".", "1.", ".5", "-1", "+1", "1e3", "1,5", "0.0000000000001", "1 USD", "١"] {
        assert!(Money::parse(text, Currency::default()).is_err(), "{text}");
    }
    assert_eq!(usd("0.1").plus(usd("0.2")), usd("0.3"));
    assert_eq!(usd("0.1").minus(usd("0.2")), usd("0"));
    let yen = Money::parse("5", "JPY".parse().unwrap()).unwrap();
    assert_eq!(usd("1").plus(yen), usd("1"));
    let json = serde_json::to_string(&usd("1.50")).unwrap();
    assert_eq!(json, "\"1.5 USD\"");
    assert_eq!(serde_json::from_str::<Money>(&json).unwrap(), usd("1.5"));
}

proptest! {
    #[test]
    fn tokens_cost_their_number_times_their_price(
        price in 0_u64..1_000_000_000, read in 0_u64..10_000_000, written in 0_u64..10_000_000,
    ) {
        let text = format!("{}.{:06}", price / 1_000_000, price % 1_000_000);
        let cost = Price::parse(&text, &text, Currency::default()).unwrap().of(read, written);
        let parts = u128::from(price) * u128::from(read + written);
        let expected = format!("{}.{:012}", parts / 1_000_000_000_000, parts % 1_000_000_000_000);
        prop_assert_eq!(cost, usd(&expected));
    }

    #[test]
    fn what_is_left_is_never_overspent(
        left in 0_u64..1_000_000, price in 1_u64..100_000_000, read in 0_u64..100_000,
    ) {
        let text = format!("{}.{:06}", price / 1_000_000, price % 1_000_000);
        let price = Price::parse(&text, &text, Currency::default()).unwrap();
        let left = usd(&format!("0.{left:06}"));
        let most = price.written_for(left, read).unwrap();
        if most > 0 {
            prop_assert!(price.of(read, most) <= left);
        }
        prop_assert!(price.of(read, most + 1) > left);
    }
}

/// Why a table `[models]` is refused.
fn refused(text: &str) -> String {
    match toml::from_str::<Config>(text) {
        Err(error) => error.to_string(),
        Ok(config) => match Models::open(&config, &TaskTracker::new()) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("{text} is taken"),
        },
    }
}

#[test]
fn a_table_is_read_with_its_defaults() {
    let text = "currency = \"EUR\"\n[endpoints.big]\nprovider = \"openai\"\nurl = \"https://a.example/v1\"\n\
        model = \"m\"\n[roles]\nreasoner = [\"big\"]\njudge = [\"big\"]\n[tenant]\nmoney = \"2.50\"\n";
    let config: Config = toml::from_str(text).unwrap();
    let models = open(&config);
    let big = models.lead(Role::Reasoner).unwrap();
    assert_eq!((big.retries, big.max_output, big.context, big.stream), (2, 1024, 8192, true));
    assert_eq!((big.timeout.as_secs(), big.first_token_timeout.as_secs()), (60, 30));
    assert_eq!(big.form, Forms::Auto);
    assert!(models.serves(Role::Judge) && !models.serves(Role::Router));
    assert_eq!(free(&models).left().money.unwrap().to_string(), "2.5 EUR");
    let again: Config = toml::from_str(&toml::to_string(&config).unwrap()).unwrap();
    assert_eq!(again, config);
}

#[test]
fn what_is_wrong_in_a_table_is_named_with_how_to_mend_it() {
    let endpoint = "[endpoints.a]\nprovider = \"openai\"\nmodel = \"m\"\n";
    let with = |more: &str| format!("{endpoint}url = \"https://a.example/v1\"\n{more}");
    for (text, words) in [
        (with("colour = 1"), "colour"),
        (format!("{endpoint}url = \"http://a.example/v1\""), "plain HTTP"),
        (format!("{endpoint}url = \"https://u:p@a.example\""), "models.endpoints.a.url"),
        (with("price_in = \"1,5\""), "models.endpoints.a.price_in"),
        (with("timeout = \"0s\""), "models.endpoints.a.timeout"),
        (with("max_output = 9000"), "must be more than `max_output`"),
        (with("temperature = 3.0"), "from 0 to 2"),
        (with("key_file = \"a\"\nkey_env = \"B\""), "keep one"),
        (with("[roles]\nreasoner = [\"b\"]"), "there is no endpoint `b`"),
        (with("[roles]\nreasoner = [\"a\", \"a\"]"), "is there twice"),
        (with("[roles]\npoet = [\"a\"]"), "poet"),
        (with("[tenant]\nmoney = \"much\""), "models.tenant.money"),
        ("currency = \"dollars\"".to_owned(), "three capital letters"),
    ] {
        let told = refused(&text);
        assert!(told.contains(words), "{text}\n{told}");
    }
    assert!(
        !refused(&format!("{endpoint}url = \"https://u:secret@a.example\"")).contains("secret")
    );
}

#[test]
fn a_url_gets_the_path_of_its_chat_where_it_has_none() {
    for (provider, url, shown) in [
        ("openai", "https://a.example/v1", "https://a.example/v1/chat/completions"),
        ("openai", "https://a.example/v1/", "https://a.example/v1/chat/completions"),
        (
            "openai",
            "https://a.example/x/chat/completions?v=1",
            "https://a.example/x/chat/completions",
        ),
        ("anthropic", "https://a.example", "https://a.example/v1/messages"),
        ("anthropic", "https://a.example/v1", "https://a.example/v1/messages"),
        (
            "gemini",
            "https://a.example/v1beta",
            "https://a.example/v1beta/models/m:streamGenerateContent",
        ),
        (
            "gemini",
            "https://a.example/v1/models/other:generateContent",
            "https://a.example/v1/models/other:streamGenerateContent",
        ),
        ("ollama", "https://a.example", "https://a.example/api/chat"),
        ("ollama", "https://a.example/api", "https://a.example/api/chat"),
    ] {
        let text =
            format!("[endpoints.a]\nprovider = \"{provider}\"\nurl = \"{url}\"\nmodel = \"m\"\n");
        let models = open(&toml::from_str(&text).unwrap());
        assert_eq!(models.lines["a"].outlet.shown(), shown, "{provider} {url}");
    }
}

#[test]
fn the_keys_that_are_documented_are_real() {
    let shipped = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/switchboard.toml"));
    let (_, table) = shipped.split_once("# [models]\n").unwrap();
    let (table, _) = table.split_once("\n[reason]\n").unwrap();
    let lines = table.lines().filter_map(|line| line.strip_prefix("# "));
    let is_key = |line: &str| {
        let key = line.split_once(" = ").map(|(key, _)| key);
        key.is_some_and(|key| key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'))
    };
    let lines: Vec<&str> = lines.filter(|line| line.starts_with('[') || is_key(line)).collect();
    let text = lines.join("\n").replace("[models.", "[").replace("key_env", "# key_env");
    let config: Config = toml::from_str(&text).unwrap();
    assert_eq!((config.endpoints.len(), config.tenants.len(), config.roles.len()), (1, 1, 3));
    let large = toml::to_string(&config.endpoints["large"]).unwrap();
    let told = |key: &&str| lines.iter().any(|line| line.starts_with(&format!("{key} = ")));
    let missing: Vec<&str> = large
        .lines()
        .filter_map(|line| line.split_once(" = ").map(|(key, _)| key))
        .filter(|key| !told(key))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
