//! Who calls: over mutual TLS, with tokens, and with nothing that proves anything.

use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, SanType};
use serde_json::{Value, json};
use switchboard::proto::tools::tool_service_client::ToolServiceClient;
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity};
use tonic::{Code, Request};
use tonic_types::StatusExt;

use crate::daemon::{Daemon, Setup, eventually, request};

/// A certificate authority, and what it signs.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut parameters = CertificateParams::default();
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        Self(CertifiedIssuer::self_signed(parameters, key).unwrap())
    }

    /// Certificate and key in PEM, for these names.
    fn sign(&self, dns: &[&str], uris: &[&str]) -> (String, String) {
        let names: Vec<_> = dns.iter().map(|&name| name.to_owned()).collect();
        let mut parameters = CertificateParams::new(names).unwrap();
        for &uri in uris {
            parameters.subject_alt_names.push(SanType::URI(uri.try_into().unwrap()));
        }
        let key = KeyPair::generate().unwrap();
        let certificate = parameters.signed_by(&key, &self.0).unwrap();
        (certificate.pem(), key.serialize_pem())
    }
}

fn write(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    // In one step, as secret mounts are replaced.
    std::fs::write(path.with_extension("new"), text).unwrap();
    std::fs::rename(path.with_extension("new"), &path).unwrap();
    path.display().to_string()
}

/// A daemon with TLS for `localhost`, that trusts `clients`.
async fn start(server: &Authority, clients: &Authority, more: &str) -> Daemon {
    let setup = Setup::new();
    let folder = setup.folder.path().to_owned();
    let (certificate, key) = server.sign(&["localhost"], &[]);
    write(&folder, "server.pem", &certificate);
    write(&folder, "server.key", &key);
    write(&folder, "clients.pem", &clients.0.pem());
    setup
        .config(&format!(
            "[server.tls]\ncertificate = \"server.pem\"\nkey = \"server.key\"\n\
             client_ca = \"clients.pem\"\n{more}"
        ))
        .start()
        .await
}

async fn call(
    daemon: &Daemon,
    server: &Authority,
    identity: Option<(String, String)>,
    token: Option<&str>,
) -> Result<Value, tonic::Status> {
    let mut tls = ClientTlsConfig::new()
        .domain_name("localhost")
        .ca_certificate(Certificate::from_pem(server.0.pem()));
    if let Some((certificate, key)) = identity {
        tls = tls.identity(Identity::from_pem(certificate, key));
    }
    let url = format!("https://{}", daemon.address("tcp"));
    let endpoint = Endpoint::from_shared(url).unwrap().tls_config(tls).unwrap();
    let mut client = ToolServiceClient::new(endpoint.connect_lazy());
    let mut call = Request::new(request("text.stats", r#"{"text":"a b"}"#));
    if let Some(token) = token {
        call.metadata_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
    }
    let reply = client.call(call).await?.into_inner().reply.unwrap();
    Ok(serde_json::from_str(&reply.json).unwrap())
}

fn last_caller(daemon: &Daemon) -> Value {
    let config = daemon.config();
    let line = daemon.cli(&["ledger", "tail", "--config", &config, "-n", "1", "--json"]);
    let text = String::from_utf8(line.stdout).unwrap();
    let record: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    json!([record["caller"], record["tenant"]])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_certificate_names_the_caller() {
    let (server, clients) = (Authority::new(), Authority::new());
    let rules = "[[admission.identity.certificates]]\nsan = \"spiffe://prod/planner\"\n\
                 name = \"planner\"\ntenant = \"acme\"";
    let daemon = start(&server, &clients, rules).await;
    let planner = clients.sign(&[], &["spiffe://prod/planner"]);
    let reply = call(&daemon, &server, Some(planner.clone()), None).await.unwrap();
    assert_eq!(reply["data"]["words"], 2, "{reply:#}");
    assert_eq!(last_caller(&daemon), json!(["planner", "acme"]));

    let stranger = clients.sign(&["planner"], &["spiffe://prod/other"]);
    let refused = call(&daemon, &server, Some(stranger), None).await.unwrap_err();
    assert_eq!(refused.code(), Code::Unauthenticated);
    assert_eq!(refused.get_details_error_info().unwrap().reason, "CERTIFICATE_UNKNOWN");
    // Without a certificate, or with one of another authority, there is no connection.
    assert!(call(&daemon, &server, None, None).await.is_err());
    let forged = Authority::new().sign(&[], &["spiffe://prod/planner"]);
    assert!(call(&daemon, &server, Some(forged), None).await.is_err());
    let metrics = daemon.metrics().await;
    assert!(metrics.contains("unproven_total{reason=\"CERTIFICATE_UNKNOWN\"} 1"), "{metrics}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_is_replaced_is_taken_without_a_restart() {
    let (server, clients, next) = (Authority::new(), Authority::new(), Authority::new());
    let daemon = start(&server, &clients, "").await;
    let client = clients.sign(&["client.test"], &[]);
    assert!(call(&daemon, &server, Some(client.clone()), None).await.is_ok());
    let (certificate, key) = next.sign(&["localhost"], &[]);
    write(daemon.folder(), "server.key", &key);
    write(daemon.folder(), "server.pem", &certificate);
    eventually("the new certificate is served", || async {
        call(&daemon, &next, Some(client.clone()), None).await.is_ok()
    })
    .await;
    assert_eq!(last_caller(&daemon), json!(["client.test", "default"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_names_the_caller_and_a_wrong_one_is_refused_everywhere() {
    let setup = Setup::new();
    let made = std::process::Command::new(crate::daemon::BINARY)
        .args(["token", "planner", "--tenant", "acme", "--role", "agent"])
        .output()
        .unwrap();
    let token = String::from_utf8(made.stderr).unwrap().lines().last().unwrap().to_owned();
    write(setup.folder.path(), "tokens.toml", &String::from_utf8(made.stdout).unwrap());
    let daemon = setup.config("[admission.identity]\ntokens = \"tokens.toml\"").start().await;
    let url = format!("http://{}", daemon.address("tcp"));
    let cli = |endpoint: &str, token: Option<&str>| {
        let mut command = std::process::Command::new(crate::daemon::BINARY);
        command.args(["call", "text.stats", r#"{"text":"a"}"#, "--endpoint", endpoint]);
        if let Some(token) = token {
            command.env("SWITCHBOARD_TOKEN", token);
        }
        command.output().unwrap()
    };
    let reply = cli(&url, Some(&token));
    assert_eq!(reply.status.code(), Some(0), "{reply:?}");
    assert_eq!(last_caller(&daemon), json!(["planner", "acme"]));

    for (endpoint, token, why) in [
        (&url, None, "no proof"),
        (&url, Some("swb_wrong"), "not known"),
        (&daemon.socket(), Some("swb_wrong"), "not known"),
    ] {
        let refused = cli(endpoint, token);
        let said = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(1), "{said}");
        assert!(said.contains(why), "{said}");
    }
    assert_eq!(cli(&daemon.socket(), None).status.code(), Some(0), "the socket has its own door");
    assert!(!daemon.metrics().await.contains(&token));

    write(daemon.folder(), "tokens.toml", "");
    eventually("a token taken out is refused", || async {
        cli(&url, Some(&token)).status.code() == Some(1)
    })
    .await;
}

#[test]
fn a_listener_that_everybody_can_reach_needs_proofs() {
    let outside = "[server]\ntcp = \"0.0.0.0:0\"\n";
    let tls = "[server.tls]\ncertificate = \"a\"\nkey = \"b\"\n";
    let tokens = "[admission.identity]\ntokens = \"t\"\n";
    for config in [outside.to_owned(), format!("{outside}{tls}"), format!("{outside}{tokens}")] {
        let (code, said) = Setup::new().config(&config).refuse();
        assert_eq!(code, 2, "{said}");
        assert!(said.contains("server.tcp") && said.contains("server.tls"), "{said}");
    }
}
