use proptest::collection::{btree_set, vec};
use proptest::prelude::*;

use super::*;

fn any_network() -> impl Strategy<Value = NetworkDescription> {
    let rates = prop::sample::subsequence(&PhyRate::ALL[..], 1..=12);
    (vec(any::<u8>(), 0..=MAX_SSID), rates, any::<bool>()).prop_map(|(ssid, rates, basic)| {
        let basic = if basic { &rates[..1] } else { &[] };
        NetworkDescription::new(&ssid, &rates, basic)
    })
}

proptest! {
    #[test]
    fn beacons_survive(
        network in any_network(),
        (timestamp, interval, capability, channel) in any::<(u64, u16, u16, u8)>(),
        waiting in prop::option::of(btree_set(1..=MAX_AID, 0..20)),
        erp in any::<Option<u8>>(),
    ) {
        let waiting = waiting.map(|aids| aids.into_iter().collect());
        let beacon = Beacon { timestamp, interval, capability, network, channel, waiting, erp };
        prop_assert_eq!(Beacon::parse(&beacon.encode()), Ok(beacon));
    }

    #[test]
    fn requests_and_answers_survive(
        network in any_network(),
        (capability, other) in any::<(u16, u16)>(),
        leaves in prop::option::of(any::<[u8; 6]>()),
        aid in 1..=MAX_AID,
    ) {
        let leaves = leaves.map(MacAddress);
        let again = leaves.is_some();
        let unnamed = NetworkDescription { ssid: Ssid::new(), ..network.clone() };
        let request = AssociationRequest { capability, listen_interval: other, leaves, network };
        prop_assert_eq!(AssociationRequest::parse(&request.encode(), again), Ok(request));
        let answer = AssociationResponse { capability, status: other, aid, network: unnamed };
        prop_assert_eq!(AssociationResponse::parse(&answer.encode()), Ok(answer));
    }

    #[test]
    fn any_bytes_parse_without_panic(bytes in vec(any::<u8>(), 0..200)) {
        let _ = Beacon::parse(&bytes);
        let _ = Authentication::parse(&bytes);
        let _ = AssociationRequest::parse(&bytes, bytes.len().is_multiple_of(2));
        let _ = AssociationResponse::parse(&bytes);
    }
}

#[test]
fn authentication_survives() {
    let open = Authentication { algorithm: 0, step: 2, status: 0 };
    assert_eq!(open.encode(), [0, 0, 2, 0, 0, 0]);
    assert_eq!(Authentication::parse(&open.encode()), Ok(open));
}

#[test]
fn a_map_of_waiting_frames_is_as_short_as_the_standard_allows() {
    assert_eq!(traffic_map(&[]), [0, 1, 0, 0]);
    assert_eq!(traffic_map(&[1, 9]), [0, 1, 0, 2, 2]);
    assert_eq!(traffic_map(&[2007]), [0, 1, 250, 0x80]);
}
