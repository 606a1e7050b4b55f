//! The names of the presets of energy models.

/// The presets: their names, and their meanings.
pub const PRESETS: [(&str, &str); 4] = [
    (
        "laptop-2000",
        "paper 002's laptop with its WaveLAN card: platform and TCP's steps fitted to idle lasting \
         223 and sending 110 minutes, with a battery of 30 Wh, which is assumed",
    ),
    (
        "wifi-chip",
        "a chip of 802.11 with its processor, by the data sheet of the ESP32: 240 mA sending at \
         19.5 dBm, 100 mA receiving, 0.8 mA dozing at 3.3 V; a lithium cell of 9.6 Wh",
    ),
    (
        "mote",
        "a sensor node of a CC2420 and an MSP430, by their data sheets: 17.4 mA sending, 18.8 mA \
         receiving at 3 V, 1.8 mA of processor; two AA cells, of which a fifth is left at 2.1 V",
    ),
    (
        "phone",
        "a smartphone of 2010 with its screen off (Carroll and Heiser 2010, rounded): 0.27 W idle, \
         0.7 W of radio while it works; a battery of 4.4 Wh",
    ),
];

/// Returns the names of the presets in words.
pub(crate) fn names() -> String {
    PRESETS.map(|(name, _)| name).join(", ")
}
