//! Where a `Location` leads. Everything that needs a gate is tested with the gate.

use std::time::Duration;

use super::location::{Next, Url};
use super::retry::{Patience, Retry, retry_after};

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

#[test]
fn a_parameter_of_the_query_is_set_in_its_place() {
    let base = |text: &str| Url::parse(text).unwrap();
    for (url, set) in [
        ("http://a.test/x", "http://a.test/x?p=1%262"),
        ("http://a.test/x?p=0&q=%20&p=7", "http://a.test/x?q=%20&p=1%262"),
        ("http://a.test/x?pp=1", "http://a.test/x?pp=1&p=1%262"),
        ("http://a.test?", "http://a.test/?p=1%262"),
    ] {
        assert_eq!(base(url).with_query("p", "1&2").to_string(), set);
    }
    assert_eq!(base("http://a.test/?a=1&b=2&a=3").query("a"), Some("3"));
    assert_eq!(base("http://a.test/a=1").query("a"), None);
}

#[test]
fn pauses_grow_and_end_with_the_attempts() {
    let retry = Retry { attempts: 4, backoff_ms: 100, longest_ms: 300 };
    let mut patience = Patience::new(Some(retry), None);
    for (low, high) in [(50, 100), (100, 200), (150, 300)] {
        let pause = patience.pause(None).unwrap().as_millis();
        assert!((low..=high).contains(&pause), "{pause}");
    }
    assert_eq!(patience.pause(None), None);
    assert_eq!(Patience::new(None, None).pause(None), None);
    let mut asked = Patience::new(Some(retry), None);
    let pause = asked.pause(Some(Duration::from_secs(7))).unwrap().as_millis();
    assert!((7000..7200).contains(&pause), "{pause}");
    let mut short = Patience::new(Some(retry), Some(Duration::from_secs(5)));
    assert_eq!(short.pause(Some(Duration::from_secs(5))), None);
    assert!(short.pause(Some(Duration::from_secs(1))).is_some(), "the time is still there");
}

#[test]
fn retry_after_is_read_in_all_its_forms() {
    let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
    for (headers, seconds) in [
        (&[("retry-after", "120")][..], Some(120)),
        (&[("retry-after", " 0 ")], Some(0)),
        (&[("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT"), date], Some(30)),
        (&[("retry-after", "Sunday, 06-Nov-94 08:50:07 GMT"), date], Some(30)),
        (&[("retry-after", "Sun Nov  6 08:50:07 1994"), date], Some(30)),
        (&[("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT"), date], Some(0)),
        (&[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")], Some(0)),
        (&[("retry-after", "soon")], None),
        (&[("retry-after", "-1")], None),
        (&[("retry-after", "1.5")], None),
        (&[("retry-after", "")], None),
        (&[date], None),
    ] {
        let find = |name: &str| headers.iter().find(|(known, _)| *known == name).map(|(_, v)| *v);
        assert_eq!(retry_after(find), seconds.map(Duration::from_secs), "{headers:?}");
    }
    let huge = |name: &str| (name == "retry-after").then_some("99999999999999999999999");
    assert_eq!(retry_after(huge), Some(Duration::from_secs(u64::MAX)));
}
