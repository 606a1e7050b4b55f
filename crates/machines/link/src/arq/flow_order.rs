//! The order of packets within their flows, for packets that do not wait for other flows.

use std::collections::{BTreeMap, VecDeque};

use windfall_base::seq::Seq32;
use windfall_base::{Class, FlowId, Instant};
use windfall_wire_link::pipe::{FlowPlace, UNTOLD};

/// The flow within which alone a packet is ordered, if it has one.
#[derive(Debug)]
pub(crate) struct OwnFlow {
    flow: Option<FlowId>,
    /// The packet's number in the flow, after its first transmission.
    number: Option<Seq32>,
    /// The latest time at which the packet can still be sent.
    latest: Option<Instant>,
    /// The receiver passes the packet up without waiting for earlier ones of the flow.
    is_unordered: bool,
}

impl OwnFlow {
    /// Returns the flow of a packet if its owner limits its attempts or lifetime, accepts any
    /// order, or asks for an order of its own. The packet can be sent until `latest`.
    pub(crate) fn of(class: &Class, latest: Option<Instant>) -> Self {
        let is_limited = class.attempts.is_some() || class.lifetime.is_some();
        let is_named = class.flow != FlowId::default();
        let is_own = class.own_order || is_named && (is_limited || class.unordered);
        let flow = is_own.then_some(class.flow);
        Self { flow, number: None, latest, is_unordered: class.unordered }
    }
}

impl OwnFlow {
    /// Returns `true` if the packet is ordered only within its flow, or not at all.
    pub(crate) const fn is_any(&self) -> bool {
        self.flow.is_some()
    }
}

/// The numbers of packets within their flows, at the sender.
#[derive(Debug, Default)]
pub(crate) struct FlowNumbers(BTreeMap<FlowId, Numbers>);

#[derive(Debug, Default)]
struct Numbers {
    next: Seq32,
    /// The packets that may still be sent, in order, and the latest time for each.
    open: VecDeque<(Seq32, Option<Instant>)>,
}

impl FlowNumbers {
    /// Returns the place of a packet in its flow, for a frame sent `now`; `None` if it has no own
    /// flow.
    pub(crate) fn place_of(&mut self, now: Instant, own: &mut OwnFlow) -> Option<FlowPlace> {
        let flow = own.flow?;
        let number = *own.number.get_or_insert_with(|| self.begin(flow, own.latest));
        self.expire(now, flow);
        let place = self.place(flow, number);
        Some(if own.is_unordered { FlowPlace { open: 0, ..place } } else { place })
    }

    /// Notes that a packet will not be sent again.
    pub(crate) fn finish(&mut self, own: &OwnFlow) {
        if let (Some(flow), Some(number)) = (own.flow, own.number) {
            self.close(flow, number);
        }
    }

    /// Assigns a number to the next packet of a flow.
    fn begin(&mut self, flow: FlowId, latest: Option<Instant>) -> Seq32 {
        let numbers = self.0.entry(flow).or_default();
        let number = numbers.next;
        numbers.next = number.next();
        numbers.open.push_back((number, latest));
        number
    }

    /// Removes the packets that can no longer arrive within their lifetime, because they are not
    /// retransmitted.
    fn expire(&mut self, now: Instant, flow: FlowId) {
        let Some(Numbers { open, .. }) = self.0.get_mut(&flow) else { return };
        while open.front().is_some_and(|(_, latest)| latest.is_some_and(|at| at < now)) {
            open.pop_front();
        }
    }

    /// Returns the place of packet `number` as frame headers encode it.
    fn place(&self, flow: FlowId, number: Seq32) -> FlowPlace {
        let first = self.0.get(&flow).and_then(|numbers| numbers.open.front());
        let open = first.map_or(0, |(first, _)| number.distance_from(*first).max(0));
        let open = u16::try_from(open).unwrap_or(UNTOLD);
        FlowPlace { flow: flow.0, number, open }
    }

    fn close(&mut self, flow: FlowId, number: Seq32) {
        let Some(numbers) = self.0.get_mut(&flow) else { return };
        if let Ok(place) =
            numbers.open.binary_search_by(|(other, _)| other.distance_from(number).cmp(&0))
        {
            numbers.open.remove(place);
        }
    }
}

/// For each flow, the received packets that wait for an earlier packet.
#[derive(Debug, Default)]
pub(crate) struct FlowOrder(BTreeMap<u16, Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    /// The first packet that was neither passed up nor skipped.
    next: Seq32,
    /// The numbers of the waiting packets, in the flow and on the link, in order.
    packets: VecDeque<(Seq32, Seq32)>,
}

impl FlowOrder {
    /// Records a received packet, and skips the packets that its sender will not send again.
    pub(crate) fn arrive(&mut self, place: FlowPlace, seq: Seq32) {
        let waiting = self.0.entry(place.flow).or_default();
        let at = waiting.packets.partition_point(|(other, _)| other.is_before(place.number));
        if waiting.packets.get(at).is_none_or(|(other, _)| *other != place.number) {
            waiting.packets.insert(at, (place.number, seq));
        }
        if place.open == UNTOLD {
            return;
        }
        let first = place.number + u32::from(place.open).wrapping_neg();
        if waiting.next.is_before(first) {
            waiting.next = first;
        }
    }

    /// Returns the first packet of a flow, if no earlier one is expected.
    pub(crate) fn first(&self, flow: u16) -> Option<Seq32> {
        let waiting = self.0.get(&flow)?;
        let (number, seq) = waiting.packets.front()?;
        (!waiting.next.is_before(*number)).then_some(*seq)
    }

    /// Records that a packet was passed up.
    pub(crate) fn pass(&mut self, place: FlowPlace) {
        let Some(waiting) = self.0.get_mut(&place.flow) else { return };
        waiting.packets.retain(|(number, _)| place.number.is_before(*number));
        if waiting.next.is_before(place.number.next()) {
            waiting.next = place.number.next();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(number: u32, open: u16) -> FlowPlace {
        FlowPlace { flow: 7, number: Seq32(number), open }
    }

    #[test]
    fn a_place_says_from_where_on_packets_may_still_come() {
        let mut numbers = FlowNumbers::default();
        let flow = FlowId(7);
        let [a, b, c] = [(); 3].map(|()| numbers.begin(flow, None));
        assert_eq!(numbers.place(flow, c), place(2, 2));
        numbers.close(flow, b);
        assert_eq!(numbers.place(flow, c), place(2, 2));
        numbers.close(flow, a);
        assert_eq!(numbers.place(flow, c), place(2, 0));
        numbers.close(flow, c);
        assert_eq!(numbers.place(flow, c), place(2, 0), "one that is sent only once");
        assert_eq!(numbers.begin(FlowId(8), None), Seq32(0));
    }

    #[test]
    fn a_packet_waits_for_those_before_it_that_may_still_come() {
        let mut order = FlowOrder::default();
        order.arrive(place(1, 1), Seq32(11));
        assert_eq!(order.first(7), None);
        order.arrive(place(0, 0), Seq32(10));
        assert_eq!(order.first(7), Some(Seq32(10)));
        order.pass(place(0, 0));
        assert_eq!(order.first(7), Some(Seq32(11)));
        order.pass(place(1, 0));
        assert_eq!(order.first(7), None);
        // Number 2 was given up.
        order.arrive(place(3, 0), Seq32(14));
        assert_eq!(order.first(7), Some(Seq32(14)));
    }
}
