//! The socket's file, at the start and at the end.

use super::*;

fn config(folder: &tempfile::TempDir) -> Server {
    Server { socket: folder.path().join("s"), metrics: None, ..Server::default() }
}

#[tokio::test]
async fn what_a_killed_daemon_left_is_no_hindrance() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(&folder);
    drop(UnixListener::bind(&config.socket).unwrap());
    let stale = folder.path().join(format!(".switchboard-{}", std::process::id()));
    std::fs::create_dir(&stale).unwrap();
    drop(UnixListener::bind(stale.join("socket")).unwrap());
    let listeners = bind(&config).await.unwrap();
    assert!(!stale.exists());
    tokio::net::UnixStream::connect(&config.socket).await.unwrap();
    let refused = bind(&config).await.err().unwrap().to_string();
    assert!(refused.contains("another daemon answers"), "{refused}");
    drop(listeners);
}

#[tokio::test]
async fn only_the_own_socket_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(&folder);
    let listeners = bind(&config).await.unwrap();
    let made = listeners.made().unwrap();
    let aside = folder.path().join("aside");
    std::fs::rename(&config.socket, &aside).unwrap();
    std::fs::write(&config.socket, "another's").unwrap();
    made.remove();
    assert!(config.socket.exists());
    std::fs::rename(&aside, &config.socket).unwrap();
    made.remove();
    assert!(!config.socket.exists());
    made.remove();
}
