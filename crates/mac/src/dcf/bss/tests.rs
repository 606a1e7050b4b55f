use windfall_base::Seed;
use windfall_wire_link::ieee80211::Phy;
use windfall_wire_link::ieee80211::management::{
    AssociationResponse, Authentication, Beacon, capability,
};

use super::*;

fn address(number: u16) -> MacAddress {
    MacAddress::of_station(number)
}

fn ssid() -> Ssid {
    b"office".iter().copied().collect()
}

fn member() -> Bss {
    let mut config = Config::new(address(9), Phy::G);
    config.role = Role::Member { ssid: ssid(), power_save: false };
    Bss::new(&config, &Stream::new(Seed(1), "bss")).expect("it is a member")
}

fn millis(n: u64) -> Instant {
    Instant::START + Duration::from_millis(n)
}

/// Gives a station a frame of access point `from`, heard so strongly, and what it sends then.
fn hears(
    bss: &mut Bss,
    now: Instant,
    (kind, from): (Kind, u16),
    body: Vec<u8>,
    strength: f64,
) -> Vec<(Kind, MacAddress)> {
    let header = Header { transmitter: address(from), ..Header::new(kind, address(9)) };
    bss.handle_own(now, &header, &Frame::packet(body), strength);
    bss.settle(now);
    sent(bss)
}

fn sent(bss: &mut Bss) -> Vec<(Kind, MacAddress)> {
    let mut next = || bss.next(&mut || None, &mut VecDeque::new());
    core::iter::from_fn(|| next().map(|order| (order.kind, order.packet.to))).collect()
}

fn beacon(name: &[u8], now: Instant) -> Vec<u8> {
    let network = Network::new(name, &[PhyRate::Ofdm6], &[PhyRate::Ofdm6]);
    let timestamp = now.as_micros();
    let capability = capability::ESS;
    Beacon { timestamp, interval: 100, capability, network, channel: 6, waiting: None, erp: None }
        .encode()
}

fn joined() -> Bss {
    let mut bss = member();
    let at = millis(10);
    assert_eq!(hears(&mut bss, at, (Kind::Beacon, 3), beacon(b"home", at), -40.0), []);
    assert_eq!(bss.alarm(), None, "another network is none of its business");
    hears(&mut bss, at, (Kind::Beacon, 1), beacon(b"office", at), -70.0);
    hears(&mut bss, at, (Kind::Beacon, 2), beacon(b"office", at), -60.0);
    let at = bss.alarm().expect("it looks for a while");
    bss.settle(at);
    assert_eq!(sent(&mut bss), [(Kind::Authentication, address(2))], "the stronger one");
    let yes = Authentication { algorithm: 0, step: 2, status: 0 }.encode();
    let asks = hears(&mut bss, at, (Kind::Authentication, 2), yes, -60.0);
    assert_eq!(asks, [(Kind::AssociationRequest, address(2))]);
    assert_eq!(bss.access_point(), None);
    hears(&mut bss, at, (Kind::AssociationResponse, 2), granted(), -60.0);
    assert_eq!(bss.access_point(), Some(address(2)));
    bss
}

fn granted() -> Vec<u8> {
    let network = Network::default();
    AssociationResponse { capability: capability::ESS, status: 0, aid: 4, network }.encode()
}

//= S2.19
#[test]
fn a_member_joins_the_strongest_and_changes_to_one_that_is_clearly_stronger() {
    let mut bss = joined();
    let at = millis(300);
    assert_eq!(hears(&mut bss, at, (Kind::Beacon, 2), beacon(b"office", at), -62.0), []);
    assert_eq!(hears(&mut bss, at, (Kind::Beacon, 1), beacon(b"office", at), -57.0), []);
    let changes = hears(&mut bss, at, (Kind::Beacon, 1), beacon(b"office", at), -55.0);
    let expected = [(Kind::Disassociation, address(2)), (Kind::Authentication, address(1))];
    assert_eq!(changes, expected);
    let yes = Authentication { algorithm: 0, step: 2, status: 0 }.encode();
    let asks = hears(&mut bss, at, (Kind::Authentication, 1), yes, -55.0);
    assert_eq!(asks, [(Kind::ReassociationRequest, address(1))]);
    hears(&mut bss, at, (Kind::ReassociationResponse, 1), granted(), -55.0);
    assert_eq!(bss.access_point(), Some(address(1)));
}

#[test]
fn an_access_point_that_falls_silent_is_left() {
    let mut bss = joined();
    let mut beacons = 0;
    while let Some(at) = bss.alarm().filter(|_| bss.access_point().is_some()) {
        bss.settle(at);
        beacons += 1;
        assert!(beacons < 100, "it waits for ever");
    }
    assert_eq!(bss.access_point(), None);
    assert_eq!(sent(&mut bss), []);
}

#[test]
fn requests_that_nobody_answers_are_made_again_after_the_next_beacon() {
    let mut bss = member();
    let at = millis(10);
    hears(&mut bss, at, (Kind::Beacon, 1), beacon(b"office", at), -70.0);
    for _ in 0..2 {
        let at = bss.alarm().expect("it looks");
        bss.settle(at);
        assert_eq!(sent(&mut bss), [(Kind::Authentication, address(1))]);
        let until = bss.alarm().expect("it waits");
        bss.settle(until);
        hears(&mut bss, until, (Kind::Beacon, 1), beacon(b"office", until), -70.0);
    }
}
