#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| windfall_tests::entries::body_control(bytes));
