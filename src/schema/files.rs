//! Are the files of a call those that its tool takes, and those it wants back those that the tool
//! gives. Looks at names, sizes and media types; opens nothing.

use serde_json::{Value, json};

use crate::call::{Call, File, is_file_name};
use crate::catalog::{Files, Give, Take, Tool};

/// What is wrong with the files of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct FileFault {
    /// Stable name of the rule.
    pub kind: &'static str,
    /// One line that says what to do.
    pub message: String,
    /// What would fit.
    pub expected: Value,
    /// What came.
    pub got: Value,
}

fn fault<T>(
    kind: &'static str,
    message: String,
    expected: Value,
    got: Value,
) -> Result<T, FileFault> {
    Err(FileFault { kind, message, expected, got })
}

/// Checks the files of `call` against what `tool` declares.
pub(super) fn check(tool: &Tool, call: &Call) -> Result<(), FileFault> {
    let Files { take, give, .. } = &tool.files;
    if !call.files.is_empty() {
        let Some(take) = take else {
            let message = format!("`{}` takes no files; send the call without", tool.name);
            return fault("files", message, json!(0), json!(call.files.len()));
        };
        check_names(call.files.iter().map(|file| &file.facts.name))?;
        check_taken(take, &call.files)?;
    }
    if !call.output_files.is_empty() {
        let Some(give) = give else {
            let message = format!("`{}` gives no files; ask for none", tool.name);
            return fault("output_files", message, json!(0), json!(call.output_files.len()));
        };
        check_names(call.output_files.iter())?;
        check_wanted(give, &call.output_files)?;
    }
    Ok(())
}

/// Each name is allowed, and none is there twice, whatever the case.
fn check_names<'n>(names: impl Iterator<Item = &'n String>) -> Result<(), FileFault> {
    let mut seen: Vec<String> = Vec::new();
    for name in names {
        let shown: String = name.chars().take(200).collect();
        if !is_file_name(name) {
            let message = format!(
                "{} is no name of a file; use 1 to 128 characters of `A-Z a-z 0-9 . _ -`, the first \
                 no `.` or `-`, the last no `.`",
                json!(shown)
            );
            return fault("file_name", message, Value::Null, json!(shown));
        }
        let folded = name.to_ascii_lowercase();
        if seen.contains(&folded) {
            let message =
                format!("`{name}` is there twice, whatever the case; name each file apart");
            return fault("file_name", message, Value::Null, json!(name));
        }
        seen.push(folded);
    }
    Ok(())
}

fn check_taken(take: &Take, files: &[File]) -> Result<(), FileFault> {
    if u32::try_from(files.len()).is_ok_and(|count| count > take.count) {
        let message = format!("{} files are too many; at most {}", files.len(), take.count);
        return fault("file_count", message, json!(take.count), json!(files.len()));
    }
    let bytes: u64 = files.iter().map(|file| file.facts.bytes).sum();
    if bytes > take.bytes {
        let message = format!("the files have {bytes} bytes; at most {} in all", take.bytes);
        return fault("file_bytes", message, json!(take.bytes), json!(bytes));
    }
    for file in files {
        let (name, media_type) = (&file.facts.name, &file.facts.media_type);
        let shown: String = media_type.chars().take(100).collect();
        if !take.allows(media_type) {
            let message = format!(
                "`{name}` is {}, which is not taken; {} is",
                json!(shown),
                take.media_types.join(" or ")
            );
            return fault("file_media_type", message, json!(take.media_types), json!(shown));
        }
        if !file.is_plausible() {
            let message =
                format!("the content of `{name}` is not {media_type}; send it as what it is");
            return fault("file_content", message, json!(media_type), json!(file.detected()));
        }
    }
    Ok(())
}

fn check_wanted(give: &Give, wanted: &[String]) -> Result<(), FileFault> {
    if u32::try_from(wanted.len()).is_ok_and(|count| count > give.count) {
        let message = format!("{} files are too many to get; at most {}", wanted.len(), give.count);
        return fault("file_count", message, json!(give.count), json!(wanted.len()));
    }
    let unknown = |name: &&String| !give.names.is_empty() && !give.names.contains(name);
    if let Some(name) = wanted.iter().find(unknown) {
        let message = format!("there is no file `{name}`; there is {}", give.names.join(", "));
        return fault("output_files", message, json!(give.names), json!(name));
    }
    Ok(())
}
