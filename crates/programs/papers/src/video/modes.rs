//! Appendix B: round trips by the mode of the modem, and section 4.2: two clocks that differ.

use windfall_base::{Duration, Instant};
use windfall_circuit::rlp::{BlockTunnel, RlpConfig, RlpLink, RlpRole, SLOT};
use windfall_report::{Estimate, Table};
use windfall_scenario::GsmEnvironment;

use crate::experiment::{
    Band, Basis, Claim, Context, ExperimentError, ExperimentInput, Extent, Figure, Finding,
    Verdict, VerdictRecord,
};
use crate::video::modems;
use crate::video::runs::{MUTATION, mean};
use crate::video::simulated::simulate;

pub(crate) const FIGURE: Figure = Figure {
    name: "S1.modes",
    title: "Round trips by the mode of the circuit, and the cost of two clocks",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::InPart, 40),
    mutation: Some(MUTATION),
    run,
};

const SCENARIO: &str = include_str!("../../../../../scenarios/paper-001/ping.toml");
/// The modes that there are, and the paper's round trip in ms and loss in % of each.
const MODES: [(&str, f64, f64); 4] = [
    ("RLP", 2_023.0, 0.0),
    ("non-RLP", 1_576.0, 33.0),
    ("MNP 4", 3_670.0, 25.0),
    ("MNP 5 and 4", 4_425.0, 25.0),
];
const RLP: usize = 0;
const NON_RLP: usize = 1;
const MNP4: usize = 2;
const MNP5: usize = 3;
/// The channels; the paper does not say which it had.
const CHANNELS: [(&str, GsmEnvironment); 2] =
    [("gsm-good", GsmEnvironment::StationaryGood), ("gsm-bad", GsmEnvironment::StationaryBad)];
const GOOD: usize = 0;
const BAD: usize = 1;

/// A hundred pings: the mean round trip in ms, and the loss in %.
type Pings = (f64, f64);
/// Those of one seed, by channel and mode.
type SeedRuns = [[Pings; 4]; 2];

/// The differences of the clocks in millionths, and how long they run, in seconds.
const SKEWS: [i64; 3] = [0, 50, 2_000];
const HOUR: u64 = 3_600;

fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let count = match context.extent {
        Extent::Quick => 5,
        Extent::Paper => 40,
        Extent::Full => 200,
    };
    (context.progress)("pings");
    let one = |seed| -> Result<SeedRuns, ExperimentError> {
        let at = |channel: usize, mode: usize| -> Result<Pings, ExperimentError> {
            let (name, environment) = CHANNELS[channel];
            if mode >= MNP4 {
                return Ok(modems::pings(environment, seed, mode == MNP5));
            }
            let arq = if mode == RLP && !context.is_mutated { "6" } else { "none" };
            let text = SCENARIO
                .replace("\"gsm-bad\"", &format!("{name:?}"))
                .replace("arq = \"6\"", &format!("arq = {arq:?}"));
            let outcome = simulate(figure.name, &text, seed)?;
            let [time, loss] = ["rtt_mean_seconds", "loss"].map(|name| outcome.report(name));
            Ok((1e3 * time, 100.0 * loss))
        };
        let all = |channel| -> Result<[Pings; 4], ExperimentError> {
            Ok([at(channel, RLP)?, at(channel, NON_RLP)?, at(channel, MNP4)?, at(channel, MNP5)?])
        };
        Ok([all(GOOD)?, all(BAD)?])
    };
    let runs: Vec<SeedRuns> =
        context.replicate(count, one).into_iter().collect::<Result<_, _>>()?;
    (context.progress)("clocks");
    let clocks = SKEWS.map(retransmissions);
    let method = format!(
        "`ping -c 100 -s 500`, one request a second, {count} times over each channel and mode, of \
         which the paper has one each. The channel is that of Figures 13 to 17; the paper does not \
         say which it had, nor what else was in its path. With MNP the modems at the ends of the \
         transparent circuit correct errors in frames of 256 bytes and less, and compress. The \
         clocks: an hour of RLP on a network that loses nothing, 4 blocks of buffer before each \
         end, whose clocks differ.",
    );
    Ok(Finding {
        inputs: vec![ExperimentInput::given(
            "pings",
            "100 of 500 bytes",
            "paper 001, appendix B: ping -c 100 -s 500",
        )],
        claims: claims(&runs, clocks),
        tables: vec![("", table(&runs)), ("clocks", clock_table(clocks))],
        ..figure.finding(context, method)
    })
}

//= S1.27
/// Counts what RLP retransmits in an hour where one of its clocks is off by a number of millionths.
fn retransmissions(skew: i64) -> u64 {
    let mut links = [RlpRole::Mobile, RlpRole::Network].map(|role| {
        let mut link = RlpLink::new(RlpConfig::standard(role));
        link.connect();
        link
    });
    let mut tunnels = [BlockTunnel::new(4), BlockTunnel::new(4)];
    let nanos = SLOT.as_nanos();
    let own = nanos.saturating_add_signed(nanos as i64 * skew / 1_000_000);
    let slots = [SLOT, Duration::from_nanos(own)];
    let mut next = [Instant::START; 2];
    while next[0] < Instant::START + Duration::from_secs(HOUR) {
        let end = usize::from(next[1] < next[0]);
        let now = next[end];
        next[end] = now + slots[end];
        links[end].write(&[0x55; 24]);
        tunnels[1 - end].put(links[end].next_frame(now));
        if let Some(block) = tunnels[end].take() {
            // No block is damaged.
            let _ = links[end].handle_frame(now, &block);
        }
        let _ = links[end].read();
    }
    links.iter().map(|link| link.counts().retransmissions).sum()
}

//= S1.28
//= S1.53
fn claims(runs: &[SeedRuns], clocks: [u64; 3]) -> Vec<Claim> {
    let ratio = |channel: usize, mode: usize, other: usize| {
        let of = |run: &SeedRuns| run[channel][mode].0 / run[channel][other].0;
        Estimate::geometric_mean(&runs.iter().map(of).collect::<Vec<_>>())
    };
    let shorter = |claim: Claim| {
        CHANNELS.iter().enumerate().fold(claim, |claim, (channel, (name, _))| {
            let band = Band::below(1.0, "an ordering; the paper's is 0.78");
            claim.compare(format!("{name}: non-RLP by RLP"), ratio(channel, NON_RLP, RLP), band)
        })
    };
    let each = |channel: usize, mode: usize, of: fn(&Pings) -> f64| {
        Estimate::mean(&runs.iter().map(|run| of(&run[channel][mode])).collect::<Vec<_>>())
    };
    let mut times =
        Claim::paper("S1.28", "appendix B: 2023 and 1576 ms", "the round trips are those");
    for (mode, (name, due, _)) in MODES.into_iter().enumerate().take(MNP4) {
        let band = Band::near(due, 0.2, "the paper's number, a fifth about it");
        times = times.compare(format!("{name}, gsm-bad, ms"), each(BAD, mode, |it| it.0), band);
    }
    let third = Band::between(23.0, 43.0, "33 %, of 100 pings: ten points about it");
    vec![
        shorter(Claim::paper(
            "S1.28",
            "appendix B: “RLP … 2023”, “none none 1576” ms",
            "a round trip is shorter without RLP",
        ))
        .recorded(Verdict::NotReproduced)
        .because(
            "start and stop bits let a transparent line carry 960 bytes a second, RLP 1200; what \
             made the paper's RLP slower than its rate is not in it",
        ),
        times
            .recorded(Verdict::InPart)
            .because("the transparent line alone: the paper's RLP takes 0.8 s more than its rate"),
        Claim::paper("S1.28", "appendix B: a loss of 0 % with RLP", "RLP loses nothing")
            .compare("gsm-good, %", each(GOOD, RLP, |it| it.1), Band::to(0.05, "0 %, rounded"))
            .compare("gsm-bad, %", each(BAD, RLP, |it| it.1), Band::to(0.05, "0 %, rounded")),
        Claim::paper("S1.28", "appendix B: a loss of 33 %", "without RLP a third is lost")
            .compare("gsm-bad, %", each(BAD, NON_RLP, |it| it.1), third)
            .recorded(Verdict::NotReproduced)
            .because(
                "a fifth: the channel is fitted to the 1.58 % of damaged blocks of one trace, \
                 and the paper does not say in which its pings were lost",
            ),
        with_modems(&ratio),
        lost_with_modems(&each),
        shorter(Claim::paper(
            "S1.53",
            "section 2.3.2: “non-RLP without error control and compression yields the minimum \
             end-to-end delay and overhead”",
            "the transparent service without error control has the least delay",
        ))
        .recorded(Verdict::NotReproduced)
        .because("as above"),
        clock_claim(clocks),
        Claim::paper(
            "S1.27",
            "section 4.2: “the round trip times … ranged from 1200 to 1800 ms, about twice as high \
             as the RTTs on the PacBell testbed”",
            "a tunnel through another machine doubles the round trip",
        )
        .not_comparable("nothing", "the paper found no cause, and names no lengths of packets"),
    ]
}

//= S1.21
//= S1.28
/// Claims the order of round trips with error control and compression by the modems.
fn with_modems(ratio: &dyn Fn(usize, usize, usize) -> Estimate) -> Claim {
    let mut claim = Claim::paper(
        "S1.28",
        "appendix B: “MNP 5 MNP 4 4425 25”, “none MNP 4 3670 25”",
        "error control by the modems takes longer than RLP and than none, compression longer still",
    );
    for (channel, (name, _)) in CHANNELS.iter().enumerate() {
        let mut than = |what: &str, mode, other, paper: &str| {
            let band = Band::above(1.0, format!("an ordering; the paper's is {paper}"));
            let all = claim.clone();
            claim = all.compare(format!("{name}: {what}"), ratio(channel, mode, other), band);
        };
        than("MNP 4 by none", MNP4, NON_RLP, "2.33");
        than("MNP 4 by RLP", MNP4, RLP, "1.81");
        than("MNP 5 and 4 by MNP 4", MNP5, MNP4, "1.21");
    }
    claim
}

/// Claims the loss with error control by the modems.
fn lost_with_modems(each: &dyn Fn(usize, usize, fn(&Pings) -> f64) -> Estimate) -> Claim {
    let quarter = || Band::between(15.0, 35.0, "25 %, of 100 pings: ten points about it");
    Claim::paper(
        "S1.28",
        "appendix B: a loss of 25 %",
        "with error control by modems a quarter is lost",
    )
    .compare("MNP 4, gsm-bad, %", each(BAD, MNP4, |it| it.1), quarter())
    .compare("MNP 5 and 4, gsm-bad, %", each(BAD, MNP5, |it| it.1), quarter())
    .recorded(Verdict::NotReproduced)
    .because(
        "what is damaged is sent again until it has arrived, and the line carries a ping a second \
         each way; the paper does not say what was lost",
    )
}

/// Claims what the paper supposes of its testbed.
fn clock_claim(clocks: [u64; 3]) -> Claim {
    let [equal, quartz, coarse] = clocks;
    Claim::paper(
        "S1.27",
        "section 4.2: “we think the retransmissions might be caused by slight differences in \
         clock cycles between the IP-Pad and the BSDi workstation”",
        "clocks that differ make RLP retransmit where nothing is lost",
    )
    .fact(
        format!(
            "{equal} retransmissions in an hour with equal clocks, {quartz} with 50 millionths \
             between them, {coarse} with 2000"
        ),
        equal == 0 && quartz > 0 && coarse > quartz,
    )
}

fn table(runs: &[SeedRuns]) -> Table {
    let mut table = Table::new([
        "channel",
        "mode",
        "round trip (ms)",
        "round trip, paper (ms)",
        "loss (%)",
        "loss, paper (%)",
    ]);
    for (channel, (name, _)) in CHANNELS.iter().enumerate() {
        for (mode, (title, time, loss)) in MODES.into_iter().enumerate() {
            let of = |of: fn(&Pings) -> f64| {
                mean(&runs.iter().map(|run| of(&run[channel][mode])).collect::<Vec<_>>())
            };
            let found = of(|it| it.0);
            let lost = of(|it| it.1);
            let mut row = vec![(*name).to_owned(), title.to_owned()];
            row.extend([format!("{found:.0}"), time.to_string()]);
            row.extend([format!("{lost:.2}"), loss.to_string()]);
            table.push(row);
        }
    }
    table
}

fn clock_table(clocks: [u64; 3]) -> Table {
    let mut table = Table::new(["difference of the clocks (1e-6)", "retransmissions in an hour"]);
    for (skew, count) in SKEWS.iter().zip(clocks) {
        table.push([skew.to_string(), count.to_string()]);
    }
    table
}
