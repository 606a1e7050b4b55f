//! Scenario files and option spellings: TOML to stations, links, flows and seed.
