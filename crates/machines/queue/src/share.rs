//! The promises of effort-limited fairness, in closed form (paper 003, section 6).
//!
//! *Effort* is link time spent on a flow, *outcome* what came of it. A flow is given extra effort
//! to make up for its errors, up to its power factor; beyond the crossover its outcome suffers.

/// A flow as the formulas see it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demand {
    /// Its weight, above zero; of a reserved flow the reserved fraction of the error-free link.
    pub weight: f64,
    /// Its power factor, 1 or more; infinite for pure outcome fairness.
    pub power_factor: f64,
    /// The share of its effort that errors destroy, 0..=1.
    pub error_rate: f64,
}

/// On which side of its crossover a flow is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Region {
    /// Extra effort makes up for all errors.
    Outcome,
    /// The power factor limits the effort, and the outcome suffers.
    Effort,
}

impl Region {
    /// Its name in output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Outcome => "outcome",
            Self::Effort => "effort",
        }
    }
}

impl Demand {
    //= S3.29
    /// The adjusted weight A = min(W / (1 − E), P · W) of equation 1.
    #[must_use]
    pub fn adjusted_weight(&self) -> f64 {
        let limit = self.power_factor * self.weight;
        if self.error_rate < 1.0 { limit.min(self.weight / (1.0 - self.error_rate)) } else { limit }
    }

    //= S3.30
    /// The error rate (P − 1) / P up to which extra effort makes up for all errors.
    #[must_use]
    pub fn crossover(&self) -> f64 {
        if self.power_factor.is_finite() { 1.0 - 1.0 / self.power_factor } else { 1.0 }
    }

    //= S3.30
    /// The region in which the flow is.
    #[must_use]
    pub fn region(&self) -> Region {
        if self.error_rate > self.crossover() { Region::Effort } else { Region::Outcome }
    }

    //= S3.32
    /// The greatest share of link time that the flow can take among `others`.
    #[must_use]
    pub fn greatest_share(&self, others: &[Self]) -> f64 {
        let greatest = self.power_factor * self.weight;
        greatest / (greatest + others.iter().map(|other| other.weight).sum::<f64>())
    }
}

//= S3.31
/// The throughput of each flow when all share a link of rate `link` by weights alone.
///
/// The unit of the result is that of `link`. If every adjusted weight is infinite (pure outcome
/// fairness at an error rate of 1), link time is shared alike among those flows, for nothing.
#[must_use]
pub fn by_weights(flows: &[Demand], link: f64) -> Vec<f64> {
    let adjusted = finite(flows.iter().map(Demand::adjusted_weight).collect());
    let sum: f64 = adjusted.iter().sum();
    let throughput = |(flow, a): (&Demand, &f64)| a / sum * link * (1.0 - flow.error_rate);
    flows.iter().zip(&adjusted).map(throughput).collect()
}

//= S3.33
/// The throughput of reserved flows, and of best-effort flows that share the rest.
///
/// The weight of a reserved flow is the reserved fraction of the error-free link. If the reserved
/// flows ask for more than the link has, they share it by adjusted weights and nothing is left.
#[must_use]
pub fn with_reservations(
    reserved: &[Demand],
    best_effort: &[Demand],
    link: f64,
) -> (Vec<f64>, Vec<f64>) {
    let asked: f64 = finite(reserved.iter().map(Demand::adjusted_weight).collect()).iter().sum();
    if asked >= 1.0 {
        return (by_weights(reserved, link), vec![0.0; best_effort.len()]);
    }
    let throughput = |flow: &Demand| flow.adjusted_weight() * link * (1.0 - flow.error_rate);
    let given = reserved.iter().map(throughput).collect();
    (given, by_weights(best_effort, (1.0 - asked) * link))
}

/// Replaces infinite weights by 1 and, where there are any, finite ones by 0.
fn finite(weights: Vec<f64>) -> Vec<f64> {
    if weights.iter().all(|weight| weight.is_finite()) {
        return weights;
    }
    weights.into_iter().map(|weight| f64::from(u8::from(weight.is_infinite()))).collect()
}

#[cfg(test)]
mod tests;
