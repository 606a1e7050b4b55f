//! The order of packets within their flows, for those that need not wait for other flows.

use std::collections::{BTreeMap, VecDeque};

use windfall_base::seq::Seq32;
use windfall_base::{Class, FlowId, Instant};
use windfall_wire_link::pipe::{FlowPlace, UNTOLD};

/// The flow with which alone a packet keeps order, if not with all packets.
#[derive(Debug)]
pub(crate) struct OwnFlow {
    flow: Option<FlowId>,
    /// The number of the packet in the flow, once it was sent.
    number: Option<Seq32>,
    /// The last moment at which the packet can still be sent.
    latest: Option<Instant>,
    /// Its receiver waits for none of the flow before it.
    is_unordered: bool,
}

impl OwnFlow {
    /// Returns the flow of a packet, which can be sent until `latest`, if its owner limits its
    /// attempts or its lifetime, or would have packets in any order.
    pub(crate) fn of(class: &Class, latest: Option<Instant>) -> Self {
        let is_limited = class.attempts.is_some() || class.lifetime.is_some();
        let is_own = (is_limited || class.unordered) && class.flow != FlowId::default();
        let flow = is_own.then_some(class.flow);
        Self { flow, number: None, latest, is_unordered: class.unordered }
    }
}

impl OwnFlow {
    /// Returns `true` if the packet keeps order with a flow of its own, or with none.
    pub(crate) const fn is_any(&self) -> bool {
        self.flow.is_some()
    }
}

/// The numbers that a sender gives to the packets of its flows.
#[derive(Debug, Default)]
pub(crate) struct FlowNumbers(BTreeMap<FlowId, Numbers>);

#[derive(Debug, Default)]
struct Numbers {
    next: Seq32,
    /// The packets that may still be sent, in their order, and until when each may.
    open: VecDeque<(Seq32, Option<Instant>)>,
}

impl FlowNumbers {
    /// Returns the place of a packet in the flow of its own, if it has one, for a frame sent `now`.
    pub(crate) fn place_of(&mut self, now: Instant, own: &mut OwnFlow) -> Option<FlowPlace> {
        let flow = own.flow?;
        let number = *own.number.get_or_insert_with(|| self.begin(flow, own.latest));
        self.expire(now, flow);
        let place = self.place(flow, number);
        Some(if own.is_unordered { FlowPlace { open: 0, ..place } } else { place })
    }

    /// Notes that a packet will not be sent any more.
    pub(crate) fn finish(&mut self, own: &OwnFlow) {
        if let (Some(flow), Some(number)) = (own.flow, own.number) {
            self.close(flow, number);
        }
    }

    /// Gives the next packet of a flow its number.
    fn begin(&mut self, flow: FlowId, latest: Option<Instant>) -> Seq32 {
        let numbers = self.0.entry(flow).or_default();
        let number = numbers.next;
        numbers.next = number.next();
        numbers.open.push_back((number, latest));
        number
    }

    /// Closes the packets that can no longer arrive within their lifetime: they are not
    /// retransmitted.
    fn expire(&mut self, now: Instant, flow: FlowId) {
        let Some(Numbers { open, .. }) = self.0.get_mut(&flow) else { return };
        while open.front().is_some_and(|(_, latest)| latest.is_some_and(|at| at < now)) {
            open.pop_front();
        }
    }

    /// The place of packet `number` as the headers of its frames have it.
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

/// The packets of each flow that a receiver has not passed up, since an earlier one may come.
#[derive(Debug, Default)]
pub(crate) struct FlowOrder(BTreeMap<u16, Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    /// The first packet that was neither passed up nor skipped.
    next: Seq32,
    /// The numbers of those that wait in the flow and on the link, in their order.
    packets: VecDeque<(Seq32, Seq32)>,
}

impl FlowOrder {
    /// Records a received packet, and skips those that its sender has finished with.
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

    /// The first packet of a flow, if none is to come before it.
    pub(crate) fn first(&self, flow: u16) -> Option<Seq32> {
        let waiting = self.0.get(&flow)?;
        let (number, seq) = waiting.packets.front()?;
        (!waiting.next.is_before(*number)).then_some(*seq)
    }

    /// Notes that a packet was passed up.
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
