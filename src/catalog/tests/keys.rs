//! Names that only the operator sets: no argument reaches them, by whatever way it is sent.

use serde_json::{Value, json};

use super::policies::Policies;
use super::{body, header, one, only, read, read_with};
use crate::catalog::openapi::Settings;
use crate::catalog::{HostPort, Origin, Placement, Secret, lint};

/// A document of one operation that needs an API key.
fn keyed(key: &str, head: &str, operation: &str) -> String {
    let schemes = format!("components: {{securitySchemes: {{gate: {{type: apiKey, {key}}}}}}}\n");
    let operation = format!("summary: Finds things\nsecurity: [{{gate: []}}]\n{operation}");
    format!("{}{schemes}", one("3.1.0", head, &operation))
}

/// What the refusal says, and the place it points to.
fn refuse(text: &str, arguments: &Value, secrets: &[Secret]) -> (String, String) {
    let sent = only(text).draft.target.request(arguments, secrets);
    let failure = sent.expect_err("is refused").failure();
    let place = failure.details["violations"][0]["pointer"].as_str().unwrap().to_owned();
    (failure.message, place)
}

fn secret(place: Placement, host: &str) -> Secret {
    Secret {
        name: "shop_key".to_owned(),
        from: Origin::Env("NONE".to_owned()),
        hosts: vec![HostPort { host: host.to_owned(), port: 443 }],
        place,
        plain_http: false,
    }
}

const QUERY_KEY: &str = "in: query, name: api_key";
const FREE: &str = "parameters: [{name: api_key, in: query, required: true, schema: {type: string}}, \
    {name: filter, in: query, schema: {type: object, additionalProperties: {type: string}}}]";

#[test]
fn a_spread_object_cannot_set_the_key_however_it_is_spelled() {
    let text = keyed(QUERY_KEY, "GET /x", FREE);
    for name in [
        "api_key",
        "API_KEY",
        "api%5Fkey",
        "api%255fkey",
        "api.key",
        "api key",
        "api+key",
        " api_key ",
        "api_key[]",
        "api_key[0]",
        "api[key",
        "api_key\0x",
    ] {
        let (said, place) = refuse(&text, &json!({"filter": {name: "mine"}}), &[]);
        assert!(said.contains("`api_key` (query)") && said.contains("`gate`"), "{said}");
        assert_eq!(place, "/filter", "{name}");
    }
    let sent = only(&text).draft.target.request(&json!({"filter": {"key": "a"}}), &[]).unwrap();
    assert!(sent.url.ends_with("?key=a"), "{}", sent.url);
}

#[test]
fn a_deep_object_keeps_its_members_under_its_own_name() {
    let deep = "parameters: [{name: filter, in: query, style: deepObject, schema: {type: object}}]";
    let text = keyed(QUERY_KEY, "GET /x", deep);
    for name in ["api_key", "][api_key", "]&api_key=x&a["] {
        let sent = only(&text).draft.target.request(&json!({"filter": {name: "v"}}), &[]);
        let url = url::Url::parse(&sent.unwrap().url).unwrap();
        let names: Vec<String> = url.query_pairs().map(|(name, _)| name.into_owned()).collect();
        assert_eq!(names, [format!("filter[{name}]")]);
    }
}

#[test]
fn a_reserved_value_cannot_begin_another_pair() {
    let reserved =
        "parameters: [{name: q, in: query, allowReserved: true, schema: {type: string}}]";
    let text = keyed(QUERY_KEY, "GET /x", reserved);
    let (said, place) = refuse(&text, &json!({"q": "a;api_key=mine"}), &[]);
    assert!(said.contains("`api_key`"), "{said}");
    assert_eq!(place, "/q");
    for (value, wire) in [("a&api_key=b", "q=a%26api_key=b"), ("a;b=c", "q=a;b=c")] {
        let sent = only(&text).draft.target.request(&json!({ "q": value }), &[]).unwrap();
        assert!(sent.url.ends_with(wire), "{}", sent.url);
    }
}

#[test]
fn a_form_cannot_set_a_key_of_the_query() {
    for media in ["application/x-www-form-urlencoded", "multipart/form-data"] {
        let form = |schema: &str| {
            let body = format!(
                "requestBody: {{required: true, content: {{{media}: {{schema: {schema}}}}}}}"
            );
            keyed(QUERY_KEY, "POST /x", &body)
        };
        let closed = form(
            "{type: object, required: [api_key, a], properties: {api_key: {type: string}, a: {type: string}}}",
        );
        let found = only(&closed);
        assert_eq!(found.draft.input_schema["required"], json!(["a"]));
        assert_eq!(found.draft.input_schema["properties"]["api_key"], Value::Null);
        let (_, report) = read(&closed);
        assert!(format!("{:?}", report.imported[0].adapted).contains("`gate`"));
    }
    let free = "requestBody: {content: {application/x-www-form-urlencoded: {schema: {type: object, additionalProperties: true}}}}";
    let text = keyed(QUERY_KEY, "POST /x", free);
    for (arguments, wanted) in [
        (json!({"api_key": "mine"}), "/api_key"),
        (json!({"API%5Fkey": "mine"}), "/API%5Fkey"),
        (json!({"o": {"api_key": "mine"}}), "/o"),
    ] {
        assert_eq!(refuse(&text, &arguments, &[]).1, wanted);
    }
    let beside = format!("parameters: [{{name: n, in: query, schema: {{type: string}}}}]\n{free}");
    let text = keyed(QUERY_KEY, "POST /x", &beside);
    let (said, place) = refuse(&text, &json!({"n": "1", "body": {"api_key": "mine"}}), &[]);
    assert!(said.contains("`body`") && said.contains("member `api_key`"), "{said}");
    assert_eq!(place, "/body/api_key");
}

#[test]
fn a_cookie_object_cannot_set_a_key_among_the_cookies() {
    let cookie = "parameters: [{name: sid, in: cookie, schema: {type: string}}, \
        {name: prefs, in: cookie, schema: {type: object}}]";
    let text = keyed("in: cookie, name: sid", "GET /x", cookie);
    let found = only(&text);
    assert_eq!(found.draft.input_schema["properties"]["sid"], Value::Null);
    let needs = read(&text).1.imported[0].needs.clone().expect("a note");
    assert!(needs.message.contains("prefix = \"sid=\""), "{}", needs.message);
    assert_eq!(refuse(&text, &json!({"prefs": {"Sid": "mine"}}), &[]).1, "/prefs");
    let given = json!({"prefs": {"lang": "zh; sid=mine"}});
    let sent = found.draft.target.request(&given, &[]).unwrap();
    assert_eq!(header(&sent, "cookie"), Some("lang=zh%3B%20sid%3Dmine"));
}

#[test]
fn parameters_that_a_server_may_take_for_the_key_are_no_arguments() {
    for (key, name) in [
        ("in: header, name: X-Api-Key", "{name: x_api_key, in: header"),
        ("in: header, name: X-Api-Key", "{name: X-API-KEY, in: header"),
        (QUERY_KEY, "{name: Api_Key, in: query"),
        (QUERY_KEY, "{name: api%5Fkey, in: query"),
    ] {
        let text =
            keyed(key, "GET /x", &format!("parameters: [{name}, schema: {{type: string}}}}]"));
        assert_eq!(only(&text).draft.input_schema["properties"], json!({}), "{name}");
    }
}

#[test]
fn a_path_never_grows_a_query() {
    let text = keyed(
        QUERY_KEY,
        "GET /a/{p}/{m}",
        "parameters: [{name: p, in: path, required: true, schema: {type: string}}, \
         {name: m, in: path, required: true, style: matrix, explode: true, schema: {type: object}}]",
    );
    let sent = only(&text)
        .draft
        .target
        .request(&json!({"p": "x?api_key=mine", "m": {"a": "1;api_key=mine"}}), &[]);
    let url = url::Url::parse(&sent.unwrap().url).unwrap();
    assert_eq!((url.query(), url.path().matches(';').count()), (None, 1));
    assert_eq!(refuse(&text, &json!({"p": "x", "m": {"api_key": "mine"}}), &[]).1, "/m");
    let asked = keyed(QUERY_KEY, "GET /x?api_key={k}", "parameters: []");
    assert!(read(&asked).1.skipped[0].reason.contains("argument behind `?`"));
    let mut settings = Settings::default();
    settings.servers.server = Some("https://api.example/v1?api_key=x".to_owned());
    let (found, report) = read_with(&keyed(QUERY_KEY, "GET /x", FREE), &settings);
    assert!(found.is_empty() && report.skipped[0].reason.contains("query"), "{report:?}");
}

#[test]
fn a_variable_of_a_server_cannot_carry_a_query() {
    let text = keyed(QUERY_KEY, "GET /x", "summary: Finds").replace(
        "paths:",
        "servers: [{url: 'https://api.example/{base}', variables: {base: {default: v1}}}]\npaths:",
    );
    let mut settings = Settings::default();
    settings.servers.variables.insert("base".to_owned(), "v1?api_key=x".to_owned());
    let (found, report) = read_with(&text.replace("summary: Finds things\n", ""), &settings);
    assert!(found.is_empty(), "{report:?}");
}

#[test]
fn a_secret_of_the_profile_guards_its_name_at_its_own_host() {
    let text = one(
        "3.0.3",
        "GET /x",
        "parameters: [{name: o, in: query, schema: {type: object}}, {name: c, in: cookie, schema: {type: object}}]",
    );
    let query = [secret(Placement::Query("key".to_owned()), "api.example")];
    let (said, place) = refuse(&text, &json!({"o": {"KEY": "mine"}}), &query);
    assert!(said.contains("secret `shop_key`"), "{said}");
    assert_eq!(place, "/o");
    let cookie = Placement::Header { name: "Cookie".to_owned(), prefix: "sid=".to_owned() };
    let cookie = [secret(cookie, "api.example")];
    assert_eq!(refuse(&text, &json!({"c": {"sid": "mine"}}), &cookie).1, "/c");
    let elsewhere = [secret(Placement::Query("key".to_owned()), "files.example")];
    let target = only(&text).draft.target;
    let sent = target.request(&json!({"o": {"key": "mine"}}), &elsewhere).unwrap();
    assert!(sent.url.ends_with("?key=mine"), "{}", sent.url);
}

#[test]
fn a_field_of_a_form_that_a_secret_sets_is_refused_and_reported() {
    let operation = "summary: Adds a thing\nrequestBody: {content: {application/x-www-form-urlencoded: {schema: {type: object, properties: {token: {type: string}, a: {type: string}}}}}}";
    let text = one("3.0.3", "POST /x", operation);
    let bound = [secret(Placement::Query("token".to_owned()), "api.example")];
    assert_eq!(refuse(&text, &json!({"token": "mine"}), &bound).1, "/token");
    let sent = only(&text).draft.target.request(&json!({"a": "1"}), &bound).unwrap();
    assert_eq!(body(&sent), "a=1");
    let policies = Policies::new();
    policies.write(
        "sandbox/net.toml",
        "image = 'python'\negress = [{host = 'api.example', port = 443}]\n[secrets.shop_key]\nfrom = {env = 'KEY'}\nhosts = ['api.example:443']\nquery = 'token'\n",
    );
    policies.write("openapi/shop.yaml", &text);
    policies.write(
        "openapi/shop.toml",
        "document = 'openapi/shop.yaml'\nprofile = 'net'\nserver = 'https://api.example'\n",
    );
    let found = lint(&policies.load());
    let secret = found.iter().find(|one| one.rule == "secret").expect("a finding");
    assert!(secret.message.contains("argument `token` are refused"), "{}", secret.message);
}

#[test]
fn an_operator_who_offers_the_keys_has_them_as_arguments_and_nowhere_else() {
    let settings = Settings { keys: true, ..Settings::default() };
    let mut settings = settings;
    settings.servers.server = Some("https://api.example".to_owned());
    let (found, _) = read_with(&keyed(QUERY_KEY, "GET /x", FREE), &settings);
    let target = &found[0].draft.target;
    let sent = target.request(&json!({"api_key": "k", "filter": {"a": "1"}}), &[]).unwrap();
    assert!(sent.url.ends_with("?api_key=k&a=1"), "{}", sent.url);
    assert!(target.request(&json!({"api_key": "k", "filter": {"Api_Key": "1"}}), &[]).is_err());
}
