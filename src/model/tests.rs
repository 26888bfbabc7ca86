//! What the room promises, against servers on real sockets that speak the four wire formats, with faults.

mod asking;
mod blaming;
mod budgets;
mod faults;
mod forms;
mod history;
mod keys;
mod server;
mod values;
mod wires;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;

use super::*;
use server::Server;

/// Endpoints that stand for one server each: `provider` and further keys as TOML.
fn config(servers: &[(&str, &Server, &str, &str)]) -> Config {
    let mut text = String::new();
    for (name, server, provider, keys) in servers {
        text.push_str(&format!(
            "[endpoints.{name}]\nprovider = \"{provider}\"\nurl = \"{}\"\nmodel = \"m\"\n{keys}\n",
            server.url()
        ));
    }
    let names: Vec<String> = servers.iter().map(|(name, ..)| format!("\"{name}\"")).collect();
    text.push_str(&format!("[roles]\nreasoner = [{}]\n", names.join(", ")));
    toml::from_str(&text).unwrap()
}

fn open(config: &Config) -> Models {
    Models::open(config, &TaskTracker::new()).unwrap()
}

/// The models of one server.
fn one(server: &Server, provider: &str, keys: &str) -> Models {
    open(&config(&[("only", server, provider, keys)]))
}

fn free(models: &Models) -> Purse {
    models.purse("acme", Budget::default(), Spent::nothing(models.currency()))
}

fn question(text: &str) -> Prompt {
    Prompt { turns: vec![Turn::User(text.to_owned())], ..Prompt::default() }
}

/// A question with the tool `get_weather`.
fn weather() -> Prompt {
    let schema = json!({
        "type": "object", "required": ["city"],
        "properties": { "city": { "type": "string", "minLength": 1 }, "days": { "type": "integer" } }
    });
    let (name, description) = ("get_weather".to_owned(), "Tells the weather.".to_owned());
    Prompt {
        system: "Be brief.".to_owned(),
        tools: vec![Offer::Own { name, description, schema }],
        ..question("How is the weather in Oslo?")
    }
}

fn shape() -> Value {
    json!({
        "type": "object", "required": ["answer"], "additionalProperties": false,
        "properties": { "answer": { "type": "string" } }
    })
}

async fn ask(models: &Models, prompt: &Prompt) -> Result<Said, Failed> {
    models.ask(Who::Role(Role::Reasoner), prompt, &free(models), None).await
}

/// Asks, and gathers what was heard meanwhile: all of it, and what holds in the end.
async fn listen(models: &Models, prompt: &Prompt) -> (Result<Said, Failed>, Vec<Delta>, String) {
    let (sender, mut receiver) = mpsc::channel(1024);
    let purse = free(models);
    let said = models.ask(Who::Role(Role::Reasoner), prompt, &purse, Some(&sender)).await;
    drop(sender);
    let (mut heard, mut text) = (Vec::new(), String::new());
    while let Some(delta) = receiver.recv().await {
        match &delta {
            Delta::Text(more) => text.push_str(more),
            Delta::Void => text.clear(),
        }
        heard.push(delta);
    }
    (said, heard, text)
}

/// Endpoint and outcome of each attempt.
fn outcomes(tried: &[Tried]) -> Vec<String> {
    tried.iter().map(|one| format!("{} {}", one.endpoint, one.outcome.as_str())).collect()
}
