//! What this project says of reports of corruption, beside what was measured.

use windfall_report::{Estimate, statistics};

use super::places::{AS_LOSS, AS_MARK, Channel, DRAFT_SAFE, EXTENDED, LOSSES, NONE, PAPER, WAYS};
use super::sharing::{CROWDS, DAMAGED, IGNORED, RADIOS, REACTIONS, STATIONS};
use super::{Cell, Map, Seeded};
use crate::corruption::walks::rank_correlation;
use crate::experiment::{Band, Claim, Verdict};

/// The usable share below which a channel counts as one that destroys whole frames.
const POOR: f64 = 0.05;
/// The usable share from which on most of the damage is local.
const RICH: f64 = 0.5;
/// A difference that counts as none.
const ALIKE: f64 = 0.1;

pub(super) fn all(map: &Map) -> Vec<Claim> {
    vec![
        usable(map),
        udp_lite(map),
        trend(map),
        nothing_gained(map),
        gained(map),
        reactions(map),
        modes(map),
        losses(map),
        polled(map),
        no_numbers(map),
        neighbour(map),
        greed(map),
        collisions(map),
        careless(map),
        careful(map),
    ]
}

impl Map {
    /// Estimates the ratio of two ways over places: the geometric mean over the places of a seed,
    /// and of that over the seeds.
    fn ratio(&self, places: &[usize], way: usize, over: usize) -> Estimate {
        let of_seed = |seed: &Seeded| {
            let gains = places.iter().filter_map(|at| seed.cells[*at].gain(way, over));
            let logarithms: Vec<f64> = gains.map(f64::ln).collect();
            statistics::mean(&logarithms).map(f64::exp)
        };
        Estimate::geometric_mean(&self.seeds.iter().filter_map(of_seed).collect::<Vec<_>>())
    }

    /// The places whose usable share lies between these.
    fn with_usable(&self, low: f64, high: f64) -> Vec<usize> {
        let all = 0..self.places.len();
        all.filter(|at| (low..high).contains(&self.usable(*at))).collect()
    }

    /// The mean over places and seeds of a value of a cell.
    fn share(&self, channel: Channel, of: impl Fn(&Cell) -> f64) -> Estimate {
        let places = self.of(channel);
        let of_seed = |seed: &Seeded| {
            let values: Vec<f64> = places.iter().map(|at| of(&seed.cells[*at])).collect();
            statistics::mean(&values).unwrap_or(f64::NAN)
        };
        Estimate::mean(&self.seeds.iter().map(of_seed).collect::<Vec<_>>())
    }
}

//= S4.26
fn usable(map: &Map) -> Claim {
    let share = |channel| map.share(channel, |cell| cell.usable);
    let majority = || Band::from(RICH, "half and more");
    Claim::ours(
        "S4.26",
        "paper 004's cards see next to none of the damage, and OFDM at its highest rate and GSM \
         most of it: the share of datagrams that arrive damaged with whole headers among those \
         that do not arrive as they were sent",
    )
    .compare(
        Channel::PaperCards.name(),
        share(Channel::PaperCards),
        Band::below(POOR, "next to none: less than 5 %"),
    )
    .compare(Channel::Fast.name(), share(Channel::Fast), majority())
    .compare(Channel::Gsm.name(), share(Channel::Gsm), majority())
}

//= S4.24
fn udp_lite(map: &Map) -> Claim {
    let kept = |channel| map.share(channel, |cell| cell.bad * cell.usable);
    let claim = Claim::ours(
        "S4.24",
        "under UDP-Lite more datagrams arrive than under UDP, on the same channels: the share of \
         all datagrams that UDP drops and UDP-Lite delivers with whole headers",
    );
    [Channel::SensitiveCards, Channel::Fast, Channel::Slow, Channel::Gsm].into_iter().fold(
        claim,
        |claim, channel| {
            let band = Band::from(0.005, "a two-hundredth of the datagrams and more");
            claim.compare(channel.name(), kept(channel), band)
        },
    )
}

//= S4.22
fn trend(map: &Map) -> Claim {
    let of_seed = |seed: &Seeded| {
        let cells = seed.cells.iter();
        let pairs = cells.filter_map(|cell| Some((cell.usable, cell.gain(EXTENDED, NONE)?)));
        rank_correlation(&pairs.collect::<Vec<_>>())
    };
    Claim::ours(
        "S4.22",
        "the gain of reports rises with the usable share, over all channels: with a window that \
         does not react",
    )
    .compare(
        "rank correlation",
        Estimate::mean(&map.seeds.iter().map(of_seed).collect::<Vec<_>>()),
        Band::above(0.0, "it rises"),
    )
}

//= S4.22
fn nothing_gained(map: &Map) -> Claim {
    Claim::ours(
        "S4.22",
        "where fewer than one in twenty of the packets that do not arrive intact is usable, \
         reports change the rate by less than a tenth",
    )
    .compare(
        "rate with reports, over that without",
        map.ratio(&map.with_usable(0.0, POOR), EXTENDED, NONE),
        Band::near(1.0, ALIKE, "a tenth"),
    )
    .left_open()
}

//= S4.22
fn gained(map: &Map) -> Claim {
    Claim::ours(
        "S4.22",
        "where more than half is usable, reports with a window that does not react make TCP faster \
         by a third and more",
    )
    .compare(
        "rate with reports, over that without",
        map.ratio(&map.with_usable(RICH, 1.1), EXTENDED, NONE),
        Band::from(4.0 / 3.0, "a third and more"),
    )
}

//= S4.5
//= S4.28
fn reactions(map: &Map) -> Claim {
    let rich = map.with_usable(RICH, 1.1);
    let claim =
        Claim::ours("S4.28", "there the careful reactions gain as well, and less than none does");
    let claim = [AS_MARK, AS_LOSS].into_iter().fold(claim, |claim, way| {
        let gain = map.ratio(&rich, way, NONE);
        claim.compare(
            format!("{}, over no reports", WAYS[way].0),
            gain,
            Band::above(1.0, "an ordering: faster"),
        )
    });
    claim.compare(
        format!("{}, over {}", WAYS[AS_MARK].0, WAYS[EXTENDED].0),
        map.ratio(&rich, AS_MARK, EXTENDED),
        Band::below(1.0, "an ordering: slower"),
    )
}

fn modes(map: &Map) -> Claim {
    let rich = map.with_usable(RICH, 1.1);
    let claim = Claim::ours(
        "S4.9",
        "what a report names matters little: the three modes differ by less than a tenth where \
         more than half is usable",
    );
    [DRAFT_SAFE, PAPER].into_iter().fold(claim, |claim, way| {
        claim.compare(
            format!("{}, over {}", WAYS[way].0, WAYS[EXTENDED].0),
            map.ratio(&rich, way, EXTENDED),
            Band::near(1.0, ALIKE, "a tenth"),
        )
    })
    .recorded(Verdict::InPart)
    .left_open()
    .because(
        "draft-safe names a damaged segment beyond a hole only once the stream reaches it, which \
         costs a third of the rate where a fifth is damaged",
    )
}

//= S4.27
fn losses(map: &Map) -> Claim {
    let claim = Claim::ours(
        "S4.27",
        "where the link also tells of frames that it knows to be lost, TCP over 802.11 is faster \
         by a tenth and more than with reports of damage alone",
    );
    let radios =
        [Channel::PaperCards, Channel::SensitiveCards, Channel::Fast, Channel::Slow].into_iter();
    radios.fold(claim, |claim, channel| {
        let gain = map.ratio(&map.of(channel), LOSSES, EXTENDED);
        claim.compare(channel.name(), gain, Band::from(1.0 + ALIKE, "a tenth and more"))
    })
}

//= S4.27
fn polled(map: &Map) -> Claim {
    Claim::ours("S4.27", "the polled radio of 2 Mb/s is so slow that TCP fills it all the same")
        .compare(
            "rate with losses of the link, over that without",
            map.ratio(&map.of(Channel::Polled), LOSSES, EXTENDED),
            Band::near(1.0, ALIKE, "a tenth"),
        )
        .undecided()
        .because(
            "no report names a retransmission that is lost, so that the timer decides; with \
             rack=on it does not",
        )
}

//= S4.27
fn no_numbers(map: &Map) -> Claim {
    let claim = Claim::ours(
        "S4.27",
        "where frames have no numbers the link cannot tell, and nothing changes",
    );
    let silent = super::places::CHANNELS.into_iter().filter(|it| !it.counts_losses());
    silent.fold(claim, |claim, channel| {
        let gain = map.ratio(&map.of(channel), LOSSES, EXTENDED);
        claim.compare(channel.name(), gain, Band::between(1.0, 1.0, "the same bytes"))
    })
}

/// The rate of the ordinary flow beside a flow with a reaction, over that beside one without
/// reports.
fn beside(map: &Map, damage: usize, reaction: usize) -> Estimate {
    let ratio = |seed: &Seeded| {
        let flows = seed.flows[damage];
        flows[reaction][1] / flows[0][1]
    };
    Estimate::geometric_mean(&map.seeds.iter().map(ratio).collect::<Vec<_>>())
}

//= S4.5
//= S4.28
fn neighbour(map: &Map) -> Claim {
    let claim = Claim::ours(
        "S4.28",
        "a flow whose window reacts to reports as to a loss or a mark takes nothing from an \
         ordinary flow beside it: at 1 % of damaged packets its rate changes by less than a tenth",
    );
    [1, 2]
        .into_iter()
        .fold(claim, |claim, reaction| {
            let band = Band::near(1.0, ALIKE, "a tenth");
            claim.compare(REACTIONS[reaction].0, beside(map, 2, reaction), band)
        })
        .undecided()
        .because("both intervals reach a little below nine tenths: ten seeds do not tell")
}

//= S4.28
fn greed(map: &Map) -> Claim {
    let claim = Claim::ours(
        "S4.28",
        "a window that does not react takes from an ordinary flow, once damage keeps that one from \
         its share",
    );
    [1, 2, 3].into_iter().fold(claim, |claim, damage| {
        claim.compare(
            format!("{} damaged", DAMAGED[damage]),
            beside(map, damage, IGNORED),
            Band::below(1.0, "an ordering: less"),
        )
    })
}

/// A value of the contending stations with a TCP, over that without reports.
fn crowd(map: &Map, radio: usize, stations: usize, tcp: usize) -> Estimate {
    let ratio = |seed: &Seeded| {
        let crowd = seed.crowds[radio][stations];
        crowd[tcp].rate / crowd[0].rate
    };
    Estimate::geometric_mean(&map.seeds.iter().map(ratio).collect::<Vec<_>>())
}

fn by_radio(claim: Claim, band: impl Fn() -> Band, of: impl Fn(usize, usize) -> Estimate) -> Claim {
    RADIOS.iter().enumerate().fold(claim, |claim, (radio, (name, ..))| {
        STATIONS.iter().enumerate().fold(claim, |claim, (at, stations)| {
            claim.compare(format!("{name}, {stations} stations"), of(radio, at), band())
        })
    })
}

//= S4.32
fn collisions(map: &Map) -> Claim {
    let claim = Claim::ours(
        "S4.32",
        "collisions do not look like corruption to TCP: their frames leave no header, so that \
         fewer than one segment in a thousand is reported",
    );
    by_radio(
        claim,
        || Band::below(0.001, "one in a thousand"),
        |radio, stations| {
            let share = |seed: &Seeded| seed.crowds[radio][stations][1].reported;
            Estimate::mean(&map.seeds.iter().map(share).collect::<Vec<_>>())
        },
    )
}

//= S4.27
//= S4.32
fn careless(map: &Map) -> Claim {
    let claim = Claim::ours(
        "S4.32",
        "the link's count of losses makes them look so: with a window that does not react the \
         stations send a greater share of their segments again than without reports",
    );
    let few = 0;
    let many = STATIONS.len() - 1;
    RADIOS.iter().enumerate().fold(claim, |claim, (radio, (name, ..))| {
        [few, many].into_iter().fold(claim, |claim, at| {
            let more = |seed: &Seeded| {
                let crowd = seed.crowds[radio][at];
                crowd[2].resent - crowd[0].resent
            };
            claim.compare(
                format!("{name}, {} stations", STATIONS[at]),
                Estimate::mean(&map.seeds.iter().map(more).collect::<Vec<_>>()),
                Band::above(0.0, "an ordering: more"),
            )
        })
    })
    .recorded(Verdict::InPart)
    .because(
        "ten stations of 802.11b fill the air in any case; told of losses they send a little less \
         again, and deliver less",
    )
}

//= S4.32
fn careful(map: &Map) -> Claim {
    let claim = Claim::ours(
        "S4.32",
        "contending stations deliver together at least nine tenths of what they do without reports",
    );
    let claim = by_radio(
        claim,
        || Band::from(1.0 - ALIKE, "nine tenths"),
        |radio, stations| crowd(map, radio, stations, 2),
    );
    RADIOS.iter().enumerate().fold(claim, |claim, (radio, (name, ..))| {
        let many = STATIONS.len() - 1;
        claim.compare(
            format!("{name}, {} stations, {}", STATIONS[many], CROWDS[3].0),
            crowd(map, radio, many, 3),
            Band::from(1.0 - ALIKE, "nine tenths"),
        )
    })
}
