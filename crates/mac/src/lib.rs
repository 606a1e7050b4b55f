//! Who may transmit among stations.
