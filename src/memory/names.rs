//! The names of kinds, origins, layers, states and stages, as JSON, the wire and the policies have them.

use super::store::Stage;
use super::unit::{End, Kind, Layer, Origin, State};

impl Kind {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Knowledge => "knowledge",
            Self::Case => "case",
            Self::Preference => "preference",
            Self::Result => "result",
        }
    }
}

impl Origin {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Curator => "curator",
            Self::Person => "person",
            Self::Model => "model",
            Self::Tool => "tool",
            Self::File => "file",
            Self::Web => "web",
        }
    }
}

impl Layer {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Curated => "curated",
            Self::Notes => "notes",
        }
    }
}

impl State {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Held => "held",
            Self::Quarantined => "quarantined",
            Self::Rejected => "rejected",
            Self::Archived => "archived",
        }
    }
}

impl End {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Replaced => "replaced",
            Self::Superseded => "superseded",
            Self::Forgotten => "forgotten",
            Self::Merged => "merged",
            Self::Expired => "expired",
        }
    }
}

impl Stage {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Stored => "stored",
            Self::Unchanged => "unchanged",
            Self::Outdated => "outdated",
            Self::Held => "held",
            Self::Quarantined => "quarantined",
            Self::Refused => "refused",
        }
    }

    /// Whether nothing more becomes of the write by itself.
    pub const fn is_last(self) -> bool {
        !matches!(self, Self::Accepted)
    }
}
