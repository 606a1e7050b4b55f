//! The connections of SAP that take threads of a server, by their client. If there are as many as
//! may be, or the system has no further thread, one gives way to each newcomer.
//!
//! The client that takes most threads loses a connection: whoever asks for many bodies and
//! acknowledges nothing would otherwise keep everybody else out.

use core::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// The connections, by the number of their last use.
pub(crate) struct SapConnections<T> {
    next: u64,
    used: BTreeMap<u64, (IpAddr, T)>,
}

impl<T> Default for SapConnections<T> {
    fn default() -> Self {
        Self { next: 0, used: BTreeMap::new() }
    }
}

impl<T> SapConnections<T> {
    /// Takes a connection of a client in; returns its number.
    pub(crate) fn enter(&mut self, client: IpAddr, connection: T) -> u64 {
        self.next += 1;
        self.used.insert(self.next, (client, connection));
        self.next
    }

    /// Returns how many there are.
    pub(crate) fn len(&self) -> usize {
        self.used.len()
    }

    /// Returns how many threads they take, with the bodies `under_way` on each.
    pub(crate) fn threads(&self, under_way: impl Fn(&T) -> usize) -> usize {
        self.used.values().map(|(_, connection)| 1 + under_way(connection)).sum()
    }

    /// Tells whether a connection need not give way.
    pub(crate) fn has(&self, number: u64) -> bool {
        self.used.contains_key(&number)
    }

    /// Notes that a connection was of use; returns its number from now on. One that has given way
    /// stays out.
    pub(crate) fn touch(&mut self, number: u64) -> u64 {
        match self.used.remove(&number) {
            Some((client, connection)) => self.enter(client, connection),
            None => number,
        }
    }

    /// Removes a connection that has ended.
    pub(crate) fn leave(&mut self, number: u64) {
        self.used.remove(&number);
    }

    /// Takes out the connection that gives way to further work of a client: of those that `may`,
    /// one of the client with the most threads. One that carries nothing goes first, and the one
    /// that was used longest ago. A connection takes a thread, and each of the bodies `under_way`
    /// on it another one. `None` if all other clients take fewer than this one.
    pub(crate) fn giving_way(
        &mut self,
        newcomer: IpAddr,
        may: impl Fn(&T) -> bool,
        under_way: impl Fn(&T) -> usize,
    ) -> Option<T> {
        let mut threads = BTreeMap::from([(newcomer, 1)]);
        for (client, connection) in self.used.values() {
            *threads.entry(*client).or_default() += 1 + under_way(connection);
        }
        let those = self.used.iter().filter(|(_, (client, connection))| {
            may(connection) && threads[client] >= threads[&newcomer]
        });
        let ranked = those.map(|(number, (client, connection))| {
            (threads[client], under_way(connection) == 0, Reverse(*number))
        });
        let (_, _, Reverse(number)) = ranked.max()?;
        self.used.remove(&number).map(|(_, connection)| connection)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn at(last: u8) -> IpAddr {
        IpAddr::V4(Ipv4Addr::new(10, 0, 0, last))
    }

    /// Takes in connections, each the last number of its client, its name, and the bodies on it.
    fn entered(all: &[(u8, &'static str, usize)]) -> SapConnections<(&'static str, usize)> {
        let mut connections = SapConnections::default();
        for (client, name, bodies) in all {
            connections.enter(at(*client), (*name, *bodies));
        }
        connections
    }

    fn gives_way(
        connections: &mut SapConnections<(&'static str, usize)>,
        newcomer: u8,
        spared: &str,
    ) -> Option<&'static str> {
        let way = connections.giving_way(at(newcomer), |it| it.0 != spared, |it| it.1);
        way.map(|it| it.0)
    }

    #[test]
    fn the_client_that_takes_most_threads_loses_its_connections_first() {
        let mut all = entered(&[(1, "a", 1), (2, "b", 1), (2, "c", 1), (2, "d", 0), (3, "e", 4)]);
        assert_eq!(all.threads(|it| it.1), 12);
        let order = [(); 5].map(|()| gives_way(&mut all, 9, "").expect("one"));
        // Of the second client the idle one, and then the one that it has used longest ago.
        assert_eq!(order, ["d", "e", "b", "a", "c"]);
        assert_eq!(gives_way(&mut all, 9, ""), None);
    }

    #[test]
    fn where_each_client_has_one_connection_the_one_that_is_idle_for_longest_gives_way() {
        let mut all = entered(&[(1, "a", 0), (2, "b", 0), (3, "c", 0)]);
        let first = all.touch(1);
        assert_eq!(gives_way(&mut all, 9, ""), Some("b"));
        assert!(all.has(first) && !all.has(1) && !all.has(2));
        assert_eq!((all.touch(2), all.len()), (2, 2), "it stays out");
        all.leave(first);
        assert_eq!((all.len(), gives_way(&mut all, 9, "")), (1, Some("c")));
    }

    #[test]
    fn a_client_makes_room_for_itself_and_takes_none_from_those_that_have_less() {
        let mut all = entered(&[(1, "a", 5), (1, "b", 1), (2, "c", 1)]);
        assert_eq!(gives_way(&mut all, 1, "b"), Some("a"));
        assert_eq!(gives_way(&mut all, 1, "b"), None, "its one connection needs the thread");
        assert_eq!(gives_way(&mut all, 2, "c"), None);
        assert_eq!(gives_way(&mut all, 3, ""), Some("b"));
    }
}
