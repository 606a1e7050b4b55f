//! The account of a station: packets dropped before they entered a link, and after they left one.
//!
//! *Sent and forwarded by the station = dropped before + waiting + entered at its links*, and
//! *delivered by its links = dropped after + received and forwarded by the station*.

use windfall_base::{DropReason, Drops};

use crate::kernel_counters::KernelCounters;

/// The kind of the stations' devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceKind {
    /// TUN devices, which carry bare IP packets.
    Tun,
    /// Virtual Ethernet devices with packet sockets at their peers.
    Packet,
}

/// Packets dropped between the kernel of a station and the link, at one device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceDrops {
    /// On the way to the link, by reason.
    pub before: Drops,
    /// On the way from the link, by reason.
    pub after: Drops,
    /// The kind of the device, which decides what the kernel counts.
    pub kind: DeviceKind,
    /// Writes that the device took; a large segment is one.
    pub taken: u64,
    /// Writes that the device refused.
    pub refused: u64,
}

impl DeviceDrops {
    /// Nothing dropped yet at a device of this kind.
    #[must_use]
    pub fn new(kind: DeviceKind) -> Self {
        let before = Drops::default();
        let after = Drops::default();
        Self { before, after, kind, taken: 0, refused: 0 }
    }

    /// Returns the writes that the device called `name` took and the kernel then dropped, by the
    /// kernel's counters.
    ///
    /// A TUN device counts what it refuses as dropped as well, but for what it takes for no frame.
    /// The end of a virtual Ethernet pair counts what reaches it: what is written while it is down
    /// vanishes without being counted anywhere.
    fn dropped_by_kernel(&self, name: &str, counters: &KernelCounters) -> u64 {
        let Some(device) = counters.device(name) else { return 0 };
        match self.kind {
            DeviceKind::Tun => {
                let counted = self.refused.saturating_sub(device.rx_frame);
                device.rx_dropped.saturating_sub(counted)
            }
            DeviceKind::Packet => self.taken.saturating_sub(device.rx_packets),
        }
    }
}

/// Packets that a station dropped or still holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StationDrops {
    /// Packets that programs sent and that were dropped before they entered a link, by reason.
    pub before: Drops,
    /// Packets that left a link and were dropped before they reached a program, by reason.
    pub after: Drops,
    /// Packets that still waited on the station's devices when the run ended.
    pub waiting: u64,
}

/// The share of one device in the account of its station.
#[derive(Clone, Debug)]
pub struct DeviceAccount {
    /// The number of the station.
    pub station: usize,
    /// The name of the device in the station.
    pub device: String,
    /// The packets dropped at it.
    pub drops: DeviceDrops,
    /// Packets that still wait on it.
    pub waiting: u64,
}

/// Adds up what each station dropped, from its kernel's counters and its devices.
#[must_use]
pub fn stations(counters: &[KernelCounters], devices: &[DeviceAccount]) -> Vec<StationDrops> {
    let of_kernel = |counters: &KernelCounters| StationDrops {
        before: counters.drops_before(),
        after: counters.drops_after(),
        waiting: 0,
    };
    let mut stations: Vec<_> = counters.iter().map(of_kernel).collect();
    for DeviceAccount { station, device, drops, waiting } in devices {
        let Some(sum) = stations.get_mut(*station) else { continue };
        sum.before.add(&drops.before);
        sum.after.add(&drops.after);
        let by_kernel = drops.dropped_by_kernel(device, &counters[*station]);
        sum.after.count_many(DropReason::Kernel, by_kernel);
        sum.waiting += waiting;
    }
    stations
}

#[cfg(test)]
mod tests;
