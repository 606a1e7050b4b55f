//! Runs QUIC over many seeded links: `quic-over-links [SEEDS [BYTES]]`, a thousand of 100 kB by
//! default. Every hundredth seed runs a second time, and its trace has to be the same.

use std::process::ExitCode;
use std::time::Instant;

use crate::{KINDS, EventKind, run};

fn main() -> ExitCode {
    let mut numbers = std::env::args().skip(1).map(|word| word.parse::<u64>());
    let (seeds, len) = match (numbers.next().unwrap_or(Ok(1000)), numbers.next()) {
        (Ok(seeds), None) => (seeds, 100_000),
        (Ok(seeds), Some(Ok(len))) => (seeds, len as usize),
        _ => {
            eprintln!("write quic-over-links [SEEDS [BYTES]]");
            return ExitCode::from(2);
        }
    };
    let (began, mut failed, mut digest) = (Instant::now(), 0, 0u64);
    let mut totals = KINDS.map(|kind| (kind.name, 0u32, 0.0, 0u64, 0usize));
    for seed in 0..seeds {
        let (kind, exchange) = match run(seed, len) {
            Ok(done) => done,
            Err(error) => {
                println!("FAILED: {error}");
                failed += 1;
                continue;
            }
        };
        if seed % 100 == 0 && run(seed, len).map(|(_, again)| again).as_ref() != Ok(&exchange) {
            println!("FAILED: seed {seed}, {}: the second run differs", kind.name);
            failed += 1;
        }
        digest = digest.rotate_left(1) ^ exchange.digest();
        let total = &mut totals[(seed % KINDS.len() as u64) as usize];
        let is_damaged =
            |what: &What| matches!(what, What::Arrived(.., true) | What::Unreadable(_));
        let damaged = exchange.trace.iter().filter(|step| is_damaged(&step.what)).count();
        total.1 += 1;
        total.2 += exchange.took.as_secs_f64();
        total.3 += exchange.lost;
        total.4 += damaged;
    }
    for (name, count, seconds, lost, damaged) in totals {
        let mean = seconds / f64::from(count.max(1));
        println!("{name}: {count} exchanges, {mean:.3} s each, {lost} lost, {damaged} damaged");
    }
    println!("{seeds} seeds, {failed} failed, trace {digest:016x}");
    eprintln!("in {:.1} s", began.elapsed().as_secs_f64());
    ExitCode::from(u8::from(failed > 0))
}
