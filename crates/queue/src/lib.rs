//! In which order one station sends its packets.
