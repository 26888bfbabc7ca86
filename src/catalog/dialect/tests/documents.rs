//! Every tool of real API documents against every provider's rules.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{Dialect, checks};
use crate::catalog::dialect::export;
use crate::catalog::openapi::{self, Origin, Settings};
use crate::catalog::{Catalog, Tool};
use crate::schema::tests::tool;

/// Most bytes of a tool whose references are put in place: its schema, and what is said beside that.
const MOST: usize = (128 << 10) + (16 << 10);

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path
            .extension()
            .is_some_and(|end| ["json", "yaml", "yml"].iter().any(|known| end == *known))
        {
            found.push(path);
        }
    }
}

/// Small documents of the kinds that there are.
const KINDS: [&str; 3] = [
    r##"
openapi: 3.0.3
info: { title: Shelf, version: "1" }
servers: [{ url: "https://shelf.example" }]
paths:
  /books:
    get:
      operationId: list/books
      summary: Lists books by what is asked for.
      parameters:
        - { name: "filter[title]", in: query, schema: { type: string, nullable: true } }
        - { name: where, in: query, style: deepObject, explode: true, schema: { type: object, properties: { "a b": { type: integer, enum: [1, 2] } } } }
        - { name: $top, in: query, schema: { type: integer, minimum: 0, exclusiveMinimum: true } }
        - { name: X-Trace, in: header, schema: { type: string, pattern: '^\p{L}+$' } }
        - { name: tags, in: query, schema: { type: array, items: { type: string, enum: [a, b] } } }
      responses: { "200": { description: ok } }
    post:
      operationId: addBook
      summary: Adds a book with its chapters.
      requestBody:
        content:
          application/json:
            schema:
              oneOf: [ { $ref: "#/components/schemas/Paper" }, { $ref: "#/components/schemas/Sound" } ]
              discriminator: { propertyName: kind }
      responses: { "200": { description: ok } }
  /covers:
    post:
      operationId: addCover
      summary: Adds a picture.
      requestBody:
        content:
          multipart/form-data:
            schema: { type: object, required: [file], properties: { file: { type: string, format: binary }, meta: { $ref: "#/components/schemas/Meta" } } }
      responses: { "200": { description: ok } }
components:
  schemas:
    Meta: { type: object, additionalProperties: { $ref: "#/components/schemas/Meta" } }
    Chapter: { type: object, properties: { title: { type: string }, parts: { type: array, items: { $ref: "#/components/schemas/Chapter" } } } }
    Paper: { type: object, required: [kind], properties: { kind: { type: string, enum: [paper] }, chapters: { type: array, items: { $ref: "#/components/schemas/Chapter" } } } }
    Sound: { allOf: [ { $ref: "#/components/schemas/Paper" }, { type: object, properties: { minutes: { type: number, format: double } } } ] }
"##,
    r##"
openapi: 3.1.0
info: { title: Game, version: "1" }
servers: [{ url: "https://game.example" }]
paths:
  /moves/{row}:
    put:
      operationId: moves.put
      summary: Makes a move on the board.
      parameters: [{ name: row, in: path, required: true, schema: { type: [integer, string], minLength: 1 } }]
      requestBody:
        required: true
        content:
          application/json:
            schema:
              type: array
              prefixItems: [ { const: x }, { type: [number, "null"] } ]
              items: false
      responses: { "200": { description: ok } }
  /free:
    post:
      summary: Takes whatever is given.
      requestBody: { content: { application/json: { schema: { $ref: "#/components/schemas/Any" } } } }
      responses: { "200": { description: ok } }
components:
  schemas:
    Any: { anyOf: [ { type: string }, { type: array }, { type: object, patternProperties: { "^x": { $ref: "#/components/schemas/Any" } } } ] }
"##,
    r##"
openapi: 3.0.0
info: { title: Forms, version: "1" }
servers: [{ url: "https://forms.example" }]
paths:
  /send:
    post:
      operationId: send
      summary: Sends a form to its reader.
      requestBody:
        content:
          application/x-www-form-urlencoded:
            schema:
              type: object
              required: [To]
              properties: { To: { type: string }, "StartTime<": { type: string, format: date }, "StartTime>": { type: string, format: date }, "": { type: string } }
      responses: { "200": { description: ok } }
"##,
];

#[test]
fn every_tool_of_the_repository_meets_every_provider_s_rules() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut tools = Vec::new();
    for folder in ["policies", "tests/fixtures/policies"] {
        let catalog = Catalog::load(&root.join(folder), &|_| Some(String::new()));
        tools.extend(catalog.tools().iter().map(|tool| Tool::clone(tool)));
    }
    for text in KINDS {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("document.yaml");
        std::fs::write(&path, text).unwrap();
        let read = openapi::read(&Origin::File(path), &Settings::default());
        let report = &read.report;
        assert!(report.error.is_none() && report.skipped.is_empty(), "{report:#?}");
        tools.extend(read.found.into_iter().map(|one| Tool {
            name: one.name,
            description: one.draft.description,
            ..tool(one.draft.input_schema)
        }));
    }
    assert!(tools.len() > 10);
    for tool in &tools {
        for dialect in Dialect::ALL {
            super::export_well(tool, dialect);
        }
    }
}

#[test]
#[ignore = "wants API documents in the folder that SWITCHBOARD_DOCUMENTS names; run it by hand"]
#[expect(clippy::disallowed_methods, reason = "run by hand, with a folder that no repository has")]
fn every_tool_of_every_document_meets_every_provider_s_rules() {
    let folder =
        std::env::var("SWITCHBOARD_DOCUMENTS").expect("SWITCHBOARD_DOCUMENTS names a folder");
    let mut paths = Vec::new();
    files(Path::new(&folder), &mut paths);
    let (mut tools, mut strict, mut wrong) = (0, 0, Vec::new());
    let mut largest = BTreeMap::new();
    for path in paths {
        let mut settings = Settings::default();
        settings.servers.server = Some("https://api.example/v1".to_owned());
        let read = openapi::read(&Origin::File(path.clone()), &settings);
        for one in read.found {
            let mut tool = tool(one.draft.input_schema);
            (tool.name, tool.description) = (one.name, one.draft.description);
            tools += 1;
            for dialect in Dialect::ALL {
                let export = export(&tool, dialect);
                strict += usize::from(export.definition["function"]["strict"] == true);
                let size = export.definition.to_string().len();
                let most = largest.entry(dialect.as_str()).or_insert((0, String::new()));
                if size > most.0 {
                    *most = (size, tool.name.clone());
                }
                if dialect == Dialect::Gemini && size > MOST {
                    wrong.push(format!("{} {} has {size} bytes", path.display(), tool.name));
                }
                let broken = checks::check(&export.definition, dialect);
                if !broken.is_empty() && wrong.len() < 40 {
                    wrong.push(format!("{} {} {dialect}: {broken:?}", path.display(), tool.name));
                }
            }
        }
    }
    assert!(tools > 0, "no tool in `{folder}`");
    println!("{tools} tools, {strict} of them strict");
    println!("the largest: {largest:#?}");
    assert!(wrong.is_empty(), "of {tools} tools, {strict} strict:\n{}", wrong.join("\n"));
}
