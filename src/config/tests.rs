use std::path::Path;

use super::{Config, Error, duration};

fn read(text: &str) -> Result<Config, Error> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("switchboard.toml");
    std::fs::write(&path, text).unwrap();
    Config::read(&path)
}

#[test]
fn an_empty_file_gives_the_defaults() {
    let config = read("").unwrap();
    assert_eq!(config.server.socket, Path::new("/run/switchboard/switchboard.sock"));
    assert_eq!(config.server.mode().unwrap(), 0o660);
}

#[test]
fn a_misspelt_key_is_refused_and_named() {
    let message = read("[server]\nsockett = \"x\"").unwrap_err().to_string();
    assert!(message.contains("sockett") && message.contains("socket_mode"), "{message}");
}

#[test]
fn a_listener_beyond_loopback_is_refused() {
    let message = read("[server]\ntcp = \"0.0.0.0:7431\"").unwrap_err().to_string();
    assert!(message.contains("server.tcp") && message.contains("127.0.0.1"), "{message}");
}

#[test]
fn a_world_open_socket_needs_a_second_word() {
    let message = read("[server]\nsocket_mode = \"0666\"").unwrap_err().to_string();
    assert!(message.contains("allow_world_socket"), "{message}");
    assert!(read("[server]\nsocket_mode = \"0666\"\nallow_world_socket = true").is_ok());
}

#[test]
fn relative_paths_start_at_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("switchboard.toml");
    let text = "[policies]\nfolder = \"policies\"\nshadow = \"next\"\n[sandbox.gate]\nextra_ca = \"ca.pem\"";
    std::fs::write(&path, text).unwrap();
    let config = Config::read(&path).unwrap();
    assert_eq!(config.policies.folder, folder.path().join("policies"));
    assert_eq!(config.policies.shadow, Some(folder.path().join("next")));
    assert_eq!(config.sandbox.gate.extra_ca, Some(folder.path().join("ca.pem")));
}

#[test]
fn daemons_of_one_host_have_names_of_their_own_that_stay() {
    let name = |text: &str| read(text).unwrap().sandbox.instance;
    let one = name("[ledger]\npath = \"/a/ledger.db\"");
    assert_eq!(one, name("[ledger]\npath = \"/a/ledger.db\""));
    assert_ne!(one, name("[ledger]\npath = \"/b/ledger.db\""));
    assert_eq!(name("[sandbox]\ninstance = \"mine\""), "mine");
}

#[test]
fn durations_have_units() {
    assert_eq!(duration::parse("1m 30s").unwrap().as_secs(), 90);
    assert_eq!(duration::parse("500ms").unwrap().as_millis(), 500);
    assert!(duration::parse("3").is_err());
    assert!(duration::parse("-3s").is_err());
}

#[test]
fn the_role_vision_gives_the_memory_eyes_and_spending_has_its_place() {
    let role = "[models.roles]\nvision = [\"eye\"]\n[models.endpoints.eye]\nmodel = \"m\"\nkey_file = \"k\"\n\
        url = \"https://a.example/v1\"\n";
    let config = read(&format!("{role}provider = \"openai\"")).unwrap();
    let eyes = config.memory.vision.unwrap();
    assert_eq!(eyes.url, "https://a.example/v1/chat/completions");
    assert!(eyes.key_file.unwrap().is_absolute());
    let spending = config.models.spending.unwrap();
    assert_eq!(spending, crate::config::beside(&config.ledger.path, ".spending"));
    let own = format!(
        "{role}provider = \"openai\"\n[memory.vision]\nurl = \"https://b.example\"\nmodel = \"v\""
    );
    assert_eq!(read(&own).unwrap().memory.vision.unwrap().model, "v");
    let message = read(&format!("{role}provider = \"ollama\"")).unwrap_err().to_string();
    assert!(message.contains("models.roles.vision") && message.contains("`openai`"), "{message}");
}
