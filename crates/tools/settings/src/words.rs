//! The words of choices that machines define.

use windfall_base::Preamble;
use windfall_channel::radio::{CarrierSense, Errors};
use windfall_mac::wifi::rate_control::FIXED;
use windfall_mac::wifi::{Backoff, EifsPolicy, RateControlKind};
use windfall_sap::Profile;
use windfall_tcp::{LossRecovery, Manner, NotificationMode, Paws, Reaction, TickEstimation};
use windfall_wire_net::tcp::Packing;

use crate::value::Choice;

impl Choice for Preamble {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("long", Self::Long, "192 µs with the header"),
        ("short", Self::Short, "96 µs with the header"),
    ];
}

impl Choice for RateControlKind {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &{
        let mut choices = [("", FIXED, ""); Self::ALL.len()];
        let mut row = 0;
        while row < choices.len() {
            let kind = Self::ALL[row];
            choices[row] = (kind.name, kind, kind.help);
            row += 1;
        }
        choices
    };
}

impl Choice for Backoff {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("binary", Self::Binary, "Doubled, as the standard says"),
        ("mild", Self::Mild, "Half as much again, as MACAW says"),
        ("constant", Self::Constant, "Constant"),
    ];
}

impl Choice for EifsPolicy {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("always", Self::Always, "After every reception that fails"),
        (
            "readable-header",
            Self::ReadableHeader,
            "After receptions whose PHY header was read, as the standard says",
        ),
        ("never", Self::Never, "Never"),
    ];
}

impl Choice for CarrierSense {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("follow", Self::Follow, "A detected preamble, until its frame ends"),
        ("energy", Self::Energy, "A frame that can be read; others by their energy alone"),
    ];
}

impl Choice for Errors {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("events", Self::Pattern, "Error events measured on the chains bit by bit"),
        ("formula", Self::Formula, "Formulas for whole frames, as ns-3 has them"),
    ];
}

impl Choice for Profile {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("standard", Self::Standard, "window, congestion control, path MTU discovery"),
        ("paper", Self::Paper, "stop and wait, as in the paper"),
    ];
}

/// When old duplicates are looked for.
impl Choice for Paws {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("before", Self::BeforePrediction, ""),
        ("after", Self::AfterPrediction, ""),
        ("off", Self::Off, ""),
    ];
}

/// The systems whose manner can be had.
impl Choice for Manner {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("standard", Self::STANDARD, ""),
        ("linux", Self::LINUX, ""),
        ("freebsd", Self::FREEBSD, ""),
    ];
}

/// The algorithms of loss recovery.
impl Choice for LossRecovery {
    const CHOICES: &'static [(&'static str, Self, &'static str)] =
        &[("new-reno", Self::NewReno, ""), ("net3", Self::Net3, ""), ("sack", Self::Sack, "")];
}

/// The ways to estimate the round trip in ticks.
impl Choice for TickEstimation {
    const CHOICES: &'static [(&'static str, Self, &'static str)] =
        &[("off", Self::Off, ""), ("net3", Self::Net3, ""), ("netbsd", Self::NetBsd, "")];
}

/// The segments that a notification may name.
impl Choice for NotificationMode {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("draft-safe", Self::DraftSafe, ""),
        ("paper", Self::Paper, ""),
        ("extended", Self::Extended, ""),
    ];
}

/// The layouts of the covered fields.
impl Choice for Packing {
    const CHOICES: &'static [(&'static str, Self, &'static str)] =
        &[("packed", Self::Packed, ""), ("aligned", Self::Aligned, "")];
}

/// The reactions to a notification.
impl Choice for Reaction {
    const CHOICES: &'static [(&'static str, Self, &'static str)] = &[
        ("ignore", Self::Ignore, ""),
        ("as-mark", Self::AsMark, ""),
        ("as-loss", Self::AsLoss, ""),
    ];
}
