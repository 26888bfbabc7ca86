//! The worker tier: an operation of the order service, never from the cache, by many callers at once;
//! beside it the same operation asked of the service directly over as many connections.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::future::join_all;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use crate::daemon::{Daemon, request};
use crate::measure::{Samples, figure, processor, resident, row};
use crate::stage::{self, Orders};

const ROUNDS: usize = 3;
const CALLERS: usize = 16;
const ROUND: Duration = Duration::from_secs(6);
/// Before anything is timed.
const WARM_UP: Duration = Duration::from_secs(2);

pub async fn run() {
    let orders = Orders::start();
    let daemon = orders.admit(stage::setup()).start().await;
    let (mut rates, mut latency, mut used) =
        (Samples::default(), Samples::default(), Samples::default());
    let (mut p99, mut bare) = (Samples::default(), Samples::default());
    ours(&daemon, WARM_UP).await;
    for _ in 0..ROUNDS {
        let before = processor(daemon.pid());
        let seen = ours(&daemon, ROUND).await;
        let spent = processor(daemon.pid()) - before;
        used.add(spent.as_secs_f64() * 1e6 / seen.len() as f64);
        rates.add(seen.len() as f64 / ROUND.as_secs_f64());
        p99.add(seen.quantile(0.99));
        latency.extend(&seen);
        bare.add(directly(orders.port, ROUND / 3).await);
    }
    row("worker.callers", CALLERS, "callers");
    figure("worker.rate", rates.median(), "calls/s");
    figure("worker.rate_best", rates.most(), "calls/s");
    figure("worker.p50", latency.median(), "ms");
    figure("worker.p99", latency.quantile(0.99), "ms");
    figure("worker.p99_best", p99.least(), "ms");
    figure("worker.daemon_processor", used.median(), "us/call");
    figure("worker.resident", resident(daemon.pid()), "MiB");
    figure("worker.service_directly", bare.median(), "requests/s");
}

async fn ours(daemon: &Daemon, length: Duration) -> Samples {
    let seen = Arc::new(Mutex::new(Samples::default()));
    let (client, end) = (daemon.client().await, Instant::now() + length);
    let callers = (0..CALLERS).map(|_| {
        let (mut client, seen) = (client.clone(), Arc::clone(&seen));
        async move {
            while Instant::now() < end {
                let sent = Instant::now();
                let call = request("getOrderHistory", r#"{"order_id":"ORD-10001"}"#);
                let reply = stage::call(&mut client, call).await;
                assert!(reply.error.is_none(), "{}", reply.json);
                assert!(!reply.metadata.unwrap().cache_hit);
                seen.lock().unwrap().time(sent.elapsed());
            }
        }
    });
    join_all(callers).await;
    std::mem::take(&mut *seen.lock().unwrap())
}

/// Answers a second of the service itself.
async fn directly(port: u16, length: Duration) -> f64 {
    let end = Instant::now() + length;
    let callers = (0..CALLERS).map(|_| async move {
        let mut stream = BufReader::new(TcpStream::connect(("127.0.0.1", port)).await.unwrap());
        stream.get_ref().set_nodelay(true).unwrap();
        let mut answers = 0;
        while Instant::now() < end {
            answer(&mut stream).await;
            answers += 1;
        }
        answers
    });
    let answers: usize = join_all(callers).await.into_iter().sum();
    answers as f64 / length.as_secs_f64()
}

async fn answer(stream: &mut BufReader<TcpStream>) {
    let ask = "GET /orders/ORD-10001/history HTTP/1.1\r\nhost: orders\r\n\r\n";
    stream.write_all(ask.as_bytes()).await.unwrap();
    let (mut length, mut line) = (0, String::new());
    loop {
        line.clear();
        stream.read_line(&mut line).await.unwrap();
        let head = line.to_ascii_lowercase();
        if let Some(bytes) = head.strip_prefix("content-length:") {
            length = bytes.trim().parse().unwrap();
        }
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.unwrap();
}
