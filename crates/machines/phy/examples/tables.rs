//! Measures the error events of every rate at every ratio, and writes the tables that are shipped.
//!
//! `make tables` runs it; it takes some minutes. The same seed gives the same file.

use std::path::Path;

use windfall_base::Seed;
use windfall_phy::event::{Effort, generate};

fn main() -> std::io::Result<()> {
    let effort = Effort { events: 4_000, bits: 20_000_000, patterns: 256 };
    let tables = generate(Seed(80_211), effort, |rate, decibels, point| {
        let law = point.law();
        println!("{rate} {decibels} dB: a gap of {:.1} words on average", law.mean);
    });
    let bytes = tables.to_bytes();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tables/events.bin");
    println!("{} bytes to {}", bytes.len(), file.display());
    std::fs::write(file, bytes)
}
