//! The bookkeeping of the pools, without an engine: who gets a container, who waits, who is refused.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio_util::task::TaskTracker;

use super::live::profile;
use super::parts::images;
use crate::call::Code;
use crate::catalog::Pool as Bounds;
use crate::sandbox::member::{Member, Registry, Waste};
use crate::sandbox::pool::demand::{Peak, Rate};
use crate::sandbox::pool::pace::Pace;
use crate::sandbox::pool::queue::Queue;
use crate::sandbox::pool::shares::Shares;
use crate::sandbox::pool::{Asked, Delivery, Pools, Step, Who};
use crate::sandbox::recipe::Recipe;
use crate::sandbox::{Config, Error, Lack};

#[path = "../../../tests/benches/trace.rs"]
#[expect(unreachable_pub, dead_code, reason = "shared with the benches")]
mod trace;

use trace::{Dice, trace};

const PATIENT: Duration = Duration::from_secs(3600);

fn who(name: &str) -> Who {
    Who::new(("default".to_owned(), name.to_owned()))
}

/// Pools with one kind of container, and what its containers need.
struct Yard {
    pools: Mutex<Pools>,
    recipe: Arc<Recipe>,
    registry: Arc<Registry>,
    room: Arc<Semaphore>,
    config: Config,
}

impl Yard {
    fn new(min: u32, queue: u32) -> (Self, mpsc::UnboundedReceiver<Waste>) {
        let recipe = Recipe::new(&profile("shell"), &images()).unwrap();
        let mut pools = Pools::new(Instant::now());
        let bounds = Bounds { min, max: min };
        drop(pools.furnish(vec![(recipe.clone(), bounds)], Instant::now()));
        let (waste, gone) = mpsc::unbounded_channel();
        let yard = Self {
            pools: Mutex::new(pools),
            recipe: Arc::new(recipe),
            registry: Registry::new(waste),
            room: Arc::new(Semaphore::new(1 << 20)),
            config: Config { creates: 2, queue, ..Config::default() },
        };
        (yard, gone)
    }

    fn make(&self) -> Box<Member> {
        let permit = Arc::clone(&self.room).try_acquire_owned().unwrap();
        Box::new(Member::for_test(&self.recipe, &self.registry, permit))
    }

    /// Makes containers until the pools want no more.
    fn fill(&self) {
        let mut now = Instant::now();
        loop {
            let step = self.pools.lock().unwrap().next(now);
            match step {
                Step::Make(..) => self.publish(),
                Step::Pause(pause) => now += pause + Duration::from_micros(1),
                Step::Rest => return,
            }
        }
    }

    fn publish(&self) {
        let made = self.make();
        drop(self.pools.lock().unwrap().publish(made));
    }

    fn ask(&self, who: &Who, patience: Duration) -> Result<Asked, Error> {
        self.pools.lock().unwrap().ask(&self.recipe, who, patience, &self.config)
    }

    fn wait(&self, who: &Who) -> oneshot::Receiver<Delivery> {
        match self.ask(who, PATIENT).unwrap() {
            Asked::Waiting(delivery) => delivery,
            Asked::Ready(taken) => panic!("{taken:?} was ready"),
        }
    }

    fn served(delivery: &mut oneshot::Receiver<Delivery>) -> bool {
        matches!(delivery.try_recv(), Ok(Ok(_)))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn ten_thousand_calls_at_once_get_each_container_exactly_once() {
    const CALLS: usize = 10_000;
    let (yard, mut gone) = Yard::new(16, 10_000);
    let yard = Arc::new(yard);
    let (tasks, handed) = (TaskTracker::new(), Arc::new(Mutex::new(Vec::new())));
    for number in 0..CALLS {
        let (yard, handed) = (Arc::clone(&yard), Arc::clone(&handed));
        tasks.spawn(async move {
            let who = who(&format!("caller {}", number % 7));
            let taken = match yard.ask(&who, PATIENT).unwrap() {
                Asked::Ready(taken) => taken,
                // Some go away while a container may be on its way to them.
                Asked::Waiting(delivery) if number % 5 == 0 => {
                    tokio::task::yield_now().await;
                    return drop(delivery);
                }
                Asked::Waiting(delivery) => delivery.await.unwrap().unwrap(),
            };
            handed.lock().unwrap().push(taken.member.id.clone());
        });
    }
    tasks.close();
    let maker = {
        let yard = Arc::clone(&yard);
        TaskTracker::new().spawn_blocking(move || {
            while !tasks.is_empty() {
                yard.fill();
                std::thread::yield_now();
            }
        })
    };
    maker.await.unwrap();
    let handed = std::mem::take(&mut *handed.lock().unwrap());
    let once: HashSet<&String> = handed.iter().collect();
    assert_eq!(once.len(), handed.len(), "a container was handed out twice");
    assert!(handed.len() >= CALLS * 4 / 5, "{}", handed.len());
    // Every container came to its end once, whether a call had it or nobody.
    drop(yard.pools.lock().unwrap().clear());
    let (mut ended, mut all) = (HashSet::new(), 0);
    while let Ok(Waste { name, .. }) = gone.try_recv() {
        all += 1;
        ended.insert(name);
    }
    assert_eq!(ended.len(), all);
    assert!(handed.iter().all(|id| ended.contains(id)));
    assert_eq!(yard.room.available_permits(), 1 << 20, "capacity comes back with every container");
}

#[tokio::test]
async fn a_container_sent_to_a_call_that_is_gone_is_in_use_until_it_is_waste() {
    let (yard, mut gone) = Yard::new(0, 8);
    let delivery = yard.wait(&who("a"));
    yard.publish();
    // It is on its way, and nobody has it: still it counts, or another would be made in its place.
    let used = |yard: &Yard| yard.pools.lock().unwrap().in_use(&yard.recipe.key);
    assert_eq!((used(&yard), gone.try_recv().is_err()), (1, true));
    drop(delivery);
    assert_eq!(used(&yard), 0);
    assert!(gone.try_recv().is_ok(), "it goes to the teardown, and to no other call");
    let mut next = yard.wait(&who("a"));
    assert!(next.try_recv().is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_container_that_is_due_is_either_handed_out_or_expired_never_both() {
    const TURNS: usize = 1000;
    let (yard, mut gone) = Yard::new(4, 8);
    let yard = Arc::new(yard);
    let (tasks, caller) = (TaskTracker::new(), who("a"));
    let (mut handed, mut expired) = (HashSet::new(), HashSet::new());
    for _ in 0..TURNS {
        yard.fill();
        let taking = {
            let (yard, caller) = (Arc::clone(&yard), Who::clone(&caller));
            tasks.spawn(async move { yard.ask(&caller, PATIENT) })
        };
        let expiring = {
            let yard = Arc::clone(&yard);
            tasks.spawn(
                async move { yard.pools.lock().unwrap().expire(Duration::ZERO, Instant::now()) },
            )
        };
        let (taken, old) = tokio::join!(taking, expiring);
        expired.extend(old.unwrap().into_iter().map(|member| member.id.clone()));
        if let Asked::Ready(taken) = taken.unwrap().unwrap() {
            assert!(handed.insert(taken.member.id.clone()), "handed out twice");
        }
    }
    assert!(handed.is_disjoint(&expired), "handed out and expired");
    drop(yard.pools.lock().unwrap().clear());
    let mut ended = HashSet::new();
    while let Ok(Waste { name, .. }) = gone.try_recv() {
        assert!(ended.insert(name), "ended twice");
    }
    assert!(handed.is_subset(&ended) && expired.is_subset(&ended), "each comes to its end");
    assert_eq!(yard.room.available_permits(), 1 << 20);
}

#[tokio::test]
async fn waiting_calls_are_served_in_turn_by_caller() {
    let (yard, _gone) = Yard::new(0, 64);
    let (many, few) = (who("many"), who("few"));
    let mut greedy: Vec<_> = (0..10).map(|_| yard.wait(&many)).collect();
    let mut modest: Vec<_> = (0..2).map(|_| yard.wait(&few)).collect();
    for _ in 0..4 {
        yard.publish();
    }
    assert!(modest.iter_mut().all(Yard::served), "two of four go to the caller who has two");
    assert_eq!(greedy.iter_mut().filter_map(|wait| wait.try_recv().ok()).count(), 2);
}

#[tokio::test]
async fn pools_in_which_calls_wait_take_turns() {
    let (yard, _gone) = Yard::new(0, 64);
    let small = {
        let mut small = profile("shell");
        small.limits.memory /= 2;
        Arc::new(Recipe::new(&small, &images()).unwrap())
    };
    let (many, few) = (who("many"), who("few"));
    let _long: Vec<_> = (0..10).map(|_| yard.wait(&many)).collect();
    let _short = yard.pools.lock().unwrap().ask(&small, &few, PATIENT, &yard.config).unwrap();
    let begun: Vec<_> = (0..2)
        .map(|step| {
            let now = Instant::now() + Duration::from_millis(step);
            match yard.pools.lock().unwrap().next(now) {
                Step::Make(recipe, true) => recipe.key.clone(),
                step => panic!("{step:?}"),
            }
        })
        .collect();
    assert!(begun.contains(&small.key), "one call waits as long as the first of ten");
}

#[tokio::test]
async fn a_caller_that_fills_the_queue_makes_room_for_another() {
    let (yard, _gone) = Yard::new(0, 4);
    let (many, few) = (who("many"), who("few"));
    let mut greedy: Vec<_> = (0..4).map(|_| yard.wait(&many)).collect();
    let full = yard.ask(&many, PATIENT).unwrap_err();
    assert!(matches!(full, Error::Busy { lack: Lack::Full { waiting: 4 }, .. }), "{full:?}");
    assert_eq!(full.failure().code, Code::RateLimited);
    assert!(full.failure().retry_after.is_some());
    let _first = yard.wait(&few);
    let displaced = greedy.pop().unwrap().try_recv().unwrap().unwrap_err();
    assert!(matches!(displaced, Error::Busy { lack: Lack::Share { .. }, .. }), "{displaced:?}");
    assert!(displaced.failure().retry_after.is_some());
    let _second = yard.wait(&few);
    // Two places each: nobody has a claim to more.
    for caller in [&many, &few] {
        assert!(yard.ask(caller, PATIENT).is_err());
    }
}

#[tokio::test]
async fn a_wait_that_cannot_end_in_time_is_refused_at_once_and_only_for_those_it_concerns() {
    let (yard, _gone) = Yard::new(0, 1000);
    let (many, few) = (who("many"), who("few"));
    let _greedy: Vec<_> = (0..40).map(|_| yard.wait(&many)).collect();
    let second = Duration::from_secs(1);
    let late = yard.ask(&many, second).unwrap_err();
    let Error::Busy { lack: Lack::Late { ahead, wait, .. }, retry_after } = &late else {
        panic!("{late:?}");
    };
    assert_eq!(*ahead, 40);
    assert!(*wait > second && retry_after == wait, "{late:?}");
    // Another caller is served after one of the greedy one's.
    assert!(yard.ask(&few, second).is_ok());
}

#[tokio::test]
async fn a_caller_alone_may_take_the_whole_reserve_and_beside_others_its_share() {
    let (yard, _gone) = Yard::new(8, 64);
    let (many, few) = (who("many"), who("few"));
    yard.fill();
    let held: Vec<_> = (0..8).map(|_| yard.ask(&many, PATIENT).unwrap()).collect();
    assert!(held.iter().all(|asked| matches!(asked, Asked::Ready(_))), "alone it takes all");
    drop(held);
    yard.fill();
    // Another caller is seen, and one is then left for it.
    drop(yard.ask(&few, PATIENT));
    yard.fill();
    let asked: Vec<_> = (0..12).map(|_| yard.ask(&many, PATIENT).unwrap()).collect();
    let ready = asked.iter().filter(|asked| matches!(asked, Asked::Ready(_))).count();
    assert_eq!(ready, 7, "one is kept");
    assert!(matches!(yard.ask(&few, PATIENT), Ok(Asked::Ready(_))));
    assert!(matches!(yard.ask(&few, PATIENT), Ok(Asked::Waiting(_))), "the reserve is empty");
}

proptest! {
    /// Nothing is lost or doubled; a caller's calls keep their order; and while two callers wait,
    /// neither is served twice before the other once.
    #[test]
    fn the_queue_serves_callers_in_turn(steps in prop::collection::vec(0..8_usize, 1..200)) {
        let callers = ["a", "b", "c", "d", "e"].map(who);
        let (mut queue, mut lines) = (Queue::default(), HashMap::<Who, Vec<usize>>::new());
        let mut since: HashMap<Who, HashSet<Who>> = HashMap::new();
        for (number, step) in steps.into_iter().enumerate() {
            if let Some(caller) = callers.get(step) {
                let ahead = queue.ahead(caller);
                prop_assert!(ahead <= queue.len());
                queue.push(caller, number);
                lines.entry(Who::clone(caller)).or_default().push(number);
            } else if let Some((caller, item)) = queue.pop() {
                prop_assert_eq!(lines.get_mut(&caller).unwrap().remove(0), item);
                for (other, line) in &lines {
                    let served = since.entry(Who::clone(other)).or_default();
                    if *other == caller || line.is_empty() {
                        served.clear();
                    } else {
                        prop_assert!(served.insert(Who::clone(&caller)), "served twice before");
                    }
                }
            }
            prop_assert_eq!(queue.len(), lines.values().map(Vec::len).sum::<usize>());
        }
        let mut left = queue.take();
        let mut all: Vec<usize> = lines.into_values().flatten().collect();
        left.sort_unstable();
        all.sort_unstable();
        prop_assert_eq!(left, all);
    }

    /// A full queue never drives out the last call of a caller, nor makes a line shorter than the
    /// newcomer's.
    #[test]
    fn a_full_queue_is_shared(calls in prop::collection::vec(0..4_usize, 1..200), room in 1..20_usize) {
        let callers = ["a", "b", "c", "d"].map(who);
        let mut queue = Queue::default();
        for caller in calls.iter().map(|at| &callers[*at]) {
            let lengths = callers.each_ref().map(|caller| queue.of(caller));
            if queue.len() < room {
                queue.push(caller, ());
            } else if queue.displace(caller).is_some() {
                queue.push(caller, ());
                let longest = callers.iter().map(|caller| queue.of(caller)).max().unwrap();
                prop_assert!(queue.of(caller) <= longest);
            } else {
                let longest = lengths.into_iter().max().unwrap();
                prop_assert!(longest <= queue.of(caller) + 1, "it had a claim");
            }
            prop_assert!(queue.len() <= room);
            for (caller, before) in callers.iter().zip(lengths) {
                prop_assert!(before == 0 || queue.of(caller) > 0, "a caller lost its last place");
            }
        }
    }

    /// Whatever one caller takes, each other one of late finds a container as long as there are as
    /// many as callers; and a caller alone is never held back.
    #[test]
    fn a_flood_leaves_the_others_their_share(
        size in 1..24_usize,
        others in 0..4_usize,
        flood in 0..64_usize,
    ) {
        let now = Instant::now();
        let (mut shares, many) = (Shares::default(), who("many"));
        let others: Vec<Who> = (0..others).map(|at| who(&at.to_string())).collect();
        for caller in &others {
            shares.wait(caller, now);
        }
        let mut ready = size;
        let mut got = 0;
        for _ in 0..flood {
            if ready > 0 && shares.may(&many, ready, size, now) {
                shares.take(&many, now);
                (ready, got) = (ready - 1, got + 1);
            }
        }
        let equal = size / (others.len() + 1);
        prop_assert!(got >= flood.min(equal), "its own share is always there");
        prop_assert!(got >= flood.min(size.saturating_sub(others.len())), "and what is not kept");
        if others.is_empty() {
            prop_assert_eq!(got, flood.min(size));
        }
        for caller in others.iter().filter(|_| size > others.len()) {
            prop_assert!(ready > 0 && shares.may(caller, ready, size, now));
            shares.take(caller, now);
            ready -= 1;
        }
        let late = now + Duration::from_secs(300);
        prop_assert!(shares.active(now) >= others.len());
        prop_assert_eq!(shares.active(late), 0);
        let taken = shares.taken();
        prop_assert_eq!(taken, size - ready);
        for left in (0..taken).rev() {
            shares.replace();
            prop_assert_eq!(shares.taken(), left);
        }
    }
}

#[test]
fn the_refill_keeps_pace_with_the_calls_and_gains_on_them() {
    let begun = Instant::now();
    let mut pace = Pace::new(begun);
    let arrivals = 4.0;
    let (mut now, mut made) = (begun, 0_u32);
    while now < begun + Duration::from_secs(10) {
        match pace.take(arrivals, now) {
            Ok(()) => made += 1,
            Err(pause) => now += pause + Duration::from_micros(1),
        }
    }
    assert!((55..=65).contains(&made), "{made} for 40 calls");
    let mut rate = Rate::new(begun);
    for call in 0..200_u32 {
        rate.see(begun + Duration::from_millis(250) * call);
    }
    let seen = rate.per_second(begun + Duration::from_secs(50));
    assert!((3.0..5.0).contains(&seen), "{seen} calls a second, not 4");
    assert!(rate.per_second(begun + Duration::from_secs(200)) < 0.01);
}

/// A pool in numbers: containers take `LAUNCH` to make, two at a time, and `forecast` says how many
/// are to be ready. Gives the part of the calls that found one, and the mean number ready.
fn replay(load: f64, mut forecast: impl FnMut(f64, usize) -> usize) -> (f64, f64) {
    const LAUNCH: f64 = 0.3;
    let mut calls = trace(7, 4000);
    let gap = LAUNCH / 2.0 / load;
    calls.iter_mut().for_each(|call| call.at *= gap);
    let (mut ready, mut starting, mut unreplaced) = (2_usize, Vec::<f64>::new(), 0_usize);
    let (mut hits, mut area, mut last, mut late) = (0_u32, 0.0, 0.0, 0_usize);
    let mut calls = calls.into_iter().peekable();
    loop {
        let next = starting.iter().copied().fold(f64::INFINITY, f64::min);
        let call = calls.peek().map_or(f64::INFINITY, |call| call.at);
        let now = next.min(call);
        if now.is_infinite() {
            break;
        }
        area += f64::from(u32::try_from(ready).unwrap()) * (now - last);
        last = now;
        if next <= call {
            starting.retain(|at| *at > next);
            if late > 0 {
                late -= 1;
            } else {
                ready += 1;
                unreplaced = unreplaced.saturating_sub(1);
            }
        } else {
            calls.next();
            if ready > 0 {
                ready -= 1;
                unreplaced += 1;
                hits += 1;
            } else {
                late += 1;
            }
        }
        let target = forecast(now, unreplaced + late).clamp(2, 16);
        while starting.len() < 2 && ready + starting.len() < target + late {
            starting.push(now + LAUNCH);
        }
    }
    (f64::from(hits) / 4000.0, area / last)
}

#[test]
fn no_cleverer_forecast_beats_the_peak_hold() {
    let begun = Instant::now();
    let at = |seconds: f64| begun + Duration::from_secs_f64(seconds);
    for load in [0.25, 0.5] {
        let mut peak = Peak::new(begun);
        let held = replay(load, |now, demand| {
            peak.see(demand, at(now));
            peak.height() + 1
        });
        println!("load {load}: peak hold {held:?}");
        assert!(held.0 >= 0.99, "{held:?}");
        for factor in 1..=8_u32 {
            // As many as arrive, on the average, during so many launches.
            let (mut rate, mut last) = (Rate::new(begun), 0);
            let smooth = replay(load, |now, demand| {
                if demand > last {
                    rate.see(at(now));
                }
                last = demand;
                let expected = rate.per_second(at(now)) * 0.3 * f64::from(factor);
                let whole = (1..17_u32).take_while(|n| f64::from(*n) <= expected).count();
                whole + 1
            });
            println!("load {load}: average of {factor} launches {smooth:?}");
            assert!(smooth.0 <= held.0 || smooth.1 >= held.1, "{factor}: {smooth:?}, {held:?}");
        }
    }
}

#[test]
fn dice_are_fair() {
    let mut dice = Dice::new(1);
    let mean: f64 = (0..10_000).map(|_| dice.pause(2.0)).sum::<f64>() / 10_000.0;
    assert!((1.9..2.1).contains(&mean), "{mean}");
}
