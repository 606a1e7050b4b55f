//! The test vectors of SAP, read by a decoder that was written from the specification alone.

use std::path::Path;
use std::process::Command;

#[test]
fn an_independent_decoder_agrees_with_the_vectors_of_sap() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    if Command::new("python3").arg("--version").output().is_err() {
        windfall_testkit::skip::announce("there is no Python (python3)");
        return;
    }
    let vectors = std::fs::read_dir(folder.join("../docs/vectors")).expect("they are there");
    let mut files: Vec<_> = vectors.flatten().map(|entry| entry.path()).collect();
    files.sort();
    assert!(files.len() >= 4, "{files:?}");
    let mut decoder = Command::new("python3");
    let output = decoder.arg(folder.join("sap/decode.py")).args(&files).output();
    let output = output.expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(said.lines().count(), files.len(), "{said}");
    // A decoder that is given another message finds it.
    let plain = files.iter().find(|path| path.ends_with("plain.json")).expect("it is there");
    let text = std::fs::read_to_string(plain).expect("it is text");
    let changed = text.replacen("\"data\": \"00", "\"data\": \"01", 1);
    assert_ne!(changed, text);
    let file = windfall_testkit::built::folder().join("sap-vector-changed.json");
    std::fs::write(&file, changed).expect("it can be written");
    let mut decoder = Command::new("python3");
    let output = decoder.arg(folder.join("sap/decode.py")).arg(&file).output();
    assert!(!output.expect("it runs").status.success());
}
