//! Benchmarks live in `benches/`; the library itself is empty.
