//! Whole-system tests live beside this file; the library itself is empty.
