use super::{Admission, Caller, Config, Error, Limit, Link, User};
use crate::call::{Call, Code};

fn admission(config: Config) -> Admission {
    Admission::new(config).unwrap()
}

fn unix(uid: u32, gid: u32) -> Link {
    Link::Unix { uid, gid }
}

/// The local user with this id.
fn user(admission: &Admission, uid: u32) -> Caller {
    admission.identify(&unix(uid, 1).into()).unwrap()
}

fn call() -> Call {
    Call::new("text.stats", "{}")
}

#[test]
fn a_local_user_has_the_name_that_the_configuration_gives() {
    let group = User {
        uid: None,
        gid: Some(50),
        name: None,
        tenant: Some("staff".into()),
        roles: vec!["reader".into(), "remote".into()],
    };
    let own = User {
        uid: Some(1000),
        gid: None,
        name: Some("planner".into()),
        tenant: Some("acme".into()),
        roles: vec!["agent".into()],
    };
    let admission = admission(Config { users: vec![group, own], ..Config::default() });
    let known = |uid, gid| admission.identify(&unix(uid, gid).into()).unwrap();
    let planner = known(1000, 50);
    assert_eq!((planner.name.as_str(), planner.tenant.as_str()), ("planner", "acme"));
    assert_eq!(planner.roles, ["local", "agent"]);
    let member = known(1001, 50);
    assert_eq!((member.name.as_str(), member.tenant.as_str()), ("uid:1001", "staff"));
    assert_eq!(member.roles, ["local", "reader"], "a role that says where from is not given away");
    let other = known(1001, 51);
    assert_eq!((other.name.as_str(), other.tenant.as_str()), ("uid:1001", "default"));
}

#[test]
fn a_burst_beyond_the_rate_is_refused_with_a_delay() {
    let admission = admission(Config { calls_per_second_per_caller: 5, ..Config::default() });
    let one = user(&admission, 1);
    let refused = (0..6).find_map(|_| admission.admit(call(), one.clone()).err()).unwrap();
    let failure = refused.failure();
    assert_eq!(failure.code, Code::RateLimited);
    let delay = failure.retry_after.unwrap();
    assert!(!delay.is_zero() && delay.as_millis() <= 200, "{delay:?}");
    assert!(admission.admit(call(), user(&admission, 2)).is_ok(), "another caller goes on");
}

#[test]
fn the_place_in_flight_comes_back_when_the_call_ends() {
    let admission = admission(Config { in_flight_per_caller: 1, ..Config::default() });
    let first = admission.admit(call(), user(&admission, 1)).unwrap();
    assert!(matches!(
        admission.admit(call(), user(&admission, 1)),
        Err(Error::InFlight { limit: 1, .. })
    ));
    drop(first);
    assert!(admission.admit(call(), user(&admission, 1)).is_ok());
}

#[test]
fn callers_of_one_name_in_two_tenants_are_two() {
    let admission = admission(Config { in_flight_per_caller: 1, ..Config::default() });
    let of =
        |tenant: &str| Caller { name: "planner".into(), tenant: tenant.into(), roles: Vec::new() };
    let _first = admission.admit(call(), of("a")).unwrap();
    assert!(admission.admit(call(), of("a")).is_err());
    assert!(admission.admit(call(), of("b")).is_ok());
}

#[test]
fn a_tool_has_limits_of_its_own_over_all_callers() {
    let admission = admission(Config::default());
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
    let admission = admission(Config::default());
    admission.close();
    let refused = admission.admit(call(), user(&admission, 1)).unwrap_err();
    assert_eq!(refused.failure().code, Code::Draining);
}
