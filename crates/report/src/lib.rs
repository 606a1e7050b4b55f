//! Runs to tables, CSV, SVG and one self-contained page.
