//! The codes against other programs and against the standard.

mod libfec;
mod standard_example;
