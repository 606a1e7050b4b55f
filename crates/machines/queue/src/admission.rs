//! Admission of reserved flows: the share of a link that may be reserved (S3.33, S3.35).

use windfall_base::Rate;

/// A reservation asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reservation {
    /// The throughput to guarantee.
    pub rate: Rate,
    /// The limit on the extra effort for it, 1 or more.
    pub power_factor: f64,
}

/// The classes of section 6.5 of the paper, by the throughput that a flow requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowClass {
    /// Up to 64 kb/s: worth three times its link time.
    Voice,
    /// Above: compressed video, worth one and a half times its link time.
    Video,
    /// No reservation: mild outcome fairness.
    BestEffort,
}

impl FlowClass {
    //= S3.35
    /// Returns the class of a flow that reserves `rate`; `None` is best effort.
    #[must_use]
    pub fn of(rate: Option<Rate>) -> Self {
        match rate {
            None => Self::BestEffort,
            Some(rate) if rate.as_bps() <= 64_000 => Self::Voice,
            Some(_) => Self::Video,
        }
    }

    //= S3.35
    /// Returns the power factor that the paper suggests for the class.
    #[must_use]
    pub const fn power_factor(self) -> f64 {
        match self {
            Self::Voice => 3.0,
            Self::Video => 1.5,
            Self::BestEffort => 1.2,
        }
    }
}

//= S3.35
/// Returns the power factor with which a flow keeps its full outcome up to an error rate: 1 / (1 −
/// Eᶜ).
///
/// `None` if the error rate is not in 0..1: no finite effort makes up for losing everything.
#[must_use]
pub fn power_factor_for(error_rate: f64) -> Option<f64> {
    (0.0..1.0).contains(&error_rate).then(|| 1.0 / (1.0 - error_rate))
}

/// Why a reservation is refused.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The power factor is invalid.
    #[error("power factor {0}: it must be 1 (100 %) or more")]
    PowerFactor(f64),
    /// The error-free link is too slow for all reservations.
    #[error(
        "reserving {asked} would take {} % of the {link} link, and {} % is left: \
         reserve less, or say overcommit",
        percent(*wanted), percent(*left)
    )]
    Rate {
        /// The rate asked for.
        asked: Rate,
        /// The link's rate.
        link: Rate,
        /// The fraction of the link asked for.
        wanted: f64,
        /// The fraction of the link left.
        left: f64,
    },
    /// The link would be overcommitted when errors drive all reserved flows to their limit.
    #[error(
        "reserving {asked} at power factor {power_factor} would bring the worst case to {} % of \
         the link: lower the rate or the power factor, or say overcommit",
        percent(*worst)
    )]
    WorstCase {
        /// The rate asked for.
        asked: Rate,
        /// The power factor asked for.
        power_factor: f64,
        /// Σ Wᵢ Pᵢ with this flow, and what else takes the link.
        worst: f64,
    },
}

fn percent(fraction: f64) -> f64 {
    (fraction * 1e4).round() / 100.0
}

/// The account of the reservations of one link.
#[derive(Clone, Debug)]
pub struct Admission {
    overcommit: bool,
    /// The fraction of the link that flows can have.
    available: f64,
    reserved: f64,
    worst: f64,
}

impl Admission {
    /// Creates an account without reservations.
    ///
    /// With `overcommit` reservations are only counted, never refused for their sum; the paper's
    /// own Figure 11 needs it (S3.46).
    #[must_use]
    pub fn new(overcommit: bool) -> Self {
        Self { overcommit, available: 1.0, reserved: 0.0, worst: 0.0 }
    }

    /// Reserves the fraction `share` of the link for something else, such as polls.
    #[must_use]
    pub fn without(self, share: f64) -> Self {
        Self { available: (1.0 - share).clamp(0.0, 1.0), ..self }
    }

    //= S3.33
    //= S3.46
    /// Admits a reserved flow and returns its weight, a fraction of the link. `link` is the
    /// error-free rate of the link for packets of this flow.
    ///
    /// # Errors
    /// If overcommitment is not permitted, and the reservations would exceed the capacity of the
    /// link: without errors (Σ Wᵢ > 1), or with all reserved flows at their limit (Σ Wᵢ Pᵢ > 1).
    pub fn admit(&mut self, link: Rate, flow: Reservation) -> Result<f64, Refusal> {
        let Reservation { rate: asked, power_factor } = flow;
        // The negation also refuses NaN.
        if !(1.0..).contains(&power_factor) {
            return Err(Refusal::PowerFactor(power_factor));
        }
        let wanted = asked.as_bps() as f64 / link.as_bps() as f64;
        let reserved = self.reserved + wanted;
        let worst = self.worst + wanted * power_factor;
        let taken = 1.0 - self.available;
        if !self.overcommit && is_overcommitted(taken + reserved) {
            let left = (self.available - self.reserved).max(0.0);
            return Err(Refusal::Rate { asked, link, wanted, left });
        }
        if !self.overcommit && is_overcommitted(taken + worst) {
            let worst = taken + worst;
            return Err(Refusal::WorstCase { asked, power_factor, worst });
        }
        (self.reserved, self.worst) = (reserved, worst);
        Ok(wanted)
    }

    /// Returns the reserved fraction of the error-free link.
    #[must_use]
    pub fn reserved(&self) -> f64 {
        self.reserved
    }

    /// Returns the fraction of the link that the reserved flows can use at worst, Σ Wᵢ Pᵢ.
    #[must_use]
    pub fn worst_case(&self) -> f64 {
        self.worst
    }

    /// Returns whether the reservations exceed the capacity of the link at worst.
    #[must_use]
    pub fn is_overcommitted(&self) -> bool {
        is_overcommitted(1.0 - self.available + self.worst)
    }
}

/// Returns whether a sum of fractions exceeds the capacity of a link.
#[must_use]
pub fn is_overcommitted(sum: f64) -> bool {
    // Rounding errors of the parts must not make an exact sum exceed the capacity.
    sum > 1.0 + 1e-9
}

#[cfg(test)]
mod tests;
