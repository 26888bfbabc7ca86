//! `switchboard token`: makes a bearer token. The token is shown once; the daemon keeps its hash.

use std::process::ExitCode;

use clap::Args;

use super::{Failed, print};
use crate::admission;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The caller's name.
    name: String,
    /// Its tenant.
    #[arg(long)]
    tenant: Option<String>,
    /// A role; may be given several times.
    #[arg(long = "role")]
    roles: Vec<String>,
    /// When it expires, for example 2030-01-31T00:00:00Z.
    #[arg(long)]
    expires: Option<jiff::Timestamp>,
}

pub(super) fn run(options: &Options) -> Result<ExitCode, Failed> {
    let mut random = [0; 32];
    rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())
        .map_err(|error| Failed::answer(format!("no random bytes: {error}")))?;
    let mut entry = toml::Table::new();
    let minted = admission::mint(random);
    entry.insert("name".into(), options.name.clone().into());
    entry.insert("sha256".into(), minted.sha256.into());
    entry.extend(options.tenant.clone().map(|tenant| ("tenant".into(), tenant.into())));
    if !options.roles.is_empty() {
        entry.insert("roles".into(), options.roles.clone().into());
    }
    entry.extend(options.expires.map(|at| ("expires".into(), at.to_string().into())));
    print::error(&format!(
        "the token, shown only now; the lines on standard output go into the daemon's file:\n{}",
        minted.token
    ));
    print::text(&format!("[[token]]\n{entry}"))
}
