use super::*;

const V4: IpAddr = IpAddr::V4(core::net::Ipv4Addr::new(10, 0, 0, 1));
const V6: IpAddr = IpAddr::V6(core::net::Ipv6Addr::LOCALHOST);
const NOW: Instant = Instant::from_nanos(7);

#[test]
fn what_was_learned_holds_for_ten_minutes() {
    let mut mtus = PathMtus::default();
    assert_eq!(mtus.get(NOW, V4, 1500), 1500);
    assert_eq!(mtus.learn(NOW, V4, 1400, 1500), Some(1400));
    assert_eq!(mtus.get(NOW, V4, 1500), 1400);
    assert_eq!(mtus.get(NOW, V4, 576), 576);
    assert_eq!(mtus.get(NOW, V6, 1500), 1500);
    assert_eq!(mtus.get(NOW + LIFETIME, V4, 1500), 1500);
}

#[test]
fn a_message_never_raises_what_is_known() {
    let mut mtus = PathMtus::default();
    mtus.learn(NOW, V4, 1000, 1500);
    assert_eq!(mtus.learn(NOW, V4, 1200, 1500), None);
    assert_eq!(mtus.learn(NOW, V4, 1500, 1400), None);
    assert_eq!(mtus.get(NOW, V4, 1500), 1000);
}

#[test]
fn a_router_that_does_not_say_its_mtu_leads_down_the_plateaus() {
    let mut mtus = PathMtus::default();
    assert_eq!(mtus.learn(NOW, V4, 0, 1500), Some(1492));
    assert_eq!(mtus.learn(NOW, V4, 0, 1492), Some(1006));
    assert_eq!(mtus.learn(NOW, V4, 0, 69), Some(576));
    assert_eq!(mtus.learn(NOW, V4, 0, 69), Some(68));
    assert_eq!(mtus.learn(NOW, V4, 0, 68), None);
}

#[test]
fn no_path_is_narrower_than_every_link_must_be() {
    let mut mtus = PathMtus::default();
    assert_eq!(mtus.learn(NOW, V4, 20, 1500), Some(576), "not at once");
    assert_eq!(mtus.learn(NOW, V4, 20, 576), Some(68));
    assert_eq!(mtus.learn(NOW, V6, 1279, 1500), None);
    assert_eq!(mtus.learn(NOW, V6, 1280, 1500), Some(1280));
}

#[test]
fn memory_is_bounded_and_the_oldest_is_forgotten() {
    let mut mtus = PathMtus::default();
    let host = |n: u32| IpAddr::from(n.to_be_bytes());
    for n in 0..CAPACITY as u32 + 5 {
        mtus.learn(NOW + Duration::from_secs(n.into()), host(n), 1000, 1500);
    }
    assert_eq!(mtus.known.len(), CAPACITY);
    assert_eq!(mtus.get(NOW, host(4), 1500), 1500);
    assert_eq!(mtus.get(NOW, host(5), 1500), 1000);
}

#[test]
fn a_report_must_quote_what_was_sent() {
    let mut sent = SentLately::default();
    let quoted = |n: u16| [[0, 9, 0, 7, 5, 0].as_slice(), &n.to_be_bytes(), &[1, 2]].concat();
    sent.note(V4, Protocol::UDP, &quoted(0), 1_500);
    assert!(sent.contains(V4, Protocol::UDP, &quoted(0)));
    assert!(!sent.contains(V4, Protocol::UDP, &quoted(1)), "another checksum");
    assert!(!sent.contains(V6, Protocol::UDP, &quoted(0)), "another destination");
    assert!(!sent.contains(V4, Protocol::ICMP, &quoted(0)), "another protocol");
    assert!(!sent.contains(V4, Protocol::UDP, &quoted(0)[..7]), "too little");
    for n in 1..=REMEMBERED as u16 {
        sent.note(V4, Protocol::UDP, &quoted(n), 1_500);
    }
    assert!(!sent.contains(V4, Protocol::UDP, &quoted(0)), "long ago");
    assert!(sent.contains(V4, Protocol::UDP, &quoted(1)));
    // Every link carries such a packet.
    for (to, len) in [(V4, 68), (V6, 1_280)] {
        sent.note(to, Protocol::UDP, &quoted(0), len);
        assert!(!sent.contains(to, Protocol::UDP, &quoted(0)), "{to}");
    }
}
