//! Our parity against that of libfec, and each decoder on the other's blocks.
//!
//! libfec (LGPL) is only linked, by a small program of our own that is compiled where libfec and a
//! C compiler are installed.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use windfall_fec::{Parameters, ReedSolomon};
use windfall_testkit::skip;

/// Blocks in each comparison.
const BLOCKS: usize = 20;

/// The program on top of libfec, in a folder that goes with it.
struct Libfec(PathBuf);

impl Libfec {
    /// Compiles it under this name; `None` without libfec or a compiler.
    fn build(name: &str) -> Option<Self> {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let program = folder.join(format!("libfec-{name}-{}", std::process::id()));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/libfec.c");
        let compiled =
            Command::new("cc").arg("-O1").arg("-o").arg(&program).arg(source).arg("-lfec").output();
        compiled.ok()?.status.success().then_some(Self(program))
    }

    fn run(&self, action: &str, parameters: Parameters, parity: usize, blocks: &Blocks) -> Vec<u8> {
        let Parameters { polynomial, first_root, step } = parameters;
        let numbers = [polynomial.into(), first_root.into(), step.into(), parity, blocks.data];
        let mut child = Command::new(&self.0)
            .arg(action)
            .args(numbers.map(|number: usize| number.to_string()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // Twenty blocks fit into the pipe, so neither process waits for the other.
        child.stdin.take().unwrap().write_all(&blocks.bytes).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{action} {parameters:?} {parity}: {:?}", output.status);
        output.stdout
    }
}

impl Drop for Libfec {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Blocks of the same length, one behind the other.
#[derive(Clone)]
struct Blocks {
    data: usize,
    length: usize,
    bytes: Vec<u8>,
}

impl Blocks {
    fn random(data: usize, parity: usize, seed: u64) -> Self {
        let mut state = seed;
        let bytes = core::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        });
        let length = data + parity;
        Self { data, length, bytes: bytes.take(BLOCKS * length).collect() }
    }

    /// Damages `count + i % 3` symbols of each block `i`.
    fn spoil(&mut self, count: usize) {
        for (i, block) in self.bytes.chunks_mut(self.length).enumerate() {
            for error in 0..(count + i % 3).min(self.length) {
                block[(error * 7 + i * 5) % self.length] ^= 1 + (error * 3 + i) as u8 % 255;
            }
        }
    }
}

fn codes() -> impl Iterator<Item = (Parameters, usize, usize)> {
    let other = Parameters { polynomial: 0x187, first_root: 3, step: 7 };
    let parameters = [Parameters::default(), Parameters::CCSDS, other];
    let sizes = [(2, 10), (13, 242), (16, 239), (32, 223), (32, 40), (74, 181), (199, 56)];
    parameters.into_iter().flat_map(move |parameters| {
        sizes.into_iter().map(move |(parity, data)| (parameters, parity, data))
    })
}

#[test]
fn parity_is_equal_to_that_of_libfec() {
    let Some(libfec) = Libfec::build("encode") else {
        skip!("libfec or a C compiler is not installed");
    };
    for (parameters, parity, data) in codes() {
        let mut blocks = Blocks::random(data, parity, 7);
        let theirs = libfec.run("encode", parameters, parity, &blocks);
        let code = ReedSolomon::with(parameters, parity).unwrap();
        code.encode_many(&mut blocks.bytes, blocks.length).unwrap();
        assert!(blocks.bytes == theirs, "{parameters:?}, {parity} parity symbols");
    }
}

#[test]
fn both_decoders_agree_on_what_arrives() {
    let Some(libfec) = Libfec::build("decode") else {
        skip!("libfec or a C compiler is not installed");
    };
    for (parameters, parity, data) in codes() {
        let code = ReedSolomon::with(parameters, parity).unwrap();
        // From no error at all to one more than can be corrected.
        for errors in [0, parity / 4, (parity / 2).saturating_sub(1)] {
            let mut blocks = Blocks::random(data, parity, 11);
            code.encode_many(&mut blocks.bytes, blocks.length).unwrap();
            blocks.spoil(errors);
            let theirs = libfec.run("decode", parameters, parity, &blocks);
            let mut ours = Vec::new();
            for block in blocks.bytes.chunks_mut(blocks.length) {
                let corrected = code.decode(block, &[]).map_or(255, |found| found.errors as u8);
                ours.extend_from_slice(block);
                ours.push(corrected);
            }
            assert!(ours == theirs, "{parameters:?}, {parity} parity symbols, {errors} errors");
        }
    }
}
