//! Secrets and egress limits in profiles: what their form must be, and that tools cannot widen them.

use std::fs;
use std::time::Duration;

use super::policies::Policies;
use crate::catalog::{EgressLimits, HostPort, Origin, Placement, Profile, lint};

const RULES: &str = "image = 'python'\negress = [{host = 'api.example', port = 443}, \
    {host = '*.files.example', port = 443}, {host = '::1', port = 80, networks = ['::1/128']}]\n";

fn profile(text: &str) -> Result<Profile, String> {
    let policies = Policies::new();
    policies.write("sandbox/net.toml", &format!("{RULES}{text}"));
    let catalog = policies.load();
    match catalog.problems() {
        [] => Ok(Profile::clone(catalog.profiles().next().unwrap())),
        [problem, ..] => Err(format!("{}: {}", problem.place, problem.message)),
    }
}

/// A secret with these lines in place of the usual ones.
fn secret(from: &str, hosts: &str, place: &str) -> String {
    format!("[secrets.key]\nfrom = {from}\nhosts = {hosts}\n{place}\n")
}

const ENV: &str = "{ env = 'API_KEY' }";
const HOSTS: &str = "['api.example:443']";
const QUERY: &str = "query = 'key'";

#[test]
fn a_secret_says_where_it_comes_from_and_where_it_goes() {
    let text = secret(ENV, "['API.Example.:443', 'a.files.example:443', '[::1]:80']", QUERY);
    let read = profile(&text).unwrap().secrets.remove(0);
    assert_eq!((read.name.as_str(), read.plain_http), ("key", false));
    assert_eq!(read.from, Origin::Env("API_KEY".to_owned()));
    let host = |host: &str, port| HostPort { host: host.to_owned(), port };
    assert_eq!(
        read.hosts,
        [host("api.example", 443), host("a.files.example", 443), host("::1", 80)]
    );
    assert_eq!(read.place, Placement::Query("key".to_owned()));
    let text = secret("{ file = '/run/secrets/key' }", HOSTS, "basic = { user = 'shop' }");
    let read = profile(&text).unwrap().secrets.remove(0);
    assert_eq!(read.from, Origin::File("/run/secrets/key".into()));
    assert_eq!(read.place, Placement::Basic { user: "shop".to_owned() });
    assert!(profile(&secret(ENV, HOSTS, "header = { name = 'X-Key' }")).is_ok());
}

#[test]
fn a_wrong_form_is_refused_with_its_place() {
    for (from, hosts, place, wanted) in [
        ("{ env = 'A B' }", HOSTS, QUERY, "secrets.key.from: names no environment variable"),
        ("{ env = '' }", HOSTS, QUERY, "secrets.key.from"),
        ("{ file = 'key' }", HOSTS, QUERY, "absolute path"),
        ("{ file = '/run/../key' }", HOSTS, QUERY, "absolute path"),
        ("{ vault = 'key' }", HOSTS, QUERY, "vault"),
        ("{ env = 'A', file = '/b' }", HOSTS, QUERY, "from"),
        ("{}", HOSTS, QUERY, "from"),
        (ENV, "[]", QUERY, "secrets.key.hosts: is empty"),
        (ENV, "['api.example']", QUERY, "no host and port"),
        (ENV, "['api.example:0']", QUERY, "no host and port"),
        (ENV, "['api.example:+443']", QUERY, "no host and port"),
        (ENV, "['*.files.example:443']", QUERY, "exact hosts"),
        (ENV, "['files.example:443']", QUERY, "not allowed by any egress rule"),
        (ENV, "['a.b.files.example:443']", QUERY, "not allowed by any egress rule"),
        (ENV, "['api.example:8443']", QUERY, "not allowed by any egress rule"),
        (ENV, "['api.example.evil.example:443']", QUERY, "not allowed by any egress rule"),
        (ENV, HOSTS, "", "exactly one of"),
        (ENV, HOSTS, "query = 'a'\nbasic = { user = 'b' }", "exactly one of"),
        (ENV, HOSTS, "query = ''", "secrets.key.query"),
        (ENV, HOSTS, "header = { name = 'a b' }", "no header can have"),
        (ENV, HOSTS, "header = { name = 'Host' }", "the gate itself decides"),
        (ENV, HOSTS, "header = { name = 'transfer_encoding' }", "the gate itself decides"),
        (ENV, HOSTS, "header = { name = 'Proxy-Authorization' }", "the gate itself decides"),
        (ENV, HOSTS, "header = { name = 'X', prefix = \"a\\r\\nY: \" }", "printable"),
        (ENV, HOSTS, "header = { name = 'Authorization', prefix = 'NTLM ' }", "NTLM"),
        (ENV, HOSTS, "basic = { user = 'a:b' }", "secrets.key.basic"),
        (ENV, HOSTS, "query = 'a'\nvalue = 'plain'", "unknown key `value`"),
    ] {
        let told = profile(&secret(from, hosts, place)).unwrap_err();
        assert!(told.contains(wanted), "{from} {hosts} {place}: {told}");
    }
    let told = profile(&secret(ENV, HOSTS, QUERY).replace(".key]", ".'a key']")).unwrap_err();
    assert!(told.contains("is no name"), "{told}");
    let one = secret(ENV, HOSTS, "basic = { user = 'a' }");
    let two = secret(ENV, HOSTS, "header = { name = 'authorization' }");
    let told = profile(&format!("{one}{}", two.replace(".key]", ".two]"))).unwrap_err();
    assert!(told.contains("takes the same place at the same host as `key`"), "{told}");
    let apart = two.replace(".key]", ".two]").replace("api.example", "a.files.example");
    assert!(profile(&format!("{one}{apart}")).is_ok());
}

#[test]
fn limits_at_the_gate_are_read_and_never_zero() {
    let read = profile("[egress_limits]\nconnections = 2\nsent = '1KiB'\ntotal = '5s'\n").unwrap();
    let limits = EgressLimits {
        connections: Some(2),
        sent: Some(1024),
        total: Some(Duration::from_secs(5)),
        ..EgressLimits::default()
    };
    assert_eq!(read.egress_limits, limits);
    for (text, wanted) in [
        ("attempts = 0", "egress_limits.attempts"),
        ("received = '0B'", "egress_limits.received"),
        ("sent = 5", "sent"),
    ] {
        let told = profile(&format!("[egress_limits]\n{text}\n")).unwrap_err();
        assert!(told.contains(wanted), "{told}");
    }
    for network in ["0.0.0.0/0", "0.0.0.0/7", "::/0", "::/6"] {
        let rule = format!("egress = [{{host = 'a.example', port = 1, networks = ['{network}']}}]");
        let policies = Policies::new();
        policies.write("sandbox/net.toml", &format!("image = 'python'\n{rule}"));
        let told = policies.load().problems()[0].message.clone();
        assert!(told.contains("wider than any internal one"), "{network}: {told}");
    }
}

#[test]
fn a_tool_cannot_add_a_secret_or_widen_one() {
    let policies = Policies::new();
    policies.write("sandbox/net.toml", &format!("{RULES}{}", secret(ENV, HOSTS, QUERY)));
    let manifest = "description = 'Counts the words of a text'\nrisk = 'read'\nprofile = 'net'\n\
        [command]\nargv = ['wc']\n[input_schema]\ntype = 'object'\n";
    let source = "document = 'openapi/a.yaml'\nprofile = 'net'\n";
    policies.write("openapi/a.yaml", "openapi: 3.0.3\n");
    for name in ["tools/t.toml", "openapi/a.toml"] {
        let text = if name == "tools/t.toml" { manifest } else { source };
        let added = secret(ENV, "['evil.example:443']", QUERY);
        policies.write(name, &format!("{text}{added}"));
        let catalog = policies.load();
        assert!(catalog.tools().is_empty());
        let found = catalog.problems().iter().find(|problem| problem.file == name).unwrap();
        assert!(found.message.contains("unknown key `secrets`"), "{found:?}");
        fs::remove_file(policies.root().join(name)).unwrap();
    }
}

#[test]
fn lint_tells_what_a_secret_overrules() {
    let policies = Policies::new();
    let plain = format!("{RULES}{}", secret(ENV, HOSTS, "header = { name = 'X-Key' }"));
    policies.write("sandbox/net.toml", &plain);
    let document = |server: &str| {
        format!(
            "openapi: 3.0.3\ninfo: {{title: T, version: '1'}}\nservers: [{{url: '{server}'}}]\n\
             paths:\n  /a: {{get: {{operationId: a, parameters: [{{name: x-key, in: header, \
             schema: {{type: string}}}}]}}}}\n"
        )
    };
    policies.write("openapi/a.toml", "document = 'openapi/a.yaml'\nprofile = 'net'\n");
    let found = |server: &str| -> Vec<String> {
        policies.write("openapi/a.yaml", &document(server));
        let findings = lint(&policies.load()).into_iter();
        findings.filter(|one| one.rule == "secret").map(|one| one.message).collect()
    };
    let told = found("https://api.example");
    assert!(matches!(&told[..], [one] if one.contains("never sent: secret `key`")), "{told:?}");
    let told = found("http://api.example:443");
    assert!(told.iter().any(|one| one.contains("not sent over plain HTTP")), "{told:?}");
    assert_eq!(found("https://a.files.example"), Vec::<String>::new());
}
