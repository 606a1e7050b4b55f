//! Builds interfaces and hosts from layers; alone sees all layers of a station.
