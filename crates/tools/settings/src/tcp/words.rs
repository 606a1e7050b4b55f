//! The words of the settings that are one of some.

use windfall_tcp::{LossRecovery, Manner, NotificationMode, Paws, Reaction, TickEstimation};
use windfall_wire_net::tcp::Packing;

/// When old duplicates are looked for.
pub(super) const PAWS: [(&str, Paws); 3] =
    [("before", Paws::BeforePrediction), ("after", Paws::AfterPrediction), ("off", Paws::Off)];
/// The words of a switch.
pub(super) const SWITCH: [(&str, bool); 2] = [("on", true), ("off", false)];
/// The systems whose manner can be had.
pub(super) const MANNERS: [(&str, Manner); 3] =
    [("standard", Manner::STANDARD), ("linux", Manner::LINUX), ("freebsd", Manner::FREEBSD)];
/// The algorithms of loss recovery.
pub(super) const RECOVERIES: [(&str, LossRecovery); 3] = [
    ("new-reno", LossRecovery::NewReno),
    ("net3", LossRecovery::Net3),
    ("sack", LossRecovery::Sack),
];
/// The ways to estimate the round trip in ticks.
pub(super) const ESTIMATIONS: [(&str, TickEstimation); 3] = [
    ("off", TickEstimation::Off),
    ("net3", TickEstimation::Net3),
    ("netbsd", TickEstimation::NetBsd),
];
/// The segments that a notification may name.
pub(super) const MODES: [(&str, NotificationMode); 3] = [
    ("draft-safe", NotificationMode::DraftSafe),
    ("paper", NotificationMode::Paper),
    ("extended", NotificationMode::Extended),
];
/// The layouts of the covered fields.
pub(super) const PACKINGS: [(&str, Packing); 2] =
    [("packed", Packing::Packed), ("aligned", Packing::Aligned)];
/// The reactions to a notification.
pub(super) const REACTIONS: [(&str, Reaction); 3] =
    [("ignore", Reaction::Ignore), ("as-mark", Reaction::AsMark), ("as-loss", Reaction::AsLoss)];
