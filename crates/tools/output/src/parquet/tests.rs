use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use super::*;

fn column(name: &str, values: Values) -> ParquetColumn {
    ParquetColumn { name: name.to_owned(), values }
}

fn columns() -> Vec<ParquetColumn> {
    let text = ["bold", "", "flex, \u{00fc}ber"].map(str::to_owned).to_vec();
    let numbers = vec![Some(1.5), None, Some(f64::MIN_POSITIVE)];
    let many = (0..20).map(|n| column(&format!("m.{n}"), Values::Numbers(vec![Some(0.1); 3])));
    let own = [
        column("policy", Values::Text(text)),
        column("seed", Values::Whole(vec![0, 1, u64::MAX])),
        column("links.a/b.loss", Values::Numbers(numbers)),
    ];
    own.into_iter().chain(many).collect()
}

#[test]
fn numbers_are_written_as_thrift_does() {
    let written = |value| {
        let mut bytes = Vec::new();
        varint(&mut bytes, zigzag(value));
        bytes
    };
    assert_eq!(written(0), [0]);
    assert_eq!(written(-1), [1]);
    assert_eq!(written(150), [0xac, 0x02]);
    assert_eq!(levels(&[Some(1.0), Some(2.0), None]), [4, 1, 2, 0]);
}

#[test]
fn a_file_ends_with_the_length_of_its_description() {
    let bytes = file(&columns());
    let end = bytes.len() - 8;
    let len = u32::from_le_bytes(bytes[end..end + 4].try_into().expect("four bytes")) as usize;
    assert_eq!((&bytes[..4], &bytes[end + 4..]), (&MAGIC[..], &MAGIC[..]));
    assert!(len < end && bytes[end - len] == (1 << 4) | I32, "it begins with field 1");
    assert_eq!(bytes[end - 1], 0, "it ends with the end of a struct");
}

#[test]
fn pyarrow_reads_what_was_written() {
    // Without the end of the interpreter, in which threads of pyarrow may abort the process.
    let script = "import os, sys, io, json, pyarrow.parquet as p\n\
                  t = p.read_table(io.BytesIO(sys.stdin.buffer.read()), use_threads=False)\n\
                  print(json.dumps([t.column_names[:3], t.num_columns,\n\
                  str(t.schema.field(1).type),\n\
                  [c.to_pylist() for c in t.columns[:3]],\n\
                  t.column('m.19').to_pylist()]), flush=True)\n\
                  os._exit(0)";
    let prepared = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../target/python/bin/python3");
    let python = if Path::new(prepared).exists() { prepared } else { "python3" };
    let has = Command::new(python).args(["-c", "import pyarrow.parquet"]).output();
    if !has.is_ok_and(|output| output.status.success()) {
        windfall_testkit::skip!("pyarrow is not installed");
    }
    let mut child = Command::new(python)
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python");
    child.stdin.take().expect("a pipe").write_all(&file(&columns())).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success());
    let read: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let expected = serde_json::json!([
        ["policy", "seed", "links.a/b.loss"],
        23,
        "uint64",
        [["bold", "", "flex, \u{00fc}ber"], [0, 1, u64::MAX], [1.5, null, f64::MIN_POSITIVE]],
        [0.1, 0.1, 0.1]
    ]);
    assert_eq!(read, expected);
}
