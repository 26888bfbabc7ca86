//! The rules of the linter, by name: what each is about, how it is mended, and where it comes from.

use serde::Serialize;

/// How bad a finding is, in the words of SARIF.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Every call, or one argument of it, fails.
    Error,
    /// Models choose or fill the tool wrongly because of it.
    Warning,
    /// Models do better without it.
    Note,
}

impl Level {
    /// The word of SARIF for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// One rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// Short stable name.
    pub id: &'static str,
    /// How bad its findings are.
    pub level: Level,
    /// What is wrong with what it finds.
    pub about: &'static str,
    /// How to mend it.
    pub mend: &'static str,
    /// The page that the rule comes from.
    pub source: &'static str,
}

const ANTHROPIC: &str =
    "https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/implement-tool-use";
const OPENAI: &str = "https://platform.openai.com/docs/guides/function-calling";
const GEMINI: &str = "https://ai.google.dev/gemini-api/docs/function-calling";
const MCP: &str = "https://modelcontextprotocol.io/specification/2025-06-18/server/tools";
const SCHEMA: &str = "https://json-schema.org/draft/2020-12/json-schema-validation";
const FETCH: &str = "https://cheatsheetseries.owasp.org/cheatsheets/\
Server_Side_Request_Forgery_Prevention_Cheat_Sheet.html";

const fn rule(
    (id, level): (&'static str, Level),
    about: &'static str,
    mend: &'static str,
    source: &'static str,
) -> Rule {
    Rule { id, level, about, mend, source }
}

/// Every rule, by its name.
pub const RULES: [Rule; 21] = [
    rule(
        ("alike", Level::Warning),
        "Two tools have descriptions that cannot be told apart",
        "say in each when to choose it, and when the other one",
        ANTHROPIC,
    ),
    rule(
        ("arguments", Level::Warning),
        "The tool takes more arguments than models fill well",
        "split the tool, or drop arguments that the caller's program knows",
        OPENAI,
    ),
    rule(
        ("bounds", Level::Warning),
        "A number has no bounds",
        "give `minimum` and `maximum`",
        SCHEMA,
    ),
    rule(
        ("confusable", Level::Warning),
        "Two arguments differ only in case or separators",
        "rename one of them, or drop it",
        OPENAI,
    ),
    rule(
        ("depth", Level::Warning),
        "Objects that must be given lie deep inside each other",
        "take what is needed as arguments of their own, or make the inner objects optional",
        GEMINI,
    ),
    rule(
        ("description", Level::Warning),
        "The description does not tell when to choose the tool",
        "say what it does, when to choose it, and what it gives back",
        ANTHROPIC,
    ),
    rule(
        ("egress", Level::Error),
        "The profile lets no connection to the tool's server through",
        "add an egress rule for the host and port to the sandbox profile",
        FETCH,
    ),
    rule(
        ("enum", Level::Note),
        "The values of an enumeration say nothing by themselves",
        "say in the description what each value means, or write words instead of codes",
        GEMINI,
    ),
    rule(
        ("example", Level::Note),
        "A value of a special form has no example",
        "give one in `examples`, or in the description",
        ANTHROPIC,
    ),
    rule(
        ("format", Level::Warning),
        "A text may be anything",
        "give `format`, `pattern`, `enum` or `maxLength`",
        SCHEMA,
    ),
    rule(("items", Level::Warning), "A list does not say of what", "give `items`", SCHEMA),
    rule(
        ("length", Level::Note),
        "The description is longer than models and their hosts read",
        "keep it below 1,024 characters; what a call needs belongs to the arguments",
        OPENAI,
    ),
    rule(
        ("name", Level::Note),
        "The name does not say what the tool does",
        "put a verb into it, such as `orders.list`; in a document, into `operationId`",
        OPENAI,
    ),
    rule(
        ("open", Level::Warning),
        "The tool takes arguments that it does not declare",
        "add `additionalProperties = false`, so that a misspelt one is noticed",
        OPENAI,
    ),
    rule(
        ("output", Level::Note),
        "The tool does not say what it gives back",
        "give `output_schema`, or `check_output = true` in the source of a document that has one",
        MCP,
    ),
    rule(
        ("parameter", Level::Warning),
        "An argument has no description",
        "say what to put there, with an example",
        ANTHROPIC,
    ),
    rule(
        ("secret", Level::Error),
        "A secret of the profile changes the request",
        "rename the argument, or bind the secret elsewhere",
        FETCH,
    ),
    rule(
        ("size", Level::Warning),
        "The input schema takes a large part of a model's attention",
        "leave out arguments that are not needed, or lower `max_schema` of the source",
        GEMINI,
    ),
    rule(("type", Level::Warning), "An argument takes any value", "give it a `type`", SCHEMA),
    rule(
        ("unit", Level::Warning),
        "A number does not say what it counts",
        "name the unit in the description, such as seconds or bytes",
        OPENAI,
    ),
    rule(
        ("verb", Level::Warning),
        "Name and declared risk contradict each other",
        "correct `risk` if it is wrong, or the name",
        MCP,
    ),
];
