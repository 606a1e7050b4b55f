//! Coded frames in a place of Table 1, under a real TCP.

use std::fs;
use std::path::Path;
use std::process::Output;

use crate::live::{Folder, require, windfall};

/// Fetches `file` from the far end over the radio on *table*; curl's report of what it got.
fn fetch(folder: &Path, options: &str, curl: &str) -> Output {
    let server = format!("exec python3 -m http.server -d {} 80 >/dev/null 2>&1", folder.display());
    let line = format!("exec curl -s {curl} http://$WINDFALL_BASE/file");
    windfall("run --json --link wavelan --environment table --tcp-congestion reno")
        .args(options.split_whitespace())
        .args(["--far", &server, "--", "sh", "-c", &line])
        .output()
        .expect("it runs")
}

//= S3.21
//= S3.22
#[test]
fn on_table_flex_moves_a_file_and_bold_cannot_connect() {
    require!("curl", "python3");
    let folder = Folder::new("table");
    let content: Vec<u8> = (0..120_000_u32).map(|i| (i % 251 + i / 977) as u8).collect();
    fs::write(folder.path().join("file"), &content).expect("a file");
    // The server may take a moment to listen.
    let patient = "-m 120 --retry 9 --retry-delay 1 --retry-connrefused";
    let flex = fetch(folder.path(), "--policy flex", patient);
    let said = String::from_utf8_lossy(&flex.stderr);
    assert!(flex.stdout == content, "{} bytes of {}: {said}", flex.stdout.len(), content.len());
    // One repetition and padded frames, the stated budget: three SYNs are sent in this time.
    let bold = fetch(folder.path(), "--policy bold --padded --arq 1", "--connect-timeout 4");
    let said = String::from_utf8_lossy(&bold.stderr);
    assert_eq!((bold.status.code(), bold.stdout.len()), (Some(28), 0), "{said}");
    let summary: serde_json::Value = serde_json::from_str(&said).expect(&said);
    assert!(summary["links"][0]["frames"].as_u64() >= Some(2), "{summary}");
    assert_eq!(summary["links"][0]["delivered"], 0, "{summary}");
}
