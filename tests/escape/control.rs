//! Negative controls: the same attacking program in a container made without one of the defences. It
//! has to succeed there, else the probe shows nothing.

use serde_json::Value;

use crate::expect::compare;
use crate::program::{Control, Program};
use crate::site::{Site, image};

/// Runs a control; gives what went wrong.
pub(crate) fn run(site: &Site, program: &Program, control: &Control) -> Vec<String> {
    let input = site.input.to_string();
    let image = image();
    let runtime = format!("--runtime={}", site.runtime().name());
    let mut arguments = vec!["run", "--rm", "--network=none", &runtime];
    if control.flags.iter().any(|flag| flag.starts_with("--network")) {
        arguments.retain(|flag| *flag != "--network=none");
    }
    arguments.extend(control.flags.iter().map(String::as_str));
    arguments.extend([&*image, "python3", "-I", "-X", "utf8", "-c"]);
    arguments.extend([&*program.code, &*control.case, &*input]);
    let entry = "--entrypoint=";
    arguments.insert(1, entry);
    let output = site.engine.docker(&arguments);
    let Ok(found) = serde_json::from_slice::<Value>(&output.stdout) else {
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        return vec![format!("the control ended with {}: {told}", output.status)];
    };
    let mut faults = Vec::new();
    for (what, expected) in &control.observed {
        let found = found.get(what).unwrap_or(&Value::Null);
        compare(&format!("control/{what}"), expected, found, &mut faults);
    }
    faults
}
