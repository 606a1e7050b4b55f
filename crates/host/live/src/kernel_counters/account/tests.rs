use super::*;

const COUNTERS: &str = "= dev
 wf0: 0 7 0 3 0 0 0 0 0 0 0 2 0 0 0 0
 wf1: 0 5 0 4 0 1 0 0 0 0 0 0 0 0 0 0
";

/// The account of a device that dropped packets on both sides of the link.
fn device(station: usize, device: &str, kind: DeviceKind, refused: u64) -> DeviceAccount {
    let mut drops = DeviceDrops { refused, taken: 9, ..DeviceDrops::new(kind) };
    drops.before.count(DropReason::Malformed);
    drops.after.count_many(DropReason::Device, refused);
    DeviceAccount { station, device: device.to_owned(), drops, waiting: 5 }
}

#[test]
fn each_device_counts_for_its_station_and_each_drop_once() {
    let counters = [KernelCounters::default(), KernelCounters::parse(COUNTERS)];
    // A station without devices, whose host is simulated, stands before the one that has some.
    let tun = |station, name, refused| device(station, name, DeviceKind::Tun, refused);
    let devices = [tun(1, "wf0", 3), tun(1, "wf1", 2), tun(7, "wf0", 1)];
    let stations = stations(&counters, &devices);
    assert_eq!(stations[0], StationDrops::default());
    let StationDrops { before, after, waiting } = &stations[1];
    assert_eq!(
        before.iter().collect::<Vec<_>>(),
        [(DropReason::Malformed, 2), (DropReason::Device, 2)]
    );
    // The second device took one of the refused for no frame, and did not count it as dropped.
    assert_eq!(
        after.iter().collect::<Vec<_>>(),
        [(DropReason::Device, 5), (DropReason::Kernel, 3)]
    );
    assert_eq!(*waiting, 10);
}

#[test]
fn what_vanishes_in_a_pair_is_a_drop_of_the_kernel() {
    let counters = [KernelCounters::parse(COUNTERS)];
    let of = |name| {
        let device = device(0, name, DeviceKind::Packet, 3);
        stations(&counters, &[device])[0].after.of(DropReason::Kernel)
    };
    // Nine were taken. A device that is gone has no counters.
    assert_eq!((of("wf0"), of("wf1"), of("wf2")), (2, 4, 0));
}
