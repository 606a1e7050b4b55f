//! Media and their interfaces: when each interface gets its inputs. A resting interface gets them
//! late.

use windfall_base::{Input, Instant, Node, Port};
use windfall_channel::MediumEvent;
use windfall_stack::MEDIUM;

use super::{MediumSlot, Network, Slot};
use crate::ElementId;
use crate::event::{EventKind, NetworkEvent};

impl Network {
    /// Gives an interface that becomes active the inputs that were withheld while it rested.
    #[inline]
    pub(super) fn stop_rest(&mut self, index: usize) {
        let Slot { medium, medium_port, resting, .. } = &mut self.interfaces[index];
        let medium = *medium;
        let port = *medium_port;
        let is_idle = core::mem::take(resting);
        if is_idle || self.end_contention(index) {
            self.media[medium].medium.stop_rest(port);
            self.take_late(medium);
        }
    }

    /// Gives resting interfaces their withheld inputs. None of them acts on these inputs.
    #[inline]
    pub(super) fn take_late(&mut self, medium: usize) {
        let MediumSlot { medium, ends, .. } = &mut self.media[medium];
        while let Some((at, port, input)) = medium.poll_late() {
            if let Some(&end) = ends.get(usize::from(port.0)) {
                self.interfaces[end].interface.handle_input(at, MEDIUM, input);
            }
        }
    }

    /// Gives the interfaces of a medium their due inputs. Their frames wait until all have got
    /// them.
    pub(super) fn drain_medium(&mut self, now: Instant, index: usize) {
        self.media[index].medium.handle_timeout(now);
        self.take_edges(index);
        self.take_late(index);
        while let Some((port, input)) = self.next_reception(now, index) {
            let Some(&end) = self.media[index].ends.get(usize::from(port.0)) else { continue };
            let slot = &mut self.interfaces[end];
            debug_assert!(slot.contends.is_none(), "an edge has told it that it rests no longer");
            slot.resting &= !matches!(input, Input::Frame(..));
            slot.interface.handle_input(now, MEDIUM, input);
            // A resting interface does not react to inputs.
            if !slot.resting {
                self.drain_interface(now, end);
            }
        }
        self.note_wake_up(index);
    }

    /// Enters the wake-up of a medium into the agenda.
    pub(super) fn note_wake_up(&mut self, index: usize) {
        let element = ElementId((self.interfaces.len() + index) as u32);
        let wake_up = self.media[index].medium.poll_timeout().map(|(at, _)| at);
        self.agenda.set(element, wake_up);
    }

    /// Returns the next input from a medium, after the medium's events up to that input.
    #[inline]
    fn next_reception(&mut self, now: Instant, index: usize) -> Option<(Port, Input)> {
        let reception = self.media[index].medium.poll_reception(now);
        while let Some((at, event)) = self.media[index].medium.poll_event() {
            self.take_medium_event(at, index, event);
        }
        reception
    }

    fn take_medium_event(&mut self, at: Instant, index: usize, event: MediumEvent) {
        self.account_medium(index, &event);
        if self.recording.events {
            let element = ElementId((self.interfaces.len() + index) as u32);
            self.events.push_back(NetworkEvent { at, element, what: EventKind::Medium(event) });
        }
    }
}
