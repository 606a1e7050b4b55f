use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn a_datagram_is_read_as_it_was_written(
        is_v6 in any::<bool>(),
        ports in any::<[u16; 2]>(),
        ecn in 0u8..4,
        payload in vec(any::<u8>(), 0..1400),
    ) {
        let ips = if is_v6 { ["fd77::1", "fd77::2"] } else { ["10.77.0.1", "10.77.0.2"] };
        let [from, to] =
            [0, 1].map(|end| SocketAddr::new(ips[end].parse().expect("an address"), ports[end]));
        let datagram =
            SimDatagram { from, to, ecn: Ecn::from_bits(ecn), payload: payload.into() };
        let packet = Bytes::from(datagram.to_packet().expect("it is short"));
        prop_assert_eq!(SimDatagram::parse(&packet), Some(datagram.clone()));
        prop_assert_eq!(SimDatagram::parse_checked(&packet), Some(datagram));
    }

    #[test]
    fn no_bytes_panic(bytes in vec(any::<u8>(), 0..80)) {
        let packet = Bytes::from(bytes);
        let lenient = SimDatagram::parse(&packet);
        if let Some(checked) = SimDatagram::parse_checked(&packet) {
            prop_assert_eq!(lenient, Some(checked));
        }
    }
}

#[test]
fn damage_of_data_is_passed_up_and_damage_of_headers_is_a_loss() {
    let [from, to] = ["10.77.0.1:1", "10.77.0.2:2"].map(|it| it.parse().expect("an address"));
    let datagram = SimDatagram { from, to, ecn: Ecn::Capable0, payload: vec![0; 100].into() };
    let good = datagram.to_packet().expect("it is short");
    let hit = |byte: usize| {
        let mut packet = good.clone();
        packet[byte] ^= 4;
        Bytes::from(packet)
    };
    let read = SimDatagram::parse(&hit(60)).expect("its headers are whole");
    assert_eq!((read.payload[32], read.payload.len()), (4, 100));
    assert_eq!(SimDatagram::parse_checked(&hit(60)), None);
    for byte in 0..20 {
        assert_eq!(SimDatagram::parse(&hit(byte)), None, "byte {byte} of the header of IP");
    }
    assert_eq!(SimDatagram::parse(&hit(24)), None, "its length");
    let mixed = SimDatagram { to: "[fd77::1]:2".parse().expect("an address"), ..datagram };
    assert!(mixed.to_packet().is_err());
}
