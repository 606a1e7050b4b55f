//! Laws, pairs, scripts and goldens: what only tests use.
