//! The interface between the holder of packets and the machine that chooses whose turn it is.

use core::fmt;

/// Parameters of one flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowConfig {
    /// Its weight, above zero; of a reserved flow the reserved fraction of the error-free link.
    pub weight: f64,
    /// Its power factor, 1 or more; infinite for pure outcome fairness.
    pub power_factor: f64,
    /// Set if the weight is a reservation.
    pub reserved: bool,
}

/// Why a flow cannot be scheduled.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FlowError {
    /// The weight is zero, negative, infinite, or none.
    #[error("weight {0}: it must be a number above 0")]
    Weight(f64),
    /// The power factor is below one, or none.
    #[error("power factor {0}: it must be 1 (100 %) or more")]
    PowerFactor(f64),
}

impl FlowConfig {
    /// Checks that the flow can be scheduled.
    ///
    /// # Errors
    /// If its weight is not above zero or its power factor is below one.
    pub fn check(&self) -> Result<(), FlowError> {
        if !(self.weight > 0.0 && self.weight.is_finite()) {
            return Err(FlowError::Weight(self.weight));
        }
        // The negation also refuses NaN.
        if !(1.0..=f64::INFINITY).contains(&self.power_factor) {
            return Err(FlowError::PowerFactor(self.power_factor));
        }
        Ok(())
    }
}

/// The effort and the outcome of one turn of a flow, in the scheduler's unit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Service {
    /// Link time spent, whether or not anything came of it.
    pub effort: f64,
    /// The effort that the delivered packets would have taken on a link without errors.
    pub outcome: f64,
}

impl Service {
    /// Returns the sum of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { effort: self.effort + other.effort, outcome: self.outcome + other.outcome }
    }
}

/// Chooses whose packet is served next.
///
/// Its caller keeps the packets, each flow's in order. It says when one joins (`arrive`) and when
/// one is gone for good (`depart`), asks whose head is served next (`choose`), and says what each
/// attempt cost and brought (`charge`). Flows are numbered in the order of `add`.
pub trait Scheduler: fmt::Debug + Send {
    /// Adds a flow without packets and gives its number.
    ///
    /// # Errors
    /// If its weight is not above zero or its power factor is below one.
    fn add(&mut self, flow: FlowConfig) -> Result<usize, FlowError>;

    /// A packet joins a flow.
    fn arrive(&mut self, flow: usize);

    /// A packet of a flow is gone; a flow that has none ignores it.
    fn depart(&mut self, flow: usize);

    /// The flow whose turn it is; `None` if none has packets. Asking again changes nothing.
    fn choose(&mut self) -> Option<usize>;

    /// Charges a flow for an attempt and credits its outcome.
    fn charge(&mut self, flow: usize, service: Service);

    /// Passes time for which no flow is charged, in the unit of effort: the clock of reservations
    /// continues.
    fn pass(&mut self, _effort: f64) {}

    /// Returns the lag of a flow's outcome behind what its effort should have brought, in outcome.
    fn lag(&self, _flow: usize) -> f64 {
        0.0
    }
}
