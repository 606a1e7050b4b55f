//! The kept corpus of the fuzz targets, replayed with a stable toolchain, plain and damaged.

use std::path::Path;

use windfall_base::{Seed, Stream};
use windfall_testkit::arbitrary;
use windfall_tests::entries::{ENTRIES, LONGEST};

/// Damaged variants of every file that are tried.
const VARIANTS: u64 = 1_000;

/// The files of one entry's corpus, by name.
fn corpus(entry: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(entry);
    let listing = std::fs::read_dir(&folder).expect("every entry has a corpus");
    let mut files: Vec<_> = listing
        .map(|file| file.expect("the folder can be listed"))
        .map(|file| {
            let bytes = std::fs::read(file.path()).expect("the file can be read");
            (file.file_name().to_string_lossy().into_owned(), bytes)
        })
        .collect();
    files.sort();
    files
}

/// Inverts a bit, cuts, repeats, or puts random bytes somewhere.
fn damage(bytes: &mut Vec<u8>, stream: &mut Stream) {
    let at = stream.below(bytes.len() as u64 + 1) as usize;
    match stream.below(5) {
        0 => bytes.truncate(at),
        1 => bytes.extend_from_within(at..),
        2 => drop(bytes.splice(at..at, arbitrary::bytes(stream, 16))),
        // Extreme values in numbers find more than noise does.
        3 if at < bytes.len() => {
            bytes[at] = [0, 1, 0x7f, 0x80, 0xfe, 0xff][stream.below(6) as usize];
        }
        _ if at < bytes.len() => bytes[at] ^= 0x80 >> stream.below(8),
        _ => {}
    }
    bytes.truncate(LONGEST);
}

#[test]
fn every_entry_takes_its_corpus() {
    for (name, entry) in ENTRIES {
        let files = corpus(name);
        assert!(!files.is_empty(), "the corpus of {name} is empty");
        for (file, bytes) in files {
            eprintln!("{name}/{file}");
            entry(&bytes);
        }
    }
}

#[test]
fn every_entry_takes_its_corpus_damaged() {
    for (name, entry) in ENTRIES {
        for (file, bytes) in corpus(name) {
            let mut stream = Stream::new(Seed(0), &format!("{name}/{file}"));
            for variant in 0..VARIANTS {
                let mut damaged = bytes.clone();
                for _ in 0..=stream.below(4) {
                    damage(&mut damaged, &mut stream);
                }
                eprintln!("{name}/{file}, variant {variant}");
                entry(&damaged);
            }
        }
    }
}

#[test]
fn every_entry_takes_anything() {
    let mut stream = Stream::new(Seed(0), "anything");
    for (name, entry) in ENTRIES {
        for round in 0..500 {
            let bytes = arbitrary::bytes(&mut stream, 300);
            eprintln!("{name}, round {round}: {bytes:02x?}");
            entry(&bytes);
        }
    }
}

#[test]
fn every_entry_is_a_fuzz_target() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/fuzz_targets");
    let manifest = std::fs::read_to_string(folder.join("../Cargo.toml")).expect("it exists");
    for (name, _) in ENTRIES {
        let target = std::fs::read_to_string(folder.join(format!("{name}.rs")));
        assert!(target.is_ok_and(|text| text.contains(&format!("entries::{name}"))), "{name}");
        assert!(manifest.contains(&format!("name = \"{name}\"")), "{name}");
    }
}
