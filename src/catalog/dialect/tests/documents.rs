//! Every tool of real API documents against every provider's rules.

use std::path::{Path, PathBuf};

use super::{Dialect, checks};
use crate::catalog::dialect::export;
use crate::catalog::openapi::{self, Origin, Settings};
use crate::schema::tests::tool;

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

#[test]
#[ignore = "wants API documents in the folder that SWITCHBOARD_DOCUMENTS names; run it by hand"]
#[expect(clippy::disallowed_methods, reason = "run by hand, with a folder that no repository has")]
fn every_tool_of_every_document_meets_every_provider_s_rules() {
    let folder =
        std::env::var("SWITCHBOARD_DOCUMENTS").expect("SWITCHBOARD_DOCUMENTS names a folder");
    let mut paths = Vec::new();
    files(Path::new(&folder), &mut paths);
    let (mut tools, mut strict, mut wrong) = (0, 0, Vec::new());
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
                let broken = checks::check(&export.definition, dialect);
                if !broken.is_empty() && wrong.len() < 40 {
                    wrong.push(format!("{} {} {dialect}: {broken:?}", path.display(), tool.name));
                }
            }
        }
    }
    assert!(tools > 0, "no tool in `{folder}`");
    println!("{tools} tools, {strict} of them strict");
    assert!(wrong.is_empty(), "of {tools} tools, {strict} strict:\n{}", wrong.join("\n"));
}
