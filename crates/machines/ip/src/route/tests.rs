use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn route(to: &str, interface: usize) -> RouteEntry {
    RouteEntry { to: to.parse().expect("a prefix"), interface }
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
    let mut table = RoutingTable::new([route("10.0.0.0/8", 1), route("10.9.9.9/8", 2)]);
    let lookup = |table: &RoutingTable| table.lookup([10, 1, 1, 1].into());
    assert_eq!(lookup(&table), Some(2));
    table.insert(route("10.1.0.0/16", 3));
    assert_eq!(lookup(&table), Some(3));
    table.share(SharedRoutes { source: Arc::new(Source(32)), station: 4 });
    assert_eq!(lookup(&table), Some(4));
}

/// Every station reaches 10.1.0.0/16 by the interface that has its number.
#[derive(Debug)]
struct Source(u8);

impl RouteSource for Source {
    fn lookup(&self, station: usize, destination: IpAddr) -> Option<(u8, usize)> {
        let network = IpNet::new(destination, 16).expect("both are longer").network();
        (network == IpAddr::from([10, 1, 0, 0])).then_some((self.0, station))
    }
}

#[test]
fn of_own_and_shared_routes_the_longer_prefix_wins_and_the_own_one_of_two_as_long() {
    let mut table = RoutingTable::new([
        route("0.0.0.0/0", 0),
        route("10.1.2.0/24", 1),
        route("10.1.3.4/32", 2),
        route("10.1.0.0/17", 3),
    ]);
    let lookup = |table: &RoutingTable, text: &str| table.lookup(text.parse().expect("an address"));
    assert_eq!(lookup(&table, "10.1.200.1"), Some(0));
    table.share(SharedRoutes { source: Arc::new(Source(16)), station: 7 });
    assert_eq!(lookup(&table, "10.1.200.1"), Some(7));
    assert_eq!(lookup(&table, "10.1.2.3"), Some(1));
    assert_eq!(lookup(&table, "10.1.3.4"), Some(2));
    assert_eq!(lookup(&table, "10.2.0.1"), Some(0));
    for (len, interface) in [(16, 3), (17, 3), (18, 7)] {
        table.share(SharedRoutes { source: Arc::new(Source(len)), station: 7 });
        assert_eq!(lookup(&table, "10.1.1.1"), Some(interface), "{len}");
    }
    table.share(SharedRoutes { source: Arc::new(Source(32)), station: 7 });
    assert_eq!(lookup(&table, "10.1.3.4"), Some(2), "nothing is longer than an address");
}

#[test]
fn shared_routes_are_the_same_for_one_station_of_one_source() {
    let source: Arc<dyn RouteSource> = Arc::new(Source(16));
    let of = |source: &Arc<dyn RouteSource>, station| {
        let source = Arc::clone(source);
        SharedRoutes { source, station }
    };
    let other: Arc<dyn RouteSource> = Arc::new(Source(16));
    assert_eq!(of(&source, 1), of(&source, 1));
    assert_ne!(of(&source, 1), of(&source, 2));
    assert_ne!(of(&source, 1), of(&other, 1));
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
                RouteEntry { to: IpNet::new(address.into(), len).expect("at most 32"), interface }
            })
            .collect();
        let mut destination = destination;
        destination[0] &= 3;
        let destination = IpAddr::from(destination);
        let matching = routes.iter().filter(|route| route.to.contains(&destination));
        let best = matching.max_by_key(|route| (route.to.prefix_len(), route.interface));
        let table = RoutingTable::new(routes.iter().copied());
        prop_assert_eq!(table.lookup(destination), best.map(|route| route.interface));
    }
}
