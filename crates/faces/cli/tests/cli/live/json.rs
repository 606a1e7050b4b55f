//! `--json` in real time: what has no place in simulated time, and where it goes.

use crate::json::Page;
use crate::live::drops::summary_with_drops;
use crate::live::ports::summary_of_a_closed_port;
use crate::live::{Folder, WINDFALL, require, text, windfall};

#[test]
fn what_real_time_adds_is_on_the_page_too() {
    require!("python3");
    let folder = Folder::new("json");
    let file = folder.path().join("summary.json");
    let far = format!("{WINDFALL} tcp receive --kernel -q & sleep 0.1; exit 3");
    let apply = folder.path().join("apply");
    std::fs::write(&apply, "sack=off, delayed-ack=time:500ms").expect("a file");
    let output = windfall("run --wait-port 5001 --far")
        .args([&far, "--json", "--summary"])
        .arg(&file)
        .arg("--apply")
        .arg(&apply)
        .args(["--", WINDFALL, "tcp", "send", "--json", "--bytes", "100kB", "10.77.0.2:5001"])
        .output()
        .expect("it runs");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    let record = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{error}"));
    let summary = std::fs::read(&file).unwrap_or_else(|_| panic!("{error}"));
    let mut page = Page::read();
    page.check(&record);
    page.check(&serde_json::from_slice(&summary).expect("JSON"));
    page.check(&summary_with_drops());
    page.check(&summary_of_a_closed_port().1);
    page.check(&crate::live::camera::compared(
        "--rate 10Mbps --loss 20% --scheme blocks --time 200ms",
        &folder,
    ));
    page.assert_all_seen(true);
}

#[test]
fn the_demonstration_says_in_json_what_it_found() {
    require!("curl", "python3");
    let folder = Folder::new("json-demo");
    let file = folder.path().join("short");
    let out = folder.path().join("out");
    std::fs::write(&file, [7; 20_000]).expect("a file");
    let output = windfall("demo --json --file").arg(&file).arg("--out").arg(&out).output();
    let said: serde_json::Value =
        serde_json::from_str(&text(&output.expect("it runs"))).expect("JSON");
    Page::read().check(&said);
    let page = said["page"].as_str().expect("text");
    assert!(std::path::Path::new(page).exists(), "{page}");
    for name in said["findings"][0]["files"].as_array().expect("a list") {
        assert!(out.join(name.as_str().expect("text")).exists(), "{name}");
    }
}

#[test]
fn forwarding_alone_tells_of_connections_on_the_standard_output() {
    require!("python3");
    // Nothing listens at the far end. Each wait has an end, of 20 s or more.
    let client = "import socket, time\n\
                  for _ in range(1000):\n \
                  try: s = socket.create_connection(('127.0.0.1', 8080)); break\n \
                  except ConnectionRefusedError: time.sleep(0.02)\n\
                  try: s.recv(10)\n\
                  except ConnectionResetError: pass";
    let line = "$0 tcp forward -q --json 8080 10.77.0.2:80 >$1 & p=$!; python3 -c \"$2\"; \
                i=0; until test -s $1 || test $i -ge 1000; do sleep 0.02; i=$((i+1)); done; \
                kill -INT $p; wait $p; cat $1";
    let folder = Folder::new("json-forward");
    let output = windfall("run -q -- sh -c")
        .args([line, WINDFALL])
        .arg(folder.path().join("said"))
        .arg(client)
        .output();
    let told = text(&output.expect("it runs"));
    let told: serde_json::Value = serde_json::from_str(&told).unwrap_or_else(|_| panic!("{told}"));
    assert_eq!(told["format"], "windfall-connection/1");
    assert_eq!(told["error"], "the port is closed at the peer");
    Page::read().check(&told);
}
