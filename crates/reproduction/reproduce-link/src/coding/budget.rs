//! What the paper leaves open about its policies: how often a frame is retransmitted, and whether
//! short packets are padded.

use windfall_experiment::{Claim, Context, ExperimentError, Extent};
use windfall_report::{Table, statistics};
use windfall_scenario::{Arq, Direction, Environment, PolicyKind, unplaced};

use super::coded::{self, Transfer};

/// Retransmissions in the stated budget, under which frames are padded as well.
const STATED: u8 = 1;
/// The handshake may be completed in this share of the traces and still count as impossible.
const EXCEPTIONS: f64 = 0.1;

/// Transfers with one choice of both options.
pub(super) struct Choice {
    place: Environment,
    policy: PolicyKind,
    /// Retransmissions of a frame; without end if `None`.
    retransmissions: Option<u8>,
    padded: bool,
    transfers: Vec<Transfer>,
}

impl Choice {
    fn is_stated(&self, policy: PolicyKind) -> bool {
        self.place == Environment::Table
            && self.policy == policy
            && self.retransmissions == Some(STATED)
            && self.padded
    }

    fn connected(&self) -> String {
        let connected = self.transfers.iter().filter(|transfer| transfer.connected).count();
        format!("{connected} of {}", self.transfers.len())
    }

    fn rate(&self) -> f64 {
        let rates: Vec<f64> = self.transfers.iter().map(|transfer| transfer.rate).collect();
        statistics::mean(&rates).unwrap_or(0.0)
    }
}

/// BOLD and FLEX on table with every choice, and in the office what padding costs.
///
/// # Errors
/// If the scenario is wrong.
pub(super) fn choices(
    context: &Context<'_>,
    figure: &'static str,
) -> Result<Vec<Choice>, ExperimentError> {
    // What the verdict needs, or all.
    let (budgets, paddings): (&[Option<u8>], &[bool]) = match context.extent {
        Extent::Quick => (&[Some(STATED)], &[true]),
        Extent::Paper | Extent::Full => (&[Some(STATED), Some(3), Some(7), None], &[false, true]),
    };
    let mut choices = Vec::new();
    for policy in [PolicyKind::Bold, PolicyKind::Flex] {
        for &retransmissions in budgets {
            for &padded in paddings {
                choices.push((Environment::Table, policy, retransmissions, padded));
            }
        }
    }
    for padded in [false, true] {
        choices.push((Environment::Office, PolicyKind::Bold, None, padded));
    }
    let measure = |(place, policy, retransmissions, padded): (_, _, Option<u8>, _)| {
        (context.progress)(&format!("{policy} in {place}, retransmissions and padding"));
        let arq = retransmissions.map_or(Arq::Persistent, Arq::after);
        let both = Direction {
            policy: Some(unplaced(policy)),
            padded: Some(unplaced(padded)),
            arq: Some(unplaced(arq)),
            ..Direction::default()
        };
        let mut choice = Choice { place, policy, retransmissions, padded, transfers: Vec::new() };
        let traces = match (context.extent, place) {
            (_, Environment::Office) => 1,
            // One trace in some lets a handshake through: few traces would be a matter of luck.
            _ if choice.is_stated(PolicyKind::Bold) => 20,
            (Extent::Quick, _) => 2,
            (Extent::Paper, _) => 5,
            (Extent::Full, _) => 20,
        };
        choice.transfers = coded::transfers(context, figure, (place, &both, traces))?;
        Ok(choice)
    };
    choices.into_iter().map(measure).collect()
}

/// That BOLD cannot connect on table under the stated budget, where FLEX moves a file.
//= S3.22
pub(super) fn claim(choices: &[Choice]) -> Option<Claim> {
    let stated = |policy| choices.iter().find(|choice| choice.is_stated(policy));
    let bold = stated(PolicyKind::Bold)?;
    let flex = stated(PolicyKind::Flex)?;
    let connected = bold.transfers.iter().filter(|transfer| transfer.connected).count();
    let is_hopeless = connected as f64 <= EXCEPTIONS * bold.transfers.len() as f64;
    let is_carried = flex.transfers.iter().all(|transfer| transfer.rate > 0.0);
    Some(Claim::once(
        "S3.22",
        "BOLD on table cannot complete TCP's handshake, let alone transfer data; here with \
         one retransmission and padded frames, in at most one of ten traces",
        format!(
            "it does in {} traces; FLEX, under the same options, in {}, at {:.1} KB/s",
            bold.connected(),
            flex.connected(),
            flex.rate()
        ),
        is_hopeless && is_carried,
    ))
}

/// The results of each choice.
pub(super) fn table(choices: &[Choice]) -> Table {
    let names = ["place", "policy", "retransmissions", "padded", "connected", "TCP KB/s"];
    let mut table = Table::new(names);
    for choice in choices {
        table.push([
            choice.place.to_string(),
            choice.policy.to_string(),
            choice.retransmissions.map_or_else(|| "without end".to_owned(), |n| n.to_string()),
            if choice.padded { "yes" } else { "no" }.to_owned(),
            choice.connected(),
            format!("{:.2}", choice.rate()),
        ]);
    }
    table
}
