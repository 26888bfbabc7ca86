//! Files that go into a sandbox and come out of it, and what must not come out.

use std::time::Duration;

use switchboard_runner::{Exit, Given, Refused, Request, Taken};

use crate::harness::{Ran, collect, container, namespace, shell};

/// A script that gives the named files.
fn giving(script: &str, names: &[&str]) -> Request {
    let mut request = shell(script);
    request.give = names.iter().map(|name| (*name).to_owned()).collect();
    request.give_bytes = 100_000;
    request
}

async fn give(script: &str, names: &[&str]) -> Ran {
    namespace().await.call(&giving(script, names), b"").await
}

fn whole(name: &str, bytes: u64) -> Given {
    Given { name: name.into(), bytes, refused: None }
}

fn refused(ran: &Ran) -> Vec<Refused> {
    ran.report().given.iter().filter_map(|given| given.refused.clone()).collect()
}

#[tokio::test]
async fn files_go_in_and_come_out_byte_for_byte() {
    let mut request = giving("cat in/a in/b > out/both; cp in/empty out/empty", &["both", "empty"]);
    request.take = [("a", 70_000), ("empty", 0), ("b", 20_000)]
        .map(|(name, bytes)| Taken { name: name.into(), bytes })
        .to_vec();
    let content: Vec<u8> = (0..90_000_u32).map(|n| n.to_le_bytes()[0]).collect();
    let mut sandbox = namespace().await;
    let ran = sandbox.call_with(&request, &content, b"").await;
    assert_eq!(ran.report().exit, Exit::Code(0), "{}", String::from_utf8_lossy(&ran.stderr));
    assert_eq!(ran.report().given, [whole("both", 90_000), whole("empty", 0)]);
    assert!(ran.given == content);
    assert!(sandbox.gone().await.success());
}

#[tokio::test]
async fn a_tool_can_read_its_files_and_change_nothing_about_them() {
    let mut request = shell(
        "stat -c '%a %u' in in/a; echo more >> in/a; rm -f in/a; mv in moved; chmod +x in/a; \
         in/a; rmdir out; ls -d out 2>/dev/null; cat in/a",
    );
    request.take = vec![Taken { name: "a".into(), bytes: 18 }];
    let ran = namespace().await.call_with(&request, b"#!/bin/sh\necho ran", b"").await;
    assert_eq!(ran.text(), "755 0\n444 0\n#!/bin/sh\necho ran");
}

#[tokio::test]
async fn what_is_no_plain_file_is_refused_with_its_kind() {
    let script = "echo real > out/real; ln -s real out/link; ln -s /etc/passwd out/host; \
                  ln out/real out/second; mkfifo out/pipe; mkdir out/folder; \
                  ln -s /nowhere out/broken";
    let names = ["link", "host", "real", "second", "pipe", "folder", "broken", "absent"];
    let ran = give(script, &names).await;
    let kind = |what: &str| Refused::NotRegular(what.into());
    let link = || kind("a symbolic link");
    let expected = [
        link(),
        link(),
        Refused::Linked,
        Refused::Linked,
        kind("a FIFO"),
        kind("a folder"),
        link(),
        Refused::Missing,
    ];
    assert_eq!(refused(&ran), expected, "{}", String::from_utf8_lossy(&ran.stderr));
    assert_eq!(ran.given, b"");
    assert!(ran.elapsed < Duration::from_secs(5), "nothing waits for a FIFO: {:?}", ran.elapsed);
}

#[tokio::test]
async fn sockets_are_refused_and_devices_cannot_be_made() {
    let script = "import os, socket\n\
                  socket.socket(socket.AF_UNIX).bind('out/socket')\n\
                  try: os.mknod('out/null', 0o600 | 0o020000, os.makedev(1, 3))\n\
                  except OSError as error: print(error.errno)";
    let mut request = giving("", &["socket", "null"]);
    request.argv = ["python3", "-c", script].map(Into::into).to_vec();
    request.cwd = "/tmp".into();
    let ran = container("switchboard/python", &["--tmpfs=/tmp:mode=1777,size=1m"])
        .await
        .call(&request, b"")
        .await;
    assert_eq!(ran.text(), "1\n", "{}", String::from_utf8_lossy(&ran.stderr));
    assert_eq!(refused(&ran), [Refused::NotRegular("a socket".into()), Refused::Missing]);
}

#[tokio::test]
async fn sizes_count_together_and_a_sparse_file_counts_in_full() {
    let script = "head -c 60000 /dev/zero > out/a; head -c 60000 /dev/zero > out/b; \
                  truncate -s 1G out/c; head -c 40000 /dev/zero > out/d";
    let ran = give(script, &["a", "b", "c", "d"]).await;
    let given = &ran.report().given;
    assert_eq!((&given[0], &given[3]), (&whole("a", 60_000), &whole("d", 40_000)));
    assert_eq!(refused(&ran), [Refused::TooLarge(60_000), Refused::TooLarge(1 << 30)]);
    assert_eq!(ran.given.len(), 100_000);
}

#[tokio::test]
async fn the_folder_is_the_one_that_was_there_at_the_start() {
    // The tool owns neither the folder nor the one above it, so it can only fail to swap them.
    let script = "mv out gone; rm -rf out; ln -s /etc out; echo real > out/passwd";
    let ran = give(script, &["passwd"]).await;
    assert_eq!(ran.report().given, [whole("passwd", 5)]);
    assert_eq!(ran.given, b"real\n");
}

#[tokio::test]
async fn a_file_that_is_private_to_the_tool_is_given_and_one_closed_to_it_is_not() {
    let ran =
        give("umask 077; echo mine > out/a; echo x > out/b; chmod 0 out/b", &["a", "b"]).await;
    assert_eq!(ran.given, b"mine\n");
    assert!(matches!(&refused(&ran)[..], [Refused::Unreadable(_)]), "{:?}", ran.report());
}

#[tokio::test]
async fn nothing_is_left_that_could_swap_a_file_while_it_is_read() {
    let script = "for n in 1 2 3; do sh -c 'while :; do \
                  echo fine > out/n$$; mv out/n$$ out/a; ln -s /etc/passwd out/l$$; \
                  mv out/l$$ out/a; done' & done; while [ ! -e out/a ]; do :; done; exit 0";
    for _ in 0..10 {
        let mut request = giving(script, &["a"]);
        request.cwd = "/tmp".into();
        let flags = ["--tmpfs=/tmp:mode=1777,size=1m", "--pids-limit=64"];
        let ran = container("switchboard/shell", &flags).await.call(&request, b"").await;
        assert_eq!(ran.report().exit, Exit::Code(0), "{:?}", ran.report());
        match &ran.report().given[0].refused {
            None => assert!(matches!(ran.given.as_slice(), b"fine\n" | b""), "{:?}", ran.given),
            Some(Refused::NotRegular(what)) => assert_eq!(what, "a symbolic link"),
            // Between two renames there may be none.
            Some(other) => assert_eq!(*other, Refused::Missing),
        }
    }
}

#[tokio::test]
async fn a_tool_that_was_ended_gives_nothing() {
    let mut request = giving("echo half > out/a; sleep 60", &["a"]);
    request.wall_ms = 300;
    let ran = namespace().await.call(&request, b"").await;
    assert_eq!(refused(&ran), [Refused::Ended]);
}

#[tokio::test]
async fn names_that_lead_elsewhere_and_shared_sandboxes_are_refused_before_the_start() {
    for name in ["../x", "/etc/passwd", "a/b", "..", ".hidden", "-rf", ""] {
        let ran = alone(&giving("true", &[name])).await;
        assert!(matches!(&ran.report().exit, Exit::NotStarted(why) if why.contains("name")));
    }
    let mut request = giving("true", &["a"]);
    request.last = false;
    let ran = alone(&request).await;
    assert!(matches!(&ran.report().exit, Exit::NotStarted(why) if why.contains("shares")));
    assert!(!ran.started);
}

/// What comes back for a request alone: a runner that refuses it may be gone before anything that
/// follows could be written.
async fn alone(request: &Request) -> Ran {
    let sandbox = namespace().await;
    let mut stream = sandbox.open(request).await;
    collect(&mut stream).await
}

#[tokio::test]
async fn files_that_do_not_come_whole_start_nothing() {
    let mut request = shell("echo ran");
    request.take = vec![Taken { name: "a".into(), bytes: 10 }];
    let ran = namespace().await.call_with(&request, b"four", b"").await;
    assert!(matches!(&ran.report().exit, Exit::NotStarted(why) if why.contains("in part")));
    let ran = namespace().await.call_with(&request, b"more than ten", b"").await;
    assert!(matches!(&ran.report().exit, Exit::NotStarted(why) if why.contains("more came")));
}
