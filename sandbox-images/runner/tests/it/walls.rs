//! Walls.

use crate::harness::{container, shell};

#[tokio::test]
async fn an_image_runs_a_call() {
    let flags = [
        "--tmpfs",
        "/tmp:size=16m,mode=1777",
        "-m",
        "64m",
        "--memory-swap",
        "64m",
        "--pids-limit",
        "32",
        "--cpus",
        "0.5",
    ];
    let mut sandbox = container("switchboard/python", &flags).await;
    println!("{:?}", sandbox.ready);
    let mut request = shell(
        "id; cat /proc/self/status | grep -E 'Cap|NoNew|Groups'; ls -l /proc/self/fd; cat /proc/1/environ; ls /proc/1/fd; kill -9 1; kill -STOP 1; python3 -c 'import json,ssl,sqlite3,time; print(ssl.OPENSSL_VERSION)'; python3 -X importtime -c 'import json' 2>&1 | tail -2; ulimit -a",
    );
    request.cwd = "/tmp".into();
    let ran = sandbox.call(&request, b"").await;
    println!(
        "{}\n{}\n{:?} {:?}",
        ran.text(),
        String::from_utf8_lossy(&ran.stderr),
        ran.report,
        ran.elapsed
    );
    println!("{:?}", sandbox.gone().await);
}
