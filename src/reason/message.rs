//! Messages between agents, and the check without which none travels on.
