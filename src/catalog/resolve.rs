//! From the name in a call to a tool: exact first, then the spellings that models are known to
//! make, and those only when exactly one tool fits. Anything else is unknown, never guessed.

use std::sync::Arc;

use super::dialect::{DOT, is_marked};
use super::file::{nearest, one_line};
use super::{Catalog, Dialect, Error, Resolved, Tool, exported_name};
use crate::admission::{Admitted, Caller};
use crate::call::Call;

/// Prefixes that models put before the name of a function.
const PREFIXES: [&str; 3] = ["functions.", "default_api.", "default_api:"];
/// Longest part of an unknown name that is repeated in a message.
const MAX_ECHO: usize = 80;

impl Catalog {
    /// Finds the tool that a call names.
    ///
    /// `visible` says which tools this caller may know of: only those are found under another
    /// spelling than their own, and only those are suggested.
    pub fn resolve(
        &self,
        admitted: Admitted,
        visible: &dyn Fn(&Caller, &Tool) -> bool,
    ) -> Result<Resolved, Error> {
        let seen = |tool: &Tool| visible(&admitted.caller, tool);
        match self.named(&admitted.call, &seen) {
            Some(tool) => Ok(Resolved { admitted, tool }),
            None => Err(self.unknown(&admitted.call.tool, &seen)),
        }
    }

    /// The tool that a call names, in its own dialect first.
    pub fn named(&self, call: &Call, visible: &dyn Fn(&Tool) -> bool) -> Option<Arc<Tool>> {
        let named = call.dialect.and_then(|dialect| self.exported(dialect, &call.tool));
        named.or_else(|| self.find(&call.tool, visible))
    }

    /// The tool that a dialect exports under this name.
    fn exported(&self, dialect: Dialect, name: &str) -> Option<Arc<Tool>> {
        let bare = PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix));
        std::iter::once(name).chain(bare).find_map(|name| {
            let is_it = |tool: &&Arc<Tool>| exported_name(&tool.name, dialect) == name;
            let plain = self.get(name).filter(is_it);
            let known = plain.or_else(|| self.get(&name.replace(DOT, ".")).filter(is_it));
            if known.is_some() {
                return known.cloned();
            }
            // What is left is marked with a digest, which leads nowhere back.
            let mut fitting = self.tools().iter().filter(|_| is_marked(name)).filter(is_it);
            match (fitting.next(), fitting.next()) {
                (Some(only), None) => Some(Arc::clone(only)),
                _ => None,
            }
        })
    }

    /// The tool with this name, or the only one that a known misspelling of it fits.
    pub fn find(&self, name: &str, visible: &dyn Fn(&Tool) -> bool) -> Option<Arc<Tool>> {
        if let Some(tool) = self.get(name) {
            return Some(Arc::clone(tool));
        }
        let bare = PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name);
        if bare.is_empty() || bare.len() > MAX_ECHO {
            return None;
        }
        let wanted = variant(bare);
        let mut fitting = self.tools().iter().filter(|tool| {
            variant(&tool.name) == wanted || tool.operation.as_deref() == Some(bare)
        });
        let exact = self.get(bare);
        let only = match (exact, fitting.next(), fitting.next()) {
            (Some(tool), _, _) | (None, Some(tool), None) => tool,
            (None, _, _) => return None,
        };
        visible(only).then(|| Arc::clone(only))
    }

    /// Why there is no tool by this name, with the nearest names that are visible.
    pub fn unknown(&self, name: &str, visible: &dyn Fn(&Tool) -> bool) -> Error {
        metrics::counter!("switchboard_catalog_unknown_tools_total").increment(1);
        let plain: String = name
            .chars()
            .map(|c| if c.is_control() || c == '`' { '\u{fffd}' } else { c })
            .take(MAX_ECHO)
            .collect();
        let names = self.tools().iter().filter(|tool| visible(tool)).map(|tool| tool.name.as_str());
        Error::UnknownTool {
            nearest: nearest(&plain, names).into_iter().map(str::to_owned).collect(),
            name: one_line(&plain),
        }
    }
}

/// A name without its case, and with hyphens as underscores. Dots stay: they separate namespaces.
fn variant(name: &str) -> String {
    name.to_ascii_lowercase().replace('-', "_")
}
