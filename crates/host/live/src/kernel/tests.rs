use crate::kernel_counters::KernelCounters;

use super::*;

#[test]
fn this_machines_counters_can_be_read() {
    let counters = KernelCounters::parse(&read_files(false));
    assert!(counters.get("Ip.DefaultTTL") > 0);
}

#[test]
fn a_listener_is_known_by_its_port_and_state() {
    let tcp = "  sl  local_address rem_address   st tx_queue rx_queue\n\
               0: 00000000:1F40 00000000:0000 0A 00000000:00000000 00:00000000\n\
               1: 0100007F:1F41 0100007F:C350 01 00000000:00000000 00:00000000\n\
               2: 00000000000000000000000000000000:0050 0000:0000 0A 00000000:00000000";
    assert!(is_listed(tcp, 8000, true) && is_listed(tcp, 80, true));
    assert!(!is_listed(tcp, 8001, true), "connected");
    assert!(!is_listed(tcp, 8002, true) && !is_listed(tcp, 0, true) && !is_listed("", 80, true));
    let udp = "  sl  local_address rem_address   st\n 7: 00000000:0045 00000000:0000 07 0:0";
    assert!(is_listed(udp, 69, false) && !is_listed(udp, 69, true));
}
