use super::{Admission, Config, Error, Limit, Peer, User};
use crate::call::{Call, Code};

fn call() -> Call {
    Call::new("text.stats", "{}")
}

#[test]
fn a_local_user_has_the_name_that_the_configuration_gives() {
    let admission = Admission::new(Config {
        users: vec![User {
            uid: 1000,
            name: Some("planner".into()),
            tenant: Some("acme".into()),
            roles: vec!["agent".into()],
        }],
        ..Config::default()
    });
    let known = admission.identify(&Peer::Unix { uid: 1000 });
    assert_eq!((known.name.as_str(), known.tenant.as_str()), ("planner", "acme"));
    assert_eq!(known.roles, ["local", "agent"]);
    let unknown = admission.identify(&Peer::Unix { uid: 1001 });
    assert_eq!((unknown.name.as_str(), unknown.tenant.as_str()), ("uid:1001", "default"));
}

#[test]
fn a_burst_beyond_the_rate_is_refused_with_a_delay() {
    let admission = Admission::new(Config { calls_per_second_per_caller: 5, ..Config::default() });
    let peer = Peer::Unix { uid: 1 };
    let refused = (0..6).find_map(|_| admission.admit(call(), &peer).err()).unwrap();
    let failure = refused.failure();
    assert_eq!(failure.code, Code::RateLimited);
    let delay = failure.retry_after.unwrap();
    assert!(!delay.is_zero() && delay.as_millis() <= 200, "{delay:?}");
    assert!(admission.admit(call(), &Peer::Unix { uid: 2 }).is_ok(), "another caller goes on");
}

#[test]
fn the_place_in_flight_comes_back_when_the_call_ends() {
    let admission = Admission::new(Config { in_flight_per_caller: 1, ..Config::default() });
    let first = admission.admit(call(), &Peer::Inside).unwrap();
    assert!(matches!(
        admission.admit(call(), &Peer::Inside),
        Err(Error::InFlight { limit: 1, .. })
    ));
    drop(first);
    assert!(admission.admit(call(), &Peer::Inside).is_ok());
}

#[test]
fn a_tool_has_limits_of_its_own_over_all_callers() {
    let admission = Admission::new(Config::default());
    let rate = Limit { per_second: Some(1), in_flight: None };
    assert!(admission.meter("mail.send", rate).is_ok());
    assert!(matches!(admission.meter("mail.send", rate), Err(Error::Rate { .. })));
    assert!(admission.meter("mail.read", rate).is_ok());
    let places = Limit { per_second: None, in_flight: Some(1) };
    let place = admission.meter("report.make", places).unwrap();
    assert!(matches!(admission.meter("report.make", places), Err(Error::InFlight { .. })));
    drop(place);
    assert!(admission.meter("report.make", places).is_ok());
}

#[test]
fn nothing_is_admitted_while_draining() {
    let admission = Admission::new(Config::default());
    admission.close();
    let refused = admission.admit(call(), &Peer::Inside).unwrap_err();
    assert_eq!(refused.failure().code, Code::Draining);
}
