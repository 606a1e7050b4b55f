//! Stations joined by air: one node whose ports are devices.
