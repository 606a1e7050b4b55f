use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn route(to: &str, interface: usize) -> Route {
    Route { to: to.parse().expect("a prefix"), interface }
}

#[test]
fn the_longest_prefix_wins_and_families_stay_apart() {
    let table = RoutingTable::new([
        route("0.0.0.0/0", 0),
        route("10.0.0.0/8", 1),
        route("10.1.0.0/16", 2),
        route("fd00::/8", 3),
    ]);
    let lookup = |text: &str| table.lookup(text.parse().expect("an address"));
    assert_eq!(lookup("10.1.2.3"), Some(2));
    assert_eq!(lookup("10.2.2.3"), Some(1));
    assert_eq!(lookup("11.0.0.1"), Some(0));
    assert_eq!(lookup("fd12::1"), Some(3));
    assert_eq!(lookup("fe80::1"), None);
}

#[test]
fn a_later_route_to_the_same_network_replaces_the_earlier() {
    let table = RoutingTable::new([route("10.0.0.0/8", 1), route("10.9.9.9/8", 2)]);
    assert_eq!(table.lookup([10, 1, 1, 1].into()), Some(2));
}

proptest! {
    #[test]
    fn equals_a_search_through_all_routes(
        routes in vec((any::<[u8; 4]>(), 0_u8..=32), 0..20),
        destination in any::<[u8; 4]>(),
    ) {
        // Few distinct leading bytes, so that prefixes meet.
        let routes: Vec<_> = routes
            .into_iter()
            .enumerate()
            .map(|(interface, (mut address, len))| {
                address[0] &= 3;
                Route { to: Prefix::new(address.into(), len).expect("at most 32"), interface }
            })
            .collect();
        let mut destination = destination;
        destination[0] &= 3;
        let destination = IpAddr::from(destination);
        let matching = routes.iter().filter(|route| route.to.contains(destination));
        let best = matching.max_by_key(|route| (route.to.bits(), route.interface));
        let table = RoutingTable::new(routes.iter().copied());
        prop_assert_eq!(table.lookup(destination), best.map(|route| route.interface));
    }
}
