//! Are the files of a call those that its tool takes, and those it wants back those that the tool
//! gives. Looks at names, sizes and media types; opens nothing.

use serde_json::{Value, json};

use super::Violation;
use crate::call::{BadName, Call, File, check_names};
use crate::catalog::{Files, Give, Take, Tool};

/// What is wrong with the files of a call.
type Wrong = Box<Violation>;

fn fault<T>(kind: &str, message: String, expected: Value, got: Value) -> Result<T, Wrong> {
    Err(violation(kind, message, expected, got))
}

fn violation(kind: &str, message: String, expected: Value, got: Value) -> Wrong {
    let (pointer, kind) = (String::new(), kind.to_owned());
    Box::new(Violation { pointer, kind, message, expected, got })
}

/// Checks the files of `call` against what `tool` declares.
pub(super) fn check(tool: &Tool, call: &Call) -> Result<(), Wrong> {
    let Files { take, give, .. } = &tool.files;
    if !call.files.is_empty() {
        let Some(take) = take else {
            let message = format!("`{}` takes no files; send the call without", tool.name);
            return fault("files", message, json!(0), json!(call.files.len()));
        };
        check_count(call.files.len(), take.count, "to send")?;
        check_names(call.files.iter().map(|file| &file.facts.name)).map_err(misnamed)?;
        check_taken(take, &call.files)?;
    }
    if !call.output_files.is_empty() {
        let Some(give) = give else {
            let message = format!("`{}` gives no files; ask for none", tool.name);
            return fault("output_files", message, json!(0), json!(call.output_files.len()));
        };
        check_count(call.output_files.len(), give.count, "to get")?;
        check_names(&call.output_files).map_err(misnamed)?;
        check_wanted(give, &call.output_files)?;
    }
    Ok(())
}

fn check_count(count: usize, most: u32, what: &str) -> Result<(), Wrong> {
    if u32::try_from(count).is_ok_and(|count| count <= most) {
        return Ok(());
    }
    let message = format!("{count} files are too many {what}; at most {most}");
    fault("file_count", message, json!(most), json!(count))
}

/// Says for a model what is wrong with the name of a file.
fn misnamed(bad: BadName<'_>) -> Wrong {
    let (message, got) = match bad {
        BadName::Illegal(name) => {
            let shown: String = name.chars().take(200).collect();
            let message = format!(
                "{} is no name of a file; use 1 to 128 characters of `A-Z a-z 0-9 . _ -`, the first \
                 no `.` or `-`, the last no `.`",
                json!(shown)
            );
            (message, json!(shown))
        }
        BadName::Twice(name) => (
            format!("`{name}` is there twice, whatever the case; name each file apart"),
            json!(name),
        ),
    };
    violation("file_name", message, Value::Null, got)
}

fn check_taken(take: &Take, files: &[File]) -> Result<(), Wrong> {
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

fn check_wanted(give: &Give, wanted: &[String]) -> Result<(), Wrong> {
    let unknown = |name: &&String| !give.names.is_empty() && !give.names.contains(name);
    if let Some(name) = wanted.iter().find(unknown) {
        let message = format!("there is no file `{name}`; there is {}", give.names.join(", "));
        return fault("output_files", message, json!(give.names), json!(name));
    }
    Ok(())
}
