//! Which type each keyword of OpenAPI has, and what stands inside it: what an object is and a key in,
//! the expectation out. Keywords that nothing reads have none.

use crate::catalog::openapi::METHODS;

/// What an object is, by where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Root,
    Components,
    Item,
    Operation,
    Parameter,
    Body,
    Media,
    Encoding,
    Response,
    Schema,
    Server,
    Variable,
    Scheme,
}

/// The type that a keyword has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Want {
    Any,
    Bool,
    /// A boolean, or a number that is told of where it is read.
    Flag,
    /// A boolean, an object or a list.
    Schema,
    Text,
    Names,
    /// Names, or a boolean as draft 3 has it.
    Demands,
    /// A list, of which one item may stand for it.
    List,
    Items,
    Map,
    /// A mapping without which the whole is of no use.
    Content,
    Parameters,
    /// A discriminator.
    Kinds,
}

type Expected = Option<(Want, Option<Role>)>;

/// What a keyword must be; the role is that of what stands in it, or of each thing in it.
pub(super) fn expect(role: Role, key: &str, swagger: bool) -> Expected {
    match role {
        Role::Root => root(key),
        Role::Components => components(key),
        Role::Item if METHODS.iter().any(|method| key.eq_ignore_ascii_case(method)) => {
            Some((Want::Any, Some(Role::Operation)))
        }
        Role::Item | Role::Operation => operation(key),
        Role::Parameter => parameter(key).or_else(|| schema(key).filter(|_| swagger)),
        Role::Body => match key {
            "content" => Some((Want::Content, Some(Role::Media))),
            "required" => Some((Want::Bool, None)),
            "description" => Some((Want::Text, None)),
            _ => None,
        },
        Role::Media => match key {
            "schema" => Some((Want::Any, Some(Role::Schema))),
            "encoding" => Some((Want::Map, Some(Role::Encoding))),
            _ => None,
        },
        Role::Encoding => match key {
            "style" | "contentType" => Some((Want::Text, None)),
            "explode" | "allowReserved" => Some((Want::Bool, None)),
            _ => None,
        },
        Role::Response => match key {
            "content" => Some((Want::Map, Some(Role::Media))),
            "schema" => Some((Want::Any, Some(Role::Schema))),
            _ => None,
        },
        Role::Schema => schema(key),
        Role::Server => match key {
            "url" => Some((Want::Text, None)),
            "variables" => Some((Want::Map, Some(Role::Variable))),
            _ => None,
        },
        Role::Variable => match key {
            "default" => Some((Want::Text, None)),
            "enum" => Some((Want::Names, None)),
            _ => None,
        },
        Role::Scheme => match key {
            "type" | "in" | "name" | "scheme" => Some((Want::Text, None)),
            _ => None,
        },
    }
}

fn root(key: &str) -> Expected {
    Some(match key {
        "paths" => (Want::Map, Some(Role::Item)),
        "components" => (Want::Any, Some(Role::Components)),
        "servers" => (Want::List, Some(Role::Server)),
        "security" => (Want::List, None),
        "consumes" | "produces" | "schemes" => (Want::Names, None),
        "host" | "basePath" => (Want::Text, None),
        "definitions" => (Want::Map, Some(Role::Schema)),
        "parameters" => (Want::Map, Some(Role::Parameter)),
        "responses" => (Want::Map, Some(Role::Response)),
        "securityDefinitions" => (Want::Map, Some(Role::Scheme)),
        _ => return None,
    })
}

fn components(key: &str) -> Expected {
    Some(match key {
        "schemas" => (Want::Map, Some(Role::Schema)),
        "parameters" => (Want::Map, Some(Role::Parameter)),
        "requestBodies" => (Want::Map, Some(Role::Body)),
        "responses" => (Want::Map, Some(Role::Response)),
        "securitySchemes" => (Want::Map, Some(Role::Scheme)),
        "pathItems" => (Want::Map, Some(Role::Item)),
        _ => return None,
    })
}

/// Of an operation, and of the path that it shares with others.
fn operation(key: &str) -> Expected {
    Some(match key {
        "parameters" => (Want::Parameters, Some(Role::Parameter)),
        "requestBody" => (Want::Any, Some(Role::Body)),
        "responses" => (Want::Map, Some(Role::Response)),
        "servers" => (Want::List, Some(Role::Server)),
        "security" => (Want::List, None),
        "tags" | "consumes" | "produces" | "schemes" => (Want::Names, None),
        "operationId" | "summary" | "description" => (Want::Text, None),
        "deprecated" => (Want::Bool, None),
        _ => return None,
    })
}

fn parameter(key: &str) -> Expected {
    Some(match key {
        "name" | "in" | "style" | "description" | "collectionFormat" => (Want::Text, None),
        "required" | "explode" | "allowReserved" => (Want::Bool, None),
        "schema" => (Want::Any, Some(Role::Schema)),
        "content" => (Want::Content, Some(Role::Media)),
        _ => return None,
    })
}

fn schema(key: &str) -> Expected {
    Some(match key {
        "title" | "description" | "format" | "contentEncoding" | "contentMediaType"
        | "collectionFormat" => (Want::Text, None),
        "nullable" | "x-nullable" | "readOnly" | "writeOnly" | "deprecated" | "uniqueItems"
        | "$recursiveAnchor" => (Want::Bool, None),
        "exclusiveMinimum" | "exclusiveMaximum" => (Want::Flag, None),
        "required" => (Want::Demands, None),
        "properties" | "patternProperties" | "dependentSchemas" | "$defs" | "definitions"
        | "dependencies" => (Want::Map, Some(Role::Schema)),
        "dependentRequired" => (Want::Map, None),
        "allOf" | "anyOf" | "oneOf" => (Want::List, Some(Role::Schema)),
        "examples" => (Want::Items, None),
        "additionalProperties"
        | "unevaluatedProperties"
        | "items"
        | "additionalItems"
        | "unevaluatedItems" => (Want::Schema, Some(Role::Schema)),
        "not" | "if" | "then" | "else" | "contains" | "propertyNames" | "contentSchema"
        | "prefixItems" | "extends" | "disallow" => (Want::Any, Some(Role::Schema)),
        "discriminator" => (Want::Kinds, None),
        _ => return None,
    })
}
