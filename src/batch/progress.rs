//! How far a batch has come: a plan in, then one call after the other that may begin, or is left out,
//! out. It runs nothing.

use super::Plan;

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// All that this call refers to has succeeded: it may begin.
    Run(usize),
    /// This call is left out.
    Skip(usize, Because),
}

/// Why a call is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Because {
    /// This call, to which it refers, failed or was left out.
    Failed(usize),
    /// Nothing is begun any more, since this call failed.
    Stopped(usize),
    /// Nothing is begun any more: the caller cancelled the batch, or went away.
    Cancelled,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    Begun,
    Succeeded,
    Failed,
}

/// The state of each call.
#[derive(Debug)]
pub struct Progress {
    needs: Vec<Vec<usize>>,
    states: Vec<State>,
    stopped: Option<Because>,
}

impl Progress {
    /// Nothing has begun.
    pub fn new(plan: &Plan) -> Self {
        let needs: Vec<Vec<usize>> =
            (0..plan.len()).map(|call| plan.needs(call).to_vec()).collect();
        Self { states: vec![State::Waiting; needs.len()], needs, stopped: None }
    }

    /// The first call that may begin now, or is left out. It counts as begun from here on.
    pub fn advance(&mut self) -> Option<Step> {
        let next = (0..self.states.len()).find_map(|call| self.look(call))?;
        let (Step::Run(call) | Step::Skip(call, _)) = &next;
        self.set(*call, State::Begun);
        Some(next)
    }

    fn look(&self, call: usize) -> Option<Step> {
        if self.states.get(call) != Some(&State::Waiting) {
            return None;
        }
        if let Some(because) = self.stopped {
            return Some(Step::Skip(call, because));
        }
        let needs = self.needs.get(call)?;
        let state = |need: &usize| self.states.get(*need).copied();
        if let Some(failed) = needs.iter().find(|need| state(need) == Some(State::Failed)) {
            return Some(Step::Skip(call, Because::Failed(*failed)));
        }
        let ready = needs.iter().all(|need| state(need) == Some(State::Succeeded));
        ready.then_some(Step::Run(call))
    }

    /// A call that had begun has ended, or was left out.
    pub fn end(&mut self, call: usize, success: bool) {
        self.set(call, if success { State::Succeeded } else { State::Failed });
    }

    /// Nothing begins from here on. The first reason stays.
    pub fn stop(&mut self, because: Because) {
        self.stopped.get_or_insert(because);
    }

    /// Why nothing begins any more.
    pub const fn stopped(&self) -> Option<Because> {
        self.stopped
    }

    fn set(&mut self, call: usize, state: State) {
        self.states.get_mut(call).into_iter().for_each(|slot| *slot = state);
    }
}
