//! What the paper leaves open about its policies: how often a frame is retransmitted, and whether
//! short packets are padded.

use windfall_report::{Estimate, Table, statistics};
use windfall_scenario::{Arq, Direction, Environment, PolicyKind, without_span};

use super::coded::{self, Air, Transfer};
use crate::experiment::{Band, Claim, Context, ExperimentError, Extent};

/// Retransmissions in the stated budget, under which frames are padded as well.
const STATED: u8 = 1;

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

    fn connected(&self) -> u64 {
        self.transfers.iter().filter(|transfer| transfer.connected).count() as u64
    }

    fn completed(&self) -> u64 {
        self.transfers.iter().filter(|transfer| transfer.rate > 0.0).count() as u64
    }

    fn count(&self) -> u64 {
        self.transfers.len() as u64
    }

    fn rate(&self) -> f64 {
        let rates: Vec<f64> = self.transfers.iter().map(|transfer| transfer.rate).collect();
        statistics::mean(&rates).unwrap_or(0.0)
    }
}

/// BOLD and FLEX on table, and FLEX on adjacent, with every choice.
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
    let cells = [
        (Environment::Table, PolicyKind::Bold),
        (Environment::Table, PolicyKind::Flex),
        (Environment::Adjacent, PolicyKind::Flex),
    ];
    let mut choices = Vec::new();
    for (place, policy) in cells {
        for &retransmissions in budgets {
            for &padded in paddings {
                (context.progress)(&format!("{policy} in {place}, retransmissions and padding"));
                let mut choice =
                    Choice { place, policy, retransmissions, padded, transfers: Vec::new() };
                choice.transfers = transfers(context, figure, &choice)?;
                choices.push(choice);
            }
        }
    }
    Ok(choices)
}

fn transfers(
    context: &Context<'_>,
    figure: &'static str,
    choice: &Choice,
) -> Result<Vec<Transfer>, ExperimentError> {
    let arq = choice.retransmissions.map_or(Arq::Persistent, Arq::after);
    let both = Direction {
        padded: Some(without_span(choice.padded)),
        arq: Some(without_span(arq)),
        ..coded::settings(choice.policy)
    };
    let traces = match context.extent {
        // Few traces cannot tell that a handshake is rare.
        Extent::Paper | Extent::Full if choice.is_stated(PolicyKind::Bold) => 60,
        Extent::Quick => 2,
        Extent::Paper => 5,
        Extent::Full => 20,
    };
    let place = choice.place;
    let done =
        context.replicate(traces, |seed| coded::transfer(figure, Air::new(place, seed), &both));
    done.into_iter().collect()
}

//= S3.22
/// That one choice of both, which is not that of the figures, keeps BOLD from connecting.
pub(super) fn claim(choices: &[Choice]) -> Option<Claim> {
    let stated = |policy| choices.iter().find(|choice| choice.is_stated(policy));
    let bold = stated(PolicyKind::Bold)?;
    let flex = stated(PolicyKind::Flex)?;
    let says = "with one retransmission and padded frames, which is not what the figures have, \
                BOLD does not connect in most traces of table, where FLEX does";
    Some(
        Claim::ours("S3.22", says)
            .compare(
                "share of traces in which BOLD connects",
                Estimate::share(bold.connected(), bold.count()),
                Band::to(0.5, "not even in half of them"),
            )
            .compare(
                "FLEX",
                Estimate::share(flex.connected(), flex.count()),
                Band::from(0.5, "in half of them at least"),
            ),
    )
}

/// The results of each choice.
pub(super) fn table(choices: &[Choice]) -> Table {
    let names =
        ["place", "policy", "retransmissions", "padded", "connected", "completed", "TCP KB/s"];
    let mut table = Table::new(names);
    for choice in choices {
        let of_all = |part: u64| format!("{part} of {}", choice.count());
        table.push([
            choice.place.to_string(),
            choice.policy.to_string(),
            choice.retransmissions.map_or_else(|| "without end".to_owned(), |n| n.to_string()),
            if choice.padded { "yes" } else { "no" }.to_owned(),
            of_all(choice.connected()),
            of_all(choice.completed()),
            format!("{:.2}", choice.rate()),
        ]);
    }
    table
}
