//! Tools that never stop writing: each is stopped at its output cap, and the daemon's memory does not
//! grow with what it wrote.

use std::collections::BTreeSet;

use crate::measure::{figure, forget_peak, peak, resident, row};
use crate::stage;

const TIMES: usize = 6;
/// `yes`, the same on standard error, and 1 GiB without a line feed.
const FLOODS: [(&str, &str); 3] = [
    ("yes", "yes"),
    ("stderr", "yes >&2"),
    ("one_line", "head -c 1073741824 /dev/zero | tr '\\0' x"),
];

pub async fn run() -> bool {
    let daemon = stage::setup().start().await;
    let mut client = daemon.client().await;
    let pid = daemon.pid();
    // The first calls pay for what every later one shares.
    for _ in 0..10 {
        stage::call(&mut client, stage::script("echo hello")).await;
    }
    let (begun, mut right) = (resident(pid), true);
    for (name, flood) in FLOODS {
        let before = resident(pid);
        forget_peak(pid);
        let mut codes = BTreeSet::new();
        for _ in 0..TIMES {
            let reply = stage::call(&mut client, stage::script(flood)).await;
            codes.insert(reply.error.unwrap_or_default().code);
        }
        right &= codes == BTreeSet::from(["OUTPUT_LIMIT".to_owned()]);
        let codes: Vec<String> = codes.into_iter().collect();
        row(&format!("flood.{name}.verdict"), codes.join(","), "code");
        figure(&format!("flood.{name}.growth"), peak(pid).unwrap() - before, "MiB");
    }
    figure("flood.resident_before", begun, "MiB");
    figure("flood.growth", resident(pid) - begun, "MiB");
    right
}
