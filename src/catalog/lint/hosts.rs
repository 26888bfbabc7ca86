//! What keeps an HTTP tool's calls from its server, or changes them on the way: its profile's egress
//! rules and secrets against the request that it makes.

use url::Url;

use crate::catalog::http::{Format, Shape, bound, is_same};
use crate::catalog::{HttpTarget, Place, Placement, Target, Tool};

/// A tool's server, with its host and port as a profile names them.
fn server(target: &HttpTarget) -> Option<(Url, String, u16)> {
    let url = Url::parse(&target.server).ok()?;
    let host = url.host_str()?.trim_matches(['[', ']']).to_owned();
    let port = url.port_or_known_default()?;
    Some((url, host, port))
}

/// An HTTP tool whose profile lets no connection to its own server through.
pub(super) fn unreachable_server(tool: &Tool) -> Option<String> {
    let Target::Http(target) = &tool.target else {
        return None;
    };
    let (_, host, port) = server(target)?;
    let rules = tool.profile.egress.as_deref().unwrap_or_default();
    let fits = rules.iter().any(|rule| rule.port == port && rule.names(&host));
    (!fits).then(|| {
        format!(
            "every call will be denied: sandbox/{}.toml has no egress rule for `{host}` port {port}",
            tool.profile.name
        )
    })
}

/// What a secret of the profile changes in an HTTP tool, against what its author may expect.
pub(super) fn overruled(tool: &Tool) -> Vec<String> {
    let Target::Http(target) = &tool.target else {
        return Vec::new();
    };
    let Some((url, host, _)) = server(target) else {
        return Vec::new();
    };
    let loopback = host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback());
    let mut found = Vec::new();
    for secret in bound(target, &tool.profile.secrets) {
        let name = &secret.name;
        if url.scheme() == "http" && !secret.plain_http && !loopback && host != "localhost" {
            found.push(format!(
                "every call will be denied: secret `{name}` is not sent over plain HTTP; write \
                 https:// as the server, or `plain_http = true` for an internal network"
            ));
        }
        let taken = |place: Place, wire: &str| match &secret.place {
            Placement::Query(own) => place == Place::Query && is_same(place, own, wire),
            header => {
                place == Place::Header
                    && header.header().is_some_and(|own| is_same(place, own, wire))
            }
        };
        let arguments = target.parameters.iter().filter(|one| taken(one.place, &one.name));
        found.extend(arguments.map(|one| {
            format!("argument `{}` is never sent: secret `{name}` takes its place", one.argument)
        }));
        let fields = form_fields(target).filter(|(_, name)| taken(Place::Query, name));
        found.extend(fields.map(|(argument, wire)| {
            format!(
                "calls that give argument `{argument}` are refused: secret `{name}` sets `{wire}`, and \
                 servers read query and form as one"
            )
        }));
        let fixed = target.headers.iter().filter(|(wire, _)| taken(Place::Header, wire));
        found.extend(fixed.map(|(wire, _)| {
            format!("header `{wire}` is never sent: secret `{name}` takes its place")
        }));
    }
    found
}

/// The fields of a form: argument, and name on the wire.
fn form_fields(target: &HttpTarget) -> impl Iterator<Item = (&str, &str)> {
    let form =
        target.body.iter().filter(|body| matches!(body.format, Format::Form | Format::Multipart));
    let fields = form.flat_map(|body| match &body.shape {
        Shape::Fields(fields) => fields.as_slice(),
        Shape::Whole(_) | Shape::All => &[],
    });
    fields.map(|field| (field.argument.as_str(), field.name.as_str()))
}
