//! A front on its way to its runs: what may pass is tried again, what a person has to mend is not.

use std::path::Path;
use std::sync::Arc;

use super::kit::{Bench, Model, PATIENCE, folder, models};
use crate::reason::{Config, Front, FrontPlace, Standing};

fn front(bench: &Bench, model: &Model, home: &Path) -> Front {
    let spending = Some(home.join("spent.db"));
    Front::start(FrontPlace {
        config: Config { path: Some(home.join("others.db")), ..Config::default() },
        models: crate::model::Config { spending, ..models(model) },
        context: Default::default(),
        policies: home.join("policies"),
        pipeline: Arc::clone(&bench.pipeline),
        desk: bench.desk.clone(),
        calls: bench.tasks.clone(),
        tasks: bench.tasks.clone(),
        stop: bench.stop.clone(),
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_the_daemon_before_still_has_is_waited_for() {
    let model = Model::new(Vec::new()).await;
    let home = folder();
    let bench = Bench::with(&model, Arc::clone(&home), Config::default()).await;
    let before = crate::config::claim(&home.path().join("spent.db")).unwrap();
    let front = front(&bench, &model, home.path());
    let mut standing = front.standing();
    let down = |now: &Standing| matches!(now, Standing::Down(why) if why.contains("spent.db"));
    let wait = standing.wait_for(down);
    drop(tokio::time::timeout(PATIENCE, wait).await.expect("it is not down").unwrap());
    drop(before);
    let wait = standing.wait_for(Standing::is_open);
    drop(tokio::time::timeout(PATIENCE, wait).await.expect("it is not open").unwrap());
    front.close();
    bench.drain().await;
}
