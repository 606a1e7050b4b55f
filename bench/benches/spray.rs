//! Simulated spray (S3.24) over the WaveLAN link and over a pipe, with real bytes and checksums.
//!
//! Items are frames on the medium, polls and acknowledgements included. The goal is 500 000 a
//! second.

use divan::Bencher;
use divan::counter::ItemsCount;
use windfall_bench::{frames, simulation};
use windfall_scenario::sim::Simulation;

const WAVELAN: &str = "kind = \"wavelan\"";
const LOSSY: &str = "kind = \"wavelan\"\nber = 1e-5";
const PIPE: &str = "rate = \"10Mbps\"\ndelay = \"5ms\"";
const REPEATING: &str = "rate = \"10Mbps\"\ndelay = \"5ms\"\nber = 1e-5\narq = \"persistent\"";

fn main() {
    divan::main();
}

/// A simulation of `seconds` seconds of spray over a link.
fn spray(link: &str, seconds: u64) -> Simulation {
    simulation(&format!(
        "format = 1\nduration = \"{seconds}s\"\n\
         [[station]]\nname = \"near\"\n[[station]]\nname = \"far\"\n\
         [[link]]\nstations = [\"near\", \"far\"]\n{link}\n\
         [[app]]\nkind = \"spray\"\nstation = \"near\"\nto = \"far\"\n"
    ))
}

fn run(bencher: Bencher<'_, '_>, link: &str, seconds: u64) {
    let mut once = spray(link, seconds);
    once.finish();
    bencher
        .counter(ItemsCount::new(frames(&once)))
        .with_inputs(|| spray(link, seconds))
        .bench_local_values(|mut simulation| {
            simulation.finish();
            simulation
        });
}

#[divan::bench(sample_count = 15)]
fn wavelan(bencher: Bencher) {
    run(bencher, WAVELAN, 300);
}

#[divan::bench(sample_count = 15)]
fn wavelan_with_bit_errors(bencher: Bencher) {
    run(bencher, LOSSY, 300);
}

#[divan::bench(sample_count = 15)]
fn pipe(bencher: Bencher) {
    run(bencher, PIPE, 30);
}

#[divan::bench(sample_count = 15)]
fn pipe_with_bit_errors_and_repetition(bencher: Bencher) {
    run(bencher, REPEATING, 30);
}
