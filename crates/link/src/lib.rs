//! Framing and error control between two stations, blind to what the packets carry.
