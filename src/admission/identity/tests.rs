//! Proofs that hold, and every way in which one does not.

use std::net::SocketAddr;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{EncodingKey, Header};
use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ED25519, PublicKeyData};
use serde_json::{Value, json};

use super::*;
use crate::admission::Admission;

fn config(text: &str) -> Config {
    toml::from_str(text).unwrap()
}

fn loopback() -> Link {
    Link::Tcp(SocketAddr::from(([127, 0, 0, 1], 5000)))
}

fn with(link: Link, authorization: &str) -> Peer {
    Peer { link, authorization: Some(authorization.to_owned()) }
}

fn seconds(from_now: i64) -> i64 {
    jiff::Timestamp::now().as_second() + from_now
}

/// An issuer with one key for each of two algorithms, and the configuration that trusts it.
struct Issuer {
    folder: tempfile::TempDir,
    ec: KeyPair,
    ed: KeyPair,
}

impl Issuer {
    fn new() -> Self {
        let issuer = Self {
            folder: tempfile::tempdir().unwrap(),
            ec: KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap(),
            ed: KeyPair::generate_for(&PKCS_ED25519).unwrap(),
        };
        issuer.publish(&json!({"keys": [issuer.ec_key(), issuer.ed_key()]}));
        issuer
    }

    fn ec_key(&self) -> Value {
        let point = self.ec.der_bytes();
        let half = |from: usize| URL_SAFE_NO_PAD.encode(&point[from..from + 32]);
        json!({"kty": "EC", "crv": "P-256", "kid": "ec", "use": "sig", "x": half(1), "y": half(33)})
    }

    fn ed_key(&self) -> Value {
        let x = URL_SAFE_NO_PAD.encode(self.ed.der_bytes());
        json!({"kty": "OKP", "crv": "Ed25519", "kid": "ed", "alg": "EdDSA", "x": x})
    }

    fn publish(&self, keys: &Value) {
        std::fs::write(self.folder.path().join("jwks.json"), keys.to_string()).unwrap();
    }

    fn admission(&self, more: &str) -> Admission {
        let path = self.folder.path().join("jwks.json");
        let text = format!(
            "[identity.jwt]\njwks = {path:?}\nissuer = \"https://issuer.test\"\naudience = \"switchboard\"\n{more}"
        );
        Admission::new(config(&text)).unwrap()
    }

    fn claims() -> Value {
        json!({
            "iss": "https://issuer.test", "aud": ["other", "switchboard"], "sub": "planner",
            "exp": seconds(600), "nbf": seconds(-5), "tenant": "acme", "scope": "agent reader",
        })
    }

    fn sign(&self, algorithm: jsonwebtoken::Algorithm, claims: &Value) -> String {
        let header = Header {
            kid: Some(if algorithm == jsonwebtoken::Algorithm::ES256 { "ec" } else { "ed" }.into()),
            ..Header::new(algorithm)
        };
        let key = match algorithm {
            jsonwebtoken::Algorithm::ES256 => {
                EncodingKey::from_ec_pem(self.ec.serialize_pem().as_bytes())
            }
            _ => EncodingKey::from_ed_pem(self.ed.serialize_pem().as_bytes()),
        };
        jsonwebtoken::encode(&header, claims, &key.unwrap()).unwrap()
    }

    fn es256(&self, claims: &Value) -> String {
        self.sign(jsonwebtoken::Algorithm::ES256, claims)
    }
}

fn show(admission: &Admission, token: &str) -> Result<Caller, Unproven> {
    admission.identify(&with(loopback(), &format!("Bearer {token}")))
}

fn changed(claims: &Value, change: &Value) -> Value {
    let mut claims = claims.clone();
    for (name, value) in change.as_object().unwrap() {
        match value {
            Value::Null => claims.as_object_mut().unwrap().shift_remove(name),
            value => claims.as_object_mut().unwrap().insert(name.clone(), value.clone()),
        };
    }
    claims
}

#[test]
fn a_signed_token_names_caller_tenant_and_roles() {
    let issuer = Issuer::new();
    let admission = issuer.admission("tenant_claim = \"tenant\"\nroles_claim = \"scope\"");
    for algorithm in [jsonwebtoken::Algorithm::ES256, jsonwebtoken::Algorithm::EdDSA] {
        let token = issuer.sign(algorithm, &Issuer::claims());
        let caller = show(&admission, &token).unwrap();
        assert_eq!((caller.name.as_str(), caller.tenant.as_str()), ("planner", "acme"));
        assert_eq!(caller.roles, ["remote", "agent", "reader"]);
        assert_eq!(show(&admission, &token).unwrap(), caller, "a token may be used again");
    }
}

#[test]
fn a_token_that_does_not_hold_is_refused_for_its_reason() {
    let issuer = Issuer::new();
    let admission = issuer.admission("tenant_claim = \"tenant\"");
    let wrong = [
        (json!({"exp": seconds(-31)}), Unproven::Expired),
        (json!({"exp": null}), Unproven::Malformed),
        (json!({"nbf": seconds(120)}), Unproven::Early),
        (json!({"iss": "https://other.test"}), Unproven::Foreign),
        (json!({"iss": null}), Unproven::Malformed),
        (json!({"aud": "somebody"}), Unproven::Foreign),
        (json!({"aud": null}), Unproven::Malformed),
        (json!({"sub": null}), Unproven::Malformed),
        (json!({"sub": ""}), Unproven::Malformed),
        (json!({"sub": "a\nb"}), Unproven::Malformed),
        (json!({"tenant": null}), Unproven::Malformed),
    ];
    for (change, why) in wrong {
        let token = issuer.es256(&changed(&Issuer::claims(), &change));
        assert_eq!(show(&admission, &token), Err(why), "{change}");
    }
    let clock = issuer.es256(&changed(&Issuer::claims(), &json!({"exp": seconds(-10)})));
    assert!(show(&admission, &clock).is_ok(), "clocks may differ by 30 s");
}

#[test]
fn a_signature_is_by_a_known_key_and_a_pinned_algorithm() {
    let issuer = Issuer::new();
    let admission = issuer.admission("algorithms = [\"ES256\"]");
    let good = issuer.es256(&Issuer::claims());
    let [head, claims, signature] = good.split('.').collect::<Vec<_>>().try_into().unwrap();
    let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let none = part(json!({"alg": "none", "typ": "JWT"}));
    let others = [
        (format!("{none}.{claims}."), Unproven::Algorithm),
        (format!("{}.{claims}.", part(json!({"alg": "NoNe"}))), Unproven::Algorithm),
        (format!("{none}.{claims}.{signature}"), Unproven::Algorithm),
        (format!("{head}.{claims}."), Unproven::Unknown),
        (
            format!(
                "{head}.{}.{signature}",
                part(changed(&Issuer::claims(), &json!({"sub": "root"})))
            ),
            Unproven::Unknown,
        ),
        (
            format!("{}.{claims}.{signature}", part(json!({"alg": "ES256", "kid": "x"}))),
            Unproven::Unknown,
        ),
        (
            format!("{}.{claims}.{signature}", part(json!({"alg": "ES256", "crit": ["b64"]}))),
            Unproven::Malformed,
        ),
        (issuer.sign(jsonwebtoken::Algorithm::EdDSA, &Issuer::claims()), Unproven::Algorithm),
        (Issuer::new().es256(&Issuer::claims()), Unproven::Unknown),
        (format!("{head}.{claims}"), Unproven::Unknown),
        ("x".repeat(20_000), Unproven::Unknown),
    ];
    for (token, why) in others {
        assert_eq!(show(&admission, &token), Err(why), "{token}");
    }
    // The public key as a shared secret: what a library that believes the header would take.
    let secret = EncodingKey::from_secret(issuer.ec.public_key_pem().as_bytes());
    let header = Header::new(jsonwebtoken::Algorithm::HS256);
    let confused = jsonwebtoken::encode(&header, &Issuer::claims(), &secret.unwrap()).unwrap();
    assert_eq!(show(&admission, &confused), Err(Unproven::Algorithm));
    assert!(show(&admission, &good).is_ok());
}

#[test]
fn an_rsa_signature_is_checked() {
    // RFC 7515, appendix A.2: its signature holds, and it expired in 2011.
    let key = json!({"kty": "RSA", "e": "AQAB", "n": "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ"});
    let token = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw";
    let issuer = Issuer::new();
    issuer.publish(&json!({"keys": [key]}));
    let admission = issuer.admission("");
    // Claims are looked at only behind a good signature; this one lacks an audience.
    assert_eq!(show(&admission, token), Err(Unproven::Malformed));
    let forged = token.replace("cC4hiUPo", "cC4hiUPp");
    assert_eq!(show(&admission, &forged), Err(Unproven::Unknown));
}

#[test]
fn a_token_for_one_use_is_taken_once() {
    let issuer = Issuer::new();
    let admission = issuer.admission("single_use = true");
    let claims = |id: &str| changed(&Issuer::claims(), &json!({"jti": id}));
    let one = issuer.es256(&claims("1"));
    assert!(show(&admission, &one).is_ok());
    assert_eq!(show(&admission, &one), Err(Unproven::Replayed));
    assert!(show(&admission, &issuer.es256(&claims("2"))).is_ok());
    assert_eq!(show(&admission, &issuer.es256(&Issuer::claims())), Err(Unproven::Malformed));
    let long = changed(&claims("3"), &json!({"exp": seconds(2 * 86_400)}));
    assert_eq!(show(&admission, &issuer.es256(&long)), Err(Unproven::Malformed));
}

#[test]
fn keys_are_replaced_by_a_reload_and_broken_ones_are_not_taken() {
    let issuer = Issuer::new();
    let admission = issuer.admission("");
    let old = issuer.es256(&Issuer::claims());
    issuer.publish(&json!({"keys": []}));
    let message = admission.reload().unwrap_err().to_string();
    assert!(message.contains("jwks.json"), "{message}");
    assert!(show(&admission, &old).is_ok());
    issuer.publish(&json!({"keys": [issuer.ed_key()]}));
    admission.reload().unwrap();
    assert_eq!(show(&admission, &old), Err(Unproven::Algorithm));
}

#[test]
fn a_shared_secret_is_no_algorithm_here() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        "[identity.jwt]\njwks = {:?}\nissuer = \"i\"\naudience = \"a\"\nalgorithms = [\"HS256\"]",
        folder.path().join("none")
    );
    let message = Admission::new(config(&text)).unwrap_err().to_string();
    assert!(message.contains("HS256") && message.contains("RS256"), "{message}");
}

fn entry(name: &str) -> String {
    format!("[[token]]\nname = \"{name}\"\nsha256 = \"{}\"\n", mint([7; 32]).sha256)
}

fn tokens(path: &Path, more: &str) -> Result<Admission, Error> {
    let minted = entry("planner");
    std::fs::write(path, format!("{}tenant = \"acme\"\nroles = [\"agent\"]\n{more}", minted))
        .unwrap();
    Admission::new(config(&format!("[identity]\ntokens = {path:?}")))
}

#[test]
fn a_minted_token_is_known_by_its_hash() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens.toml");
    let admission = tokens(&path, "").unwrap();
    let minted = mint([7; 32]);
    assert!(minted.token.starts_with("swb_"));
    let caller = show(&admission, &minted.token).unwrap();
    assert_eq!((caller.name.as_str(), caller.tenant.as_str()), ("planner", "acme"));
    assert_eq!(caller.roles, ["remote", "agent"]);
    for link in [Link::Unix { uid: 1, gid: 1 }, Link::Tls(Vec::new())] {
        let peer = with(link, &format!("bearer  {}", minted.token));
        assert_eq!(admission.identify(&peer).unwrap(), caller, "a token counts before the link");
    }
    let late = tokens(&path, "expires = \"2020-01-01T00:00:00Z\"").unwrap();
    assert_eq!(show(&late, &minted.token), Err(Unproven::Expired));
}

#[test]
fn an_authorization_is_one_bearer_token() {
    let folder = tempfile::tempdir().unwrap();
    let admission = tokens(&folder.path().join("tokens.toml"), "").unwrap();
    let refused = |authorization: &str| {
        admission.identify(&with(Link::Unix { uid: 1, gid: 1 }, authorization)).unwrap_err()
    };
    for wrong in ["", "Bearer", "Bearer ", "Basic abc", "token", "Bearer a b", "Bearer \u{7f}"] {
        assert_eq!(refused(wrong), Unproven::Malformed, "`{wrong}`");
    }
    assert_eq!(refused("Bearer wrong"), Unproven::Unknown);
    assert_eq!(admission.identify(&loopback().into()), Err(Unproven::Missing));
    assert_eq!(admission.identify(&Link::Tls(Vec::new()).into()), Err(Unproven::Missing));
    assert!(admission.identify(&Link::Unix { uid: 1, gid: 1 }.into()).is_ok());
}

#[test]
fn a_token_is_not_taken_in_the_clear_from_outside() {
    let folder = tempfile::tempdir().unwrap();
    let admission = tokens(&folder.path().join("tokens.toml"), "").unwrap();
    let token = format!("Bearer {}", mint([7; 32]).token);
    let outside = Link::Tcp(SocketAddr::from(([192, 0, 2, 1], 5000)));
    assert_eq!(admission.identify(&with(outside, &token)), Err(Unproven::Missing));
}

#[test]
fn broken_token_files_are_named_with_their_fault() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens.toml");
    let twice = entry("other");
    for (more, word) in [
        (twice.as_str(), "twice"),
        ("[[token]]\nname = \"x\"\nsha256 = \"12\"", "64 hex digits"),
        ("[[token]]\nname = \" \"\nsha256 = \"12\"", "no name"),
        ("expires = \"tomorrow\"", "tomorrow"),
        ("secret = \"x\"", "secret"),
    ] {
        let message = tokens(&path, more).unwrap_err().to_string();
        assert!(message.contains(word) && message.contains("tokens.toml"), "{message}");
    }
}

#[test]
fn loopback_is_open_until_proofs_are_configured_or_it_is_closed() {
    let open = Admission::new(Config::default()).unwrap();
    let caller = open.identify(&loopback().into()).unwrap();
    assert_eq!(
        (caller.name.as_str(), caller.roles.as_slice()),
        ("loopback", &["local".to_owned()][..])
    );
    let closed = Admission::new(config("[identity]\nopen_loopback = false")).unwrap();
    assert_eq!(closed.identify(&loopback().into()), Err(Unproven::Missing));
    assert_eq!(open.identify(&with(loopback(), "Bearer x")), Err(Unproven::Unknown));
}

#[test]
fn a_certificate_stands_for_the_caller_that_its_name_is_given() {
    let rules = "[[identity.certificates]]\nsan = \"spiffe://prod/planner\"\nname = \"planner\"\ntenant = \"acme\"\nroles = [\"agent\"]\n[[identity.certificates]]\nsan = \"spiffe://prod/jobs/*\"\n[[identity.certificates]]\nsan = \"host.test\"";
    let admission = Admission::new(config(rules)).unwrap();
    let of = |names: &[&str]| {
        admission.identify(&Link::Tls(names.iter().map(|&n| n.to_owned()).collect()).into())
    };
    let planner = of(&["spiffe://prod/planner"]).unwrap();
    assert_eq!((planner.name.as_str(), planner.tenant.as_str()), ("planner", "acme"));
    assert_eq!(of(&["spiffe://prod/jobs/7"]).unwrap().name, "spiffe://prod/jobs/7");
    assert_eq!(of(&["spiffe://x/y", "host.test"]).unwrap().name, "host.test");
    for names in [&["spiffe://prod/planner2"][..], &["spiffe://prod/jobs/"], &["other.test"]] {
        assert_eq!(of(names), Err(Unproven::Certificate), "{names:?}");
    }
    let any = Admission::new(Config::default()).unwrap();
    let named = any.identify(&Link::Tls(vec!["spiffe://prod/x".to_owned()]).into()).unwrap();
    assert_eq!(
        (named.name.as_str(), named.roles.as_slice()),
        ("spiffe://prod/x", &["remote".to_owned()][..])
    );
}

#[test]
fn names_are_read_from_a_certificate_uris_first() {
    let mut parameters = rcgen::CertificateParams::new(vec!["host.test".to_owned()]).unwrap();
    let uri = "spiffe://prod/planner".try_into().unwrap();
    parameters.subject_alt_names.push(rcgen::SanType::URI(uri));
    let key = KeyPair::generate().unwrap();
    let certificate = parameters.self_signed(&key).unwrap();
    assert_eq!(names(certificate.der()), ["spiffe://prod/planner", "host.test"]);
    assert_eq!(names(&b"junk".as_slice().into()), Vec::<String>::new());
}
