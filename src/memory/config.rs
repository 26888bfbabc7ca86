//! The table `memory` of the configuration.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{StoreConfig, UpkeepConfig, WritingConfig, context, embed, recall};
use crate::config::beside;

/// The memory of this daemon.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Whether there is one. Default: where a collection is declared in `memory/*.toml` of the policies
    /// folder.
    pub enabled: Option<bool>,
    /// Where units are kept.
    pub store: StoreConfig,
    /// What makes vectors.
    pub embedder: embed::Config,
    /// How writes are worked off.
    pub writing: WritingConfig,
    /// How questions are answered.
    pub recall: recall::Config,
    /// How contexts are put together.
    pub context: context::Config,
    /// A model behind OpenAI's `/v1/chat/completions` that says what an image shows; default none.
    pub vision: Option<recall::Endpoint>,
    /// File of the key that makes placeholders of collections with `placeholders = "keyed"`: 32 bytes in
    /// hex, made with mode 0600 at first use. Default: the ledger's path with `.placeholders` added.
    /// Daemons that share a store need the same file; without it, placeholders of before are matched
    /// by none of those made later.
    pub placeholder_key: PathBuf,
    /// When it is put in order.
    pub upkeep: UpkeepConfig,
}

impl Config {
    /// Gives the store its place beside the ledger, where none is named.
    pub fn place(&mut self, ledger: &Path) {
        if let StoreConfig::Sqlite(sqlite) = &mut self.store
            && sqlite.path.as_os_str().is_empty()
        {
            sqlite.path = beside(ledger, ".memory");
        }
        if self.placeholder_key.as_os_str().is_empty() {
            self.placeholder_key = beside(ledger, ".placeholders");
        }
    }

    /// Relative paths, for the file's folder to be put before.
    pub fn paths(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        let recall = &mut self.recall;
        let endpoints = [&mut recall.rerank_endpoint, &mut recall.rewrite, &mut self.vision];
        let keys = endpoints.into_iter().flatten().filter_map(|one| one.key_file.as_mut());
        let embedder = &mut self.embedder;
        let model = embedder.endpoint.as_mut().and_then(|one| one.key_file.as_mut());
        let store: Vec<&mut PathBuf> = match &mut self.store {
            StoreConfig::Sqlite(sqlite) => vec![&mut sqlite.path],
            StoreConfig::Postgresql(server) => {
                server.password_file.iter_mut().chain(&mut server.ca_file).collect()
            }
        };
        let own = store.into_iter().chain(&mut self.context.tokenizer);
        let own = own.chain([&mut self.placeholder_key]);
        own.chain([&mut embedder.local.folder]).chain(model).chain(keys)
    }
}
