//! The host's network behind the link; here, nothing of it but the host's own loopback.

use std::io::{Read, Write};
use std::net::TcpListener;

use crate::live::{Folder, LONG, is_installed, require, run, text};

/// A server on the host's loopback that greets whoever comes; returns its port.
pub(crate) fn server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            let _ = stream.set_read_timeout(Some(LONG));
            let _ = stream.read(&mut [0; 1000]);
            let _ = stream.write_all(b"HTTP/1.0 200 OK\r\n\r\nhello from the host\n");
        }
    });
    port
}

#[test]
fn programs_reach_the_host_by_way_of_the_far_end() {
    require!("slirp4netns", "curl");
    let port = server();
    let line = format!(
        "curl -s -m 60 -w '%{{time_connect}}' http://10.0.2.2:{port}/; cat /etc/resolv.conf; \
         ls /tmp | head -1 | wc -l"
    );
    let output = text(&run("--net --net-host-loopback --delay 20ms", &line));
    assert!(output.starts_with("hello from the host\n"), "{output}");
    // The way leads over the link: there and back is at least 40 ms.
    let time = output.lines().nth(1).unwrap_or_default();
    let time: f64 = time.trim_end_matches("nameserver 10.0.2.3").parse().unwrap_or(0.0);
    assert!(time >= 0.040, "{output}");
    assert!(output.contains("nameserver 10.0.2.3"), "{output}");
    let outside = std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
    assert!(!outside.contains("10.0.2.3"), "{outside}");
}

#[test]
fn the_loopback_of_the_host_is_closed_unless_it_is_asked_for() {
    require!("slirp4netns", "curl");
    let port = server();
    let line = format!("curl -s -m 2 http://10.0.2.2:{port}/ || echo closed");
    assert_eq!(text(&run("--net", &line)), "closed\n");
}

#[test]
fn without_asking_there_is_no_way_out() {
    require!("curl");
    let port = server();
    let output = run("", &format!("curl -s -m 2 http://10.0.2.2:{port}/"));
    assert!(!output.status.success());
}

#[test]
fn a_missing_helper_is_one_clear_line() {
    require!();
    let empty = Folder::new("no-helper");
    let mut command = crate::live::windfall("run -q --net -- true");
    let output = command.env("PATH", empty.path()).output().expect("it runs");
    if is_installed_for_root("slirp4netns") {
        return;
    }
    let line = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(125), "{line}");
    assert!(line.contains("apt-get install slirp4netns"), "{line}");
}

/// Tells whether the program is found even without a search path.
fn is_installed_for_root(program: &str) -> bool {
    is_installed(program)
        && ["/usr/sbin", "/sbin"]
            .iter()
            .any(|folder| std::path::Path::new(folder).join(program).exists())
}
