//! Contending stations whose medium processes the frames of other stations for all of them at once.

use core::mem;

use windfall_base::{Instant, Port};
use windfall_channel::radio::Edge;
use windfall_stack::Contention;

use super::{MediumSlot, Network, Slot};
use crate::ElementId;

/// The contentions that the interfaces at one medium have lent.
#[derive(Debug, Default)]
pub(super) struct Contenders {
    waiting: Vec<Contender>,
    /// The earliest attempt, and the interfaces that make it, which are in the agenda.
    earliest: Option<Instant>,
    armed: Vec<usize>,
    /// Set while the medium is in [`Network::changed`], because the earliest attempt may be out of
    /// date.
    is_changed: bool,
}

/// An interface that contends for its medium.
#[derive(Debug)]
struct Contender {
    interface: usize,
    port: Port,
    /// The time of the attempt if the medium stays idle.
    attempt: Option<Instant>,
    contention: Contention,
}

impl Contenders {
    /// Applies a carrier edge to all contenders by `take`.
    fn tell(&mut self, mut take: impl FnMut(&mut Contender)) {
        for contender in &mut self.waiting {
            take(contender);
            contender.attempt = contender.contention.attempt_at();
        }
    }
}

impl Network {
    /// Takes the contention of an interface that only contends.
    pub(super) fn begin_contention(&mut self, index: usize, contention: Contention) {
        let Slot { medium, medium_port, contends, .. } = &mut self.interfaces[index];
        let medium = *medium;
        let MediumSlot { contenders, .. } = &mut self.media[medium];
        let port = *medium_port;
        let attempt = contention.attempt_at();
        if contenders.waiting.is_empty() {
            self.contended_media.push(medium);
        }
        *contends = Some(contenders.waiting.len());
        contenders.waiting.push(Contender { interface: index, port, attempt, contention });
        self.agenda.set(ElementId(index as u32), None);
        if attempt.is_some_and(|at| contenders.earliest.is_none_or(|earliest| at <= earliest)) {
            self.change_contenders(medium);
        }
    }

    /// Returns the contention to its interface; `true` if the interface had lent one.
    pub(super) fn end_contention(&mut self, index: usize) -> bool {
        let Slot { medium, contends, interface, touched, .. } = &mut self.interfaces[index];
        let Some(place) = contends.take() else { return false };
        let medium = *medium;
        let MediumSlot { contenders, .. } = &mut self.media[medium];
        let Contender { attempt, contention, .. } = contenders.waiting.swap_remove(place);
        interface.resume(contention);
        if contenders.waiting.is_empty() {
            self.contended_media.retain(|crowd| *crowd != medium);
        }
        if !mem::replace(touched, true) {
            self.touched.push(index);
        }
        if let Some(moved) = contenders.waiting.get(place) {
            self.interfaces[moved.interface].contends = Some(place);
        }
        if attempt.is_some() && attempt == contenders.earliest {
            self.change_contenders(medium);
        }
        true
    }

    /// Returns the contentions whose attempts are due. Their interfaces then get the inputs of this
    /// instant from the medium in the usual order.
    #[inline]
    pub(super) fn end_due_contentions(&mut self, now: Instant) {
        for place in (0..self.contended_media.len()).rev() {
            let contenders = &mut self.media[self.contended_media[place]].contenders;
            if contenders.earliest.is_some_and(|at| at <= now) {
                for index in mem::take(&mut contenders.armed) {
                    self.stop_rest(index);
                }
            }
        }
    }

    /// Applies the carrier edges of a medium to its contenders.
    #[inline]
    pub(super) fn take_edges(&mut self, medium: usize) {
        if let Some(edge) = self.media[medium].medium.poll_edge() {
            self.take_edges_from(medium, edge);
        }
    }

    fn take_edges_from(&mut self, medium: usize, first: Edge) {
        let mut committed = Vec::new();
        let mut next = Some(first);
        while let Some(edge) = next {
            let MediumSlot { contenders, ends, .. } = &mut self.media[medium];
            match edge {
                Edge::Busy(at, readers) => contenders.tell(|contender| {
                    if readers.contains(contender.port) && contender.contention.carrier_busy(at) {
                        committed.push(contender.interface);
                    }
                }),
                Edge::Idle(at, head, readers) => contenders.tell(|contender| {
                    if readers.contains(contender.port) {
                        contender.contention.carrier_idle(at, head);
                    }
                }),
                Edge::Stop(port) => {
                    let end = ends[usize::from(port.0)];
                    self.end_contention(end);
                }
            }
            next = self.media[medium].medium.poll_edge();
        }
        self.change_contenders(medium);
        // An interface gets the inputs that it missed only after its contention is returned.
        for index in committed {
            self.stop_rest(index);
        }
    }

    /// Marks the earliest attempt at a medium as out of date.
    fn change_contenders(&mut self, medium: usize) {
        let MediumSlot { contenders, .. } = &mut self.media[medium];
        if !mem::replace(&mut contenders.is_changed, true) {
            self.changed.push(medium);
        }
    }

    /// Enters the earliest attempts of contenders into the agenda.
    #[inline]
    pub(super) fn enter_attempts(&mut self) {
        while let Some(medium) = self.changed.pop() {
            self.enter_attempts_at(medium);
        }
    }

    fn enter_attempts_at(&mut self, medium: usize) {
        let Self { media, interfaces, agenda, .. } = self;
        let contenders = &mut media[medium].contenders;
        contenders.is_changed = false;
        for index in contenders.armed.drain(..) {
            if interfaces[index].contends.is_some() {
                agenda.set(ElementId(index as u32), None);
            }
        }
        contenders.earliest = contenders.waiting.iter().filter_map(|it| it.attempt).min();
        for contender in &contenders.waiting {
            if contender.attempt.is_some() && contender.attempt == contenders.earliest {
                agenda.set(ElementId(contender.interface as u32), contender.attempt);
                contenders.armed.push(contender.interface);
            }
        }
    }
}
