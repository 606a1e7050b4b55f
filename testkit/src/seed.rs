//! Many seeds, and the one that failed by name.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use windfall_base::Seed;

/// The variable that replays one seed instead of many.
pub const VARIABLE: &str = "WINDFALL_TEST_SEED";

/// Runs `test` for `count` seeds, or for the one seed of [`VARIABLE`] if that is set.
///
/// # Panics
/// As `test` does, after it has printed the seed and how to replay it; and if the variable holds
/// no seed.
pub fn each(count: u64, mut test: impl FnMut(Seed)) {
    if let Some(seed) = replayed() {
        return test(seed);
    }
    for seed in (0..count).map(Seed) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| test(seed))) {
            eprintln!("failed with seed {seed}; replay with {VARIABLE}={seed}");
            resume_unwind(panic);
        }
    }
}

/// The seed that [`VARIABLE`] asks to replay.
fn replayed() -> Option<Seed> {
    let text = std::env::var(VARIABLE).ok()?;
    let Ok(seed) = text.parse() else { panic!("{VARIABLE}={text} is not a seed") };
    Some(seed)
}
