//! The program `windfall`.

fn main() {}
