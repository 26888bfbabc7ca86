//! Where a `Location` leads. Everything that needs a gate is tested with the gate.

use super::location::{Next, Url};

fn join(base: &str, location: &str) -> String {
    match Url::parse(base).unwrap().join(location) {
        Next::Url(url) => url.to_string(),
        Next::Foreign => "foreign".to_owned(),
        Next::Malformed => "malformed".to_owned(),
    }
}

#[test]
fn locations_are_resolved_against_the_url_they_came_from() {
    let base = "http://a.test/b/c/d?q#f";
    for (location, leads) in [
        ("g", "http://a.test/b/c/g"),
        ("./g", "http://a.test/b/c/g"),
        ("g/", "http://a.test/b/c/g/"),
        ("/g", "http://a.test/g"),
        ("//g", "http://g/"),
        ("?y", "http://a.test/b/c/d?y"),
        ("g?y", "http://a.test/b/c/g?y"),
        ("#s", "http://a.test/b/c/d?q"),
        ("", "http://a.test/b/c/d?q"),
        (".", "http://a.test/b/c/"),
        ("..", "http://a.test/b/"),
        ("../g", "http://a.test/b/g"),
        ("../../../g", "http://a.test/g"),
        ("g?y/../x", "http://a.test/b/c/g?y/../x"),
        ("HTTPS://B.test/x#y", "https://B.test/x"),
        (" /g h ", "http://a.test/g%20h"),
        ("/ü", "http://a.test/%C3%BC"),
        ("file:///etc/passwd", "foreign"),
        ("javascript:alert(1)", "foreign"),
        ("http:g", "malformed"),
        ("http://", "malformed"),
        ("//", "malformed"),
        ("/a\nb", "malformed"),
        ("a.b/c:d", "http://a.test/b/c/a.b/c:d"),
    ] {
        assert_eq!(join(base, location), leads, "{location}");
    }
}

#[test]
fn origins_are_scheme_host_and_port() {
    let same = |a, b| Url::parse(a).unwrap().is_same_origin(&Url::parse(b).unwrap());
    assert!(same("http://a.test/x", "http://A.TEST:80/y"));
    assert!(same("https://a.test:443/", "https://a.test/"));
    assert!(!same("http://a.test/", "https://a.test/"));
    assert!(!same("http://a.test/", "http://a.test:8080/"));
    assert!(!same("http://a.test/", "http://b.a.test/"));
    assert!(!same("http://a.test:443/", "http://a.test/"));
}
