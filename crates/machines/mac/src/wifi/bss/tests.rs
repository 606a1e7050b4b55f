use windfall_base::Seed;
use windfall_wire_link::ieee80211::Phy;
use windfall_wire_link::ieee80211::management::{
    AssociationRequest, AssociationResponse, Authentication, Beacon, capability,
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

/// Gives a station a frame of access point `from` at this signal; returns the frames it then sends.
fn hears(
    bss: &mut Bss,
    now: Instant,
    (kind, from): (Kind, u16),
    body: Vec<u8>,
    signal: impl Into<Option<f64>>,
) -> Vec<(Kind, MacAddress)> {
    let header = Header { transmitter: address(from), ..Header::new(kind, address(9)) };
    bss.handle_own(now, &header, &Frame::packet(body), signal.into());
    bss.settle(now);
    sent(bss)
}

fn sent(bss: &mut Bss) -> Vec<(Kind, MacAddress)> {
    let mut next = || bss.next(&mut || None, &mut VecDeque::new());
    core::iter::from_fn(|| next().map(|order| (order.kind, order.packet.to))).collect()
}

fn beacon(name: &[u8], now: Instant) -> Vec<u8> {
    let network = NetworkDescription::new(name, &[PhyRate::Ofdm6], &[PhyRate::Ofdm6]);
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
    let network = NetworkDescription::default();
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
fn a_member_neither_prefers_nor_leaves_an_access_point_for_an_unknown_signal() {
    let mut bss = member();
    let at = millis(10);
    hears(&mut bss, at, (Kind::Beacon, 1), beacon(b"office", at), None);
    hears(&mut bss, at, (Kind::Beacon, 2), beacon(b"office", at), -90.0);
    let at = bss.alarm().expect("it looks for a while");
    bss.settle(at);
    assert_eq!(sent(&mut bss), [(Kind::Authentication, address(2))], "a known signal comes first");
    let mut bss = joined();
    let at = millis(300);
    assert_eq!(hears(&mut bss, at, (Kind::Beacon, 1), beacon(b"office", at), None), []);
    hears(&mut bss, at, (Kind::Beacon, 2), beacon(b"office", at), None);
    assert_eq!(hears(&mut bss, at, (Kind::Beacon, 1), beacon(b"office", at), -40.0), []);
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
fn an_access_point_is_left_after_nine_beacons_that_did_not_come() {
    // A beacon each 102.4 ms; one that is 20 ms late counts as missed.
    let after = |beacons: u64| Duration::from_micros(102_400 * beacons + 20_000);
    for (beacons, is_left) in [(8, false), (9, true), (50, true)] {
        let mut bss = joined();
        let at = millis(300);
        hears(&mut bss, at, (Kind::Beacon, 2), beacon(b"office", at), -60.0);
        // However long it was not asked.
        bss.settle(at + after(beacons));
        assert_eq!(bss.access_point().is_none(), is_left, "{beacons}");
    }
}

#[test]
fn requests_without_an_answer_are_made_again_after_the_next_beacon() {
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

#[test]
fn the_capabilities_are_those_that_are_configured() {
    let with = |change: &dyn Fn(&mut Config)| {
        let mut config = Config::new(address(0), Phy::G);
        config.timing = Timing::G_LONG_SLOT;
        change(&mut config);
        super::capability(&config)
    };
    assert_eq!(with(&|_| {}), capability::ESS);
    assert_eq!(with(&|config| config.wep = true), capability::ESS | capability::PRIVACY);
    let short = with(&|config| config.preamble = Preamble::Short);
    assert_eq!(short, capability::ESS | capability::SHORT_PREAMBLE);
    let slot = with(&|config| config.timing = Timing::G_SHORT_SLOT);
    assert_eq!(slot, capability::ESS | capability::SHORT_SLOT);
}

/// Returns an access point with one member, address 1, in power save mode.
fn point_with_a_dozing_member() -> Bss {
    let mut config = Config::new(address(9), Phy::G);
    config.role = Role::AccessPoint { ssid: ssid(), interval: 100, channel: 6 };
    let mut point = Bss::new(&config, &Stream::new(Seed(1), "bss")).expect("an access point");
    associate(&mut point, Kind::AssociationRequest, None);
    assert_eq!(sent(&mut point), [(Kind::AssociationResponse, address(1))]);
    says(&mut point, true);
    point
}

/// Station 1 asks to be associated, by a frame of this kind; it leaves access point `leaves`.
fn associate(point: &mut Bss, kind: Kind, leaves: Option<MacAddress>) {
    let network = NetworkDescription::new(b"office", &[PhyRate::Ofdm6], &[PhyRate::Ofdm6]);
    let request =
        AssociationRequest { capability: capability::ESS, listen_interval: 1, leaves, network };
    let header = Header { transmitter: address(1), ..Header::new(kind, address(9)) };
    point.handle_own(millis(1), &header, &Frame::packet(request.encode()), None);
}

/// Sets the power management mode of the member.
fn says(point: &mut Bss, dozes: bool) {
    let flags = Flags::TO_DS.with(Flags::POWER_MANAGEMENT, dozes);
    let header = Header { flags, transmitter: address(1), ..Header::new(Kind::Null, address(9)) };
    point.handle_own(millis(2), &header, &Frame::default(), None);
}

fn packet_to(to: MacAddress) -> Packet {
    Packet {
        frame: Frame::packet(vec![1; 10]),
        to,
        ether_type: 0x800,
        expires: None,
        source: Some(address(3)),
    }
}

/// The access point takes a packet from its queues.
fn take(point: &mut Bss, packet: Packet) -> Result<(), DropReason> {
    match point {
        Bss::AccessPoint(it) => it.take(packet),
        Bss::Member(_) => panic!("it is no access point"),
    }
}

#[test]
fn what_waits_for_a_member_goes_when_it_says_that_it_is_awake() {
    let mut point = point_with_a_dozing_member();
    assert_eq!(take(&mut point, packet_to(address(1))), Ok(()));
    says(&mut point, true);
    assert_eq!((sent(&mut point), point.held()), (vec![], 1));
    says(&mut point, false);
    assert_eq!(sent(&mut point), [(Kind::Data, address(1))]);
    assert_eq!(take(&mut point, packet_to(address(1))), Ok(()));
    assert_eq!(sent(&mut point), [(Kind::Data, address(1))], "it is awake now");
}

#[test]
fn what_waits_for_a_member_goes_when_a_data_frame_says_that_it_is_awake() {
    let mut point = point_with_a_dozing_member();
    assert_eq!(take(&mut point, packet_to(address(1))), Ok(()));
    let mut data = |dozes| {
        let flags = Flags::TO_DS.with(Flags::POWER_MANAGEMENT, dozes);
        let header = Header {
            flags,
            transmitter: address(1),
            third: address(9),
            ..Header::new(Kind::Data, address(9))
        };
        assert_eq!(point.handle_data(&header), Use::Up);
        sent(&mut point)
    };
    assert_eq!(data(true), []);
    assert_eq!(data(false), [(Kind::Data, address(1))]);
}

#[test]
fn what_waits_for_a_member_goes_behind_the_response_when_it_associates_again() {
    for (kind, response) in [
        (Kind::AssociationRequest, Kind::AssociationResponse),
        (Kind::ReassociationRequest, Kind::ReassociationResponse),
    ] {
        let mut point = point_with_a_dozing_member();
        assert_eq!(take(&mut point, packet_to(address(1))), Ok(()));
        let leaves = (kind == Kind::ReassociationRequest).then(|| address(9));
        associate(&mut point, kind, leaves);
        let expected = [(response, address(1)), (Kind::Data, address(1))];
        assert_eq!(sent(&mut point), expected);
    }
}

#[test]
fn each_packet_for_all_but_the_last_says_that_more_follow() {
    let mut point = point_with_a_dozing_member();
    for _ in 0..3 {
        assert_eq!(take(&mut point, packet_to(MacAddress::BROADCAST)), Ok(()));
    }
    assert_eq!(sent(&mut point), []);
    let due = point.alarm().expect("a beacon is due");
    point.settle(due);
    let mut next = || point.next(&mut || None, &mut VecDeque::new());
    let orders: Vec<_> = core::iter::from_fn(|| {
        next().map(|order| (order.kind, order.flags.has(Flags::MORE_DATA), order.third))
    })
    .collect();
    let data = |more| (Kind::Data, more, Some(address(3)));
    assert_eq!(orders[0].0, Kind::Beacon);
    assert_eq!(orders[1..], [data(true), data(true), data(false)]);
}

//= S3.16
#[test]
fn what_has_become_worthless_is_not_promised_to_those_that_doze() {
    let mut point = point_with_a_dozing_member();
    let due = point.alarm().expect("a beacon is due");
    for to in [address(1), MacAddress::BROADCAST] {
        let packet = Packet { expires: Some(millis(10)), ..packet_to(to) };
        assert_eq!(take(&mut point, packet), Ok(()));
    }
    assert_eq!(take(&mut point, packet_to(address(1))), Ok(()));
    let mut events = VecDeque::new();
    point.expire(millis(20), &mut events);
    assert_eq!((point.held(), events.len()), (3, 0), "no beacon is due");
    point.expire(due, &mut events);
    let is_expired = |event: &DcfEvent| {
        event.packet_drop().is_some_and(|drop| drop.reason == DropReason::Expired)
    };
    assert_eq!((point.held(), events.len()), (1, 2));
    assert!(events.iter().all(is_expired), "{events:?}");
}

#[test]
fn a_poll_is_answered_with_one_packet_and_whether_more_wait() {
    let mut point = point_with_a_dozing_member();
    for _ in 0..2 {
        assert_eq!(take(&mut point, packet_to(address(1))), Ok(()));
    }
    let mut polled = || {
        let header = Header { transmitter: address(1), ..Header::new(Kind::PsPoll, address(9)) };
        point.handle_own(millis(3), &header, &Frame::default(), None);
        let order = point.next(&mut || None, &mut VecDeque::new()).expect("an answer");
        (order.kind, order.flags.has(Flags::MORE_DATA), order.third)
    };
    assert_eq!(polled(), (Kind::Data, true, Some(address(3))));
    assert_eq!(polled(), (Kind::Data, false, Some(address(3))));
    // Nothing is left: an empty frame of the access point's own.
    assert_eq!(polled(), (Kind::Null, false, Some(address(9))));
}

#[test]
fn a_member_heeds_only_the_access_point_that_it_deals_with() {
    let mut bss = member();
    let at = millis(10);
    hears(&mut bss, at, (Kind::Beacon, 2), beacon(b"office", at), -60.0);
    let at = bss.alarm().expect("it looks for a while");
    bss.settle(at);
    assert_eq!(sent(&mut bss), [(Kind::Authentication, address(2))]);
    let yes = || Authentication { algorithm: 0, step: 2, status: 0 }.encode();
    assert_eq!(hears(&mut bss, at, (Kind::Authentication, 3), yes(), -60.0), []);
    let asks = hears(&mut bss, at, (Kind::Authentication, 2), yes(), -60.0);
    assert_eq!(asks, [(Kind::AssociationRequest, address(2))]);
    hears(&mut bss, at, (Kind::AssociationResponse, 3), granted(), -60.0);
    assert_eq!(bss.access_point(), None);
    hears(&mut bss, at, (Kind::AssociationResponse, 2), granted(), -60.0);
    assert_eq!(bss.access_point(), Some(address(2)));
    for kind in [Kind::Disassociation, Kind::Deauthentication] {
        let mut bss = joined();
        hears(&mut bss, at, (kind, 3), vec![1, 0], -60.0);
        assert_eq!(bss.access_point(), Some(address(2)), "{kind:?}");
        hears(&mut bss, at, (kind, 2), vec![1, 0], -60.0);
        assert_eq!(bss.access_point(), None, "{kind:?}");
    }
}

#[test]
fn a_member_expects_the_next_beacon_by_the_clock_of_the_access_point() {
    let mut bss = joined();
    let at = millis(400);
    // Beacons are due every 102.4 ms of the TSF timer, which shows 250 ms.
    let body = beacon(b"office", millis(250));
    hears(&mut bss, at, (Kind::Beacon, 2), body, -60.0);
    let wakes = bss.alarm().expect("it listens for the next") - at;
    assert!(wakes > Duration::from_micros(55_000), "{wakes}");
    assert!(wakes < Duration::from_micros(57_200), "{wakes}");
}

#[test]
fn a_member_knows_the_beacon_interval_from_the_scan() {
    let mut config = Config::new(address(9), Phy::G);
    config.role = Role::Member { ssid: ssid(), power_save: true };
    let mut bss = Bss::new(&config, &Stream::new(Seed(1), "bss")).expect("it is a member");
    let at = millis(10);
    let long = Beacon { interval: 1_000, ..Beacon::parse(&beacon(b"office", at)).expect("legal") };
    hears(&mut bss, at, (Kind::Beacon, 2), long.encode(), -60.0);
    let at = bss.alarm().expect("it looks for a while");
    bss.settle(at);
    let yes = Authentication { algorithm: 0, step: 2, status: 0 }.encode();
    hears(&mut bss, at, (Kind::Authentication, 2), yes, -60.0);
    hears(&mut bss, at, (Kind::AssociationResponse, 2), granted(), -60.0);
    bss.settle(at);
    // The next beacon is due at 1024 ms; after eight more it is missed.
    bss.settle(millis(1_024 * 8));
    assert_eq!(bss.access_point(), Some(address(2)));
    bss.settle(millis(1_024 * 10));
    assert_eq!(bss.access_point(), None);
}

/// Returns a member in power save mode that is associated with access point 2.
fn frugal() -> Bss {
    let mut config = Config::new(address(9), Phy::G);
    config.role = Role::Member { ssid: ssid(), power_save: true };
    let mut bss = Bss::new(&config, &Stream::new(Seed(1), "bss")).expect("it is a member");
    let at = millis(10);
    hears(&mut bss, at, (Kind::Beacon, 2), beacon(b"office", at), -60.0);
    let at = bss.alarm().expect("it looks for a while");
    bss.settle(at);
    let yes = Authentication { algorithm: 0, step: 2, status: 0 }.encode();
    hears(&mut bss, at, (Kind::Authentication, 2), yes, -60.0);
    let says = hears(&mut bss, at, (Kind::AssociationResponse, 2), granted(), -60.0);
    assert_eq!(says.last(), Some(&(Kind::Null, address(2))));
    bss
}

#[test]
fn a_member_asks_for_one_packet_after_the_other() {
    let mut bss = frugal();
    let at = millis(300);
    let network = NetworkDescription::new(b"office", &[PhyRate::Ofdm6], &[PhyRate::Ofdm6]);
    let tells = |waiting: Vec<u16>| {
        let timestamp = at.as_micros();
        let capability = capability::ESS;
        let network = network.clone();
        let waiting = Some(waiting);
        Beacon { timestamp, interval: 100, capability, network, channel: 6, waiting, erp: None }
            .encode()
    };
    assert_eq!(hears(&mut bss, at, (Kind::Beacon, 2), tells(vec![3, 5]), -60.0), []);
    let header = |kind| Header { transmitter: address(2), ..Header::new(kind, address(9)) };
    let body = Frame::packet(tells(vec![4]));
    bss.handle_own(at, &header(Kind::Beacon), &body, Some(-60.0));
    let order = bss.next(&mut || None, &mut VecDeque::new()).expect("it asks");
    assert_eq!((order.kind, order.packet.to, order.aid), (Kind::PsPoll, address(2), 4));
    let flags = |more| Flags::FROM_DS.with(Flags::MORE_DATA, more);
    let data = |more, to| Header {
        flags: flags(more),
        transmitter: address(2),
        third: address(3),
        ..Header::new(Kind::Data, to)
    };
    for (more, to, asks) in
        [(true, address(9), true), (false, address(9), false), (true, MacAddress::BROADCAST, false)]
    {
        assert_eq!(bss.handle_data(&data(more, to)), Use::Up);
        assert_eq!(!sent(&mut bss).is_empty(), asks, "more: {more}, to {to}");
    }
    // An empty frame may say so too, of this access point alone.
    for (from, asks) in [(3, false), (2, true)] {
        let null = Header { flags: flags(true), transmitter: address(from), ..header(Kind::Null) };
        bss.handle_own(at, &null, &Frame::default(), Some(-60.0));
        assert_eq!(!sent(&mut bss).is_empty(), asks, "from {from}");
    }
    // What comes from elsewhere or not by way of the access point is not for a member.
    let refused = Use::Refuse(DropReason::NotForUs);
    let other = Header { transmitter: address(3), ..data(false, address(9)) };
    assert_eq!(bss.handle_data(&other), refused);
    let direct = Header { flags: Flags::default(), ..data(false, address(9)) };
    assert_eq!(bss.handle_data(&direct), refused);
    let own = Header { third: address(9), ..data(false, MacAddress::BROADCAST) };
    assert_eq!(bss.handle_data(&own), refused);
}

#[test]
fn who_has_left_gets_what_waits_and_nothing_more() {
    for kind in [Kind::Disassociation, Kind::Deauthentication] {
        let mut point = point_with_a_dozing_member();
        assert_eq!(point.access_point(), Some(address(9)));
        assert_eq!(take(&mut point, packet_to(address(1))), Ok(()));
        let header = Header { transmitter: address(1), ..Header::new(kind, address(9)) };
        point.handle_own(millis(3), &header, &Frame::packet(vec![1, 0]), None);
        assert_eq!(sent(&mut point), [(Kind::Data, address(1))]);
        let refused = Err(DropReason::NoRoute);
        assert_eq!(take(&mut point, packet_to(address(1))), refused);
    }
}

#[test]
fn an_access_point_relays_between_its_members() {
    let mut point = point_with_a_dozing_member();
    let data = |to| Header {
        flags: Flags::TO_DS,
        transmitter: address(1),
        third: to,
        ..Header::new(Kind::Data, address(9))
    };
    assert_eq!(point.handle_data(&data(address(9))), Use::Up);
    assert_eq!(point.handle_data(&data(MacAddress::BROADCAST)), Use::Both);
    assert_eq!(point.handle_data(&data(address(1))), Use::Relay);
    assert_eq!(point.handle_data(&data(address(3))), Use::Refuse(DropReason::NoRoute));
    let stranger = Header { transmitter: address(3), ..data(address(9)) };
    assert_eq!(point.handle_data(&stranger), Use::Refuse(DropReason::NotForUs));
}

#[test]
fn a_beacon_that_was_not_sent_is_replaced_and_nothing_else_is() {
    let mut point = point_with_a_dozing_member();
    point.settle(point.alarm().expect("a beacon is due"));
    says(&mut point, false);
    assert_eq!(take(&mut point, packet_to(address(1))), Ok(()));
    point.settle(point.alarm().expect("a beacon is due"));
    let expected = [(Kind::Beacon, MacAddress::BROADCAST), (Kind::Data, address(1))];
    assert_eq!(sent(&mut point), expected);
}
