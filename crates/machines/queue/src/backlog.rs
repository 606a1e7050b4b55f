//! The number of queued packets of each flow.

/// The packet count of each flow.
#[derive(Clone, Debug, Default)]
pub(crate) struct Backlog(Vec<u32>);

impl Backlog {
    /// Adds a flow without packets and returns its number.
    pub(crate) fn add(&mut self) -> usize {
        self.0.push(0);
        self.0.len() - 1
    }

    /// Counts an arriving packet, and returns whether the flow had none.
    pub(crate) fn arrive(&mut self, flow: usize) -> bool {
        self.0[flow] += 1;
        self.0[flow] == 1
    }

    /// Counts a departing packet, and returns whether it was the flow's last.
    pub(crate) fn depart(&mut self, flow: usize) -> bool {
        let was = self.0[flow];
        self.0[flow] = was.saturating_sub(1);
        was == 1
    }

    pub(crate) fn has_packets(&self, flow: usize) -> bool {
        self.0[flow] > 0
    }
}
