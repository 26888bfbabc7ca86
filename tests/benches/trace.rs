//! A trace of calls as an agent's work makes them: arrivals at random, now and then a burst of one
//! caller, several callers of unequal weight and several pools. A seed in, the same trace out.

/// Callers, by their share of the calls in sixteenths.
const CALLERS: [u64; 3] = [9, 5, 2];
/// Pools, by their share of the calls in sixteenths.
const POOLS: [u64; 3] = [10, 4, 2];
/// One arrival in so many brings a burst.
const BURSTS: u64 = 16;
/// Calls that a burst adds, at least and at most.
const ADDED: (u64, u64) = (2, 4);
/// Mean time between two calls of a burst, as a part of the mean time between two arrivals.
const HURRY: f64 = 0.1;

/// One call of a trace.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    /// When, in mean times between two calls of the whole trace.
    pub at: f64,
    /// Whose, from 0.
    pub caller: usize,
    /// Of which pool, from 0.
    pub pool: usize,
}

/// Numbers that look random: splitmix64.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub const fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub const fn below(&mut self, bound: u64) -> u64 {
        self.roll() % bound
    }

    /// A number above 0, at most 1.
    pub fn part(&mut self) -> f64 {
        let digits = u32::try_from(self.roll() >> 32).unwrap_or(0);
        (f64::from(digits) + 1.0) / (f64::from(u32::MAX) + 1.0)
    }

    /// A pause before the next event of a process without memory, with this mean.
    pub fn pause(&mut self, mean: f64) -> f64 {
        -self.part().ln() * mean
    }

    /// One of several by their weights.
    pub fn choose(&mut self, weights: &[u64]) -> usize {
        let mut left = self.below(weights.iter().sum());
        weights
            .iter()
            .position(|weight| {
                let hit = left < *weight;
                left = left.saturating_sub(*weight);
                hit
            })
            .unwrap_or(0)
    }
}

/// `count` calls.
pub fn trace(seed: u64, count: usize) -> Vec<Arrival> {
    let mut dice = Dice::new(seed);
    let (mut calls, mut at) = (Vec::new(), 0.0);
    while calls.len() < count {
        at += dice.pause(1.0);
        let (caller, pool) = (dice.choose(&CALLERS), dice.choose(&POOLS));
        calls.push(Arrival { at, caller, pool });
        if dice.below(BURSTS) == 0 {
            let added = ADDED.0 + dice.below(ADDED.1 - ADDED.0 + 1);
            let mut then = at;
            for _ in 0..added {
                then += dice.pause(HURRY);
                calls.push(Arrival { at: then, caller, pool });
            }
        }
    }
    calls.truncate(count);
    calls.sort_by(|a, b| a.at.total_cmp(&b.at));
    let last = calls.last().map_or(1.0, |call| call.at);
    let stretch = f64::from(u32::try_from(count).unwrap_or(u32::MAX)) / last;
    calls.iter_mut().for_each(|call| call.at *= stretch);
    calls
}
