//! What the access lists of collections alone give to a caller, as if no policy said less.

use crate::admission::Caller;
use crate::memory::{Collections, Rights};

pub(in crate::memory) fn rights(caller: &Caller, collections: &Collections) -> Rights {
    let names = |list: fn(&crate::memory::collection::Access) -> &Vec<String>| {
        let open = |entry: &String| match entry.split_once(':') {
            None => entry == "any",
            Some(("caller", name)) => caller.name == name,
            Some(("role", role)) => caller.roles.iter().any(|one| one == role),
            Some(_) => false,
        };
        let may = collections.iter().filter(|one| list(&one.access).iter().any(open));
        may.map(|one| one.name.clone()).collect()
    };
    Rights {
        caller: caller.clone(),
        read: names(|access| &access.read),
        write: names(|access| &access.write),
        review: names(|access| &access.review),
    }
}
