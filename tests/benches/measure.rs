//! Figures: samples and their quantiles, a process's memory and processor time, rows, and a pacer.

use std::fmt::Display;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

/// Calls of a pacer in flight at once; beyond it the pace is not kept, which the rate then shows.
const IN_FLIGHT: usize = 256;

/// Prints one row.
pub fn row(name: &str, value: impl Display, unit: &str) {
    println!("{name}\t{value}\t{unit}");
}

/// Prints a fraction with as many places as matter.
pub fn figure(name: &str, value: f64, unit: &str) {
    row(name, format_args!("{value:.3}"), unit);
}

/// Values of one kind, in one unit.
#[derive(Debug, Clone, Default)]
pub struct Samples(Vec<f64>);

impl Samples {
    pub fn add(&mut self, value: f64) {
        self.0.push(value);
    }

    pub fn time(&mut self, took: Duration) {
        self.add(took.as_secs_f64() * 1000.0);
    }

    pub fn extend(&mut self, more: &Self) {
        self.0.extend(&more.0);
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The value below which `part` of the values lie; 0 gives the least.
    pub fn quantile(&self, part: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let rank = (part * sorted.len() as f64).ceil() as usize;
        sorted.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
    }

    pub fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len() as f64
    }

    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    pub fn least(&self) -> f64 {
        self.quantile(0.0)
    }

    pub fn most(&self) -> f64 {
        self.quantile(1.0)
    }
}

impl FromIterator<f64> for Samples {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}

/// What a pacer saw.
#[derive(Debug)]
pub struct Paced {
    /// Milliseconds from sending to answer.
    pub latency: Samples,
    /// Answers a second.
    pub rate: f64,
}

/// Sends `count` calls at `rate` a second, whether or not earlier ones were answered.
pub async fn pace<F, A>(rate: f64, count: usize, call: F) -> Paced
where
    F: Fn(usize) -> A + Send + 'static,
    A: Future<Output = ()> + Send + 'static,
{
    let latency = Arc::new(Mutex::new(Samples::default()));
    let (seen, tasks) = (Arc::clone(&latency), TaskTracker::new());
    let (runtime, tracker) = (tokio::runtime::Handle::current(), tasks.clone());
    let begun = Instant::now();
    // A thread of its own: the runtime's timer has a grain of a millisecond.
    let sender = std::thread::spawn(move || {
        let room = Arc::new(Semaphore::new(IN_FLIGHT));
        for number in 0..count {
            let due = begun + Duration::from_secs_f64(number as f64 / rate);
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            let permit = runtime.block_on(Arc::clone(&room).acquire_owned()).unwrap();
            let (answer, seen, sent) = (call(number), Arc::clone(&seen), Instant::now());
            let timed = async move {
                answer.await;
                seen.lock().unwrap().time(sent.elapsed());
                drop(permit);
            };
            tracker.spawn_on(timed, &runtime);
        }
    });
    tokio::task::spawn_blocking(|| sender.join().unwrap()).await.unwrap();
    tasks.close();
    tasks.wait().await;
    let rate = count as f64 / begun.elapsed().as_secs_f64();
    let latency = std::mem::take(&mut *latency.lock().unwrap());
    assert_eq!(latency.len(), count, "a call did not come back");
    Paced { latency, rate }
}

/// A size in `/proc/PID/status`, in MiB; `None` once the process has ended.
fn size(pid: u32, key: &str) -> Option<f64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find(|line| line.starts_with(key))?;
    let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024.0)
}

/// Resident memory in MiB.
pub fn resident(pid: u32) -> f64 {
    size(pid, "VmRSS:").unwrap()
}

/// Highest resident memory in MiB since the process began, or since [`forget_peak`]; `None` once it
/// has ended.
pub fn peak(pid: u32) -> Option<f64> {
    size(pid, "VmHWM:")
}

/// Lets the peak begin anew.
pub fn forget_peak(pid: u32) {
    std::fs::write(format!("/proc/{pid}/clear_refs"), "5").unwrap();
}

/// Processor time that a process has used, also in threads that have ended, to a hundredth of a second.
pub fn spent(pid: u32) -> Duration {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    // The name, which stands before them in parentheses, may hold spaces.
    let rest = text.rsplit(')').next().unwrap();
    let ticks = rest.split_whitespace().skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap());
    Duration::from_millis(ticks.sum::<u64>() * 10)
}

/// Processor time that a process has used, over all its threads that are there.
pub fn processor(pid: u32) -> Duration {
    let mut nanos = 0;
    for thread in std::fs::read_dir(format!("/proc/{pid}/task")).unwrap() {
        // A thread may end meanwhile.
        let text = std::fs::read_to_string(thread.unwrap().path().join("schedstat"));
        nanos +=
            text.map_or(0, |text| text.split_whitespace().next().unwrap().parse::<u64>().unwrap());
    }
    Duration::from_nanos(nanos)
}
