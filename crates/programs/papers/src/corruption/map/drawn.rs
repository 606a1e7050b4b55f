//! The map as charts and tables.

use windfall_report::{Axis, Chart, Estimate, Mark, Point, Series, Table, number};

use super::places::{
    AS_LOSS, AS_MARK, CHANNELS, Channel, DRAFT_SAFE, EXTENDED, LOSSES, NONE, PAPER, WAYS,
};
use super::sharing::{CROWDS, DAMAGED, RADIOS, REACTIONS, STATIONS};
use super::{Map, Seeded};

pub(super) fn charts(map: &Map) -> Vec<(&'static str, Chart)> {
    vec![
        ("", by_channel(map)),
        ("losses", by_losses(map)),
        ("reactions", by_reaction(map)),
        ("window", by_window(map)),
        ("neighbour", neighbour(map)),
        ("contention", contention(map)),
    ]
}

pub(super) fn tables(map: &Map) -> Vec<(&'static str, Table)> {
    vec![("", places(map)), ("neighbour", flows(map)), ("contention", crowds(map))]
}

/// A point with its interval.
fn point(x: f64, estimate: Estimate) -> Option<Point> {
    let Estimate { value, low, high, .. } = estimate;
    let spread = (low.is_finite() && high.is_finite()).then_some((low, high));
    (x.is_finite() && value.is_finite()).then_some(Point { x, y: value, spread })
}

/// The gain of a way over another at a place.
fn gain(map: &Map, place: usize, way: usize, over: usize) -> Estimate {
    let gains = map.seeds.iter().filter_map(|seed| seed.cells[place].gain(way, over));
    Estimate::geometric_mean(&gains.collect::<Vec<_>>())
}

fn mean(map: &Map, of: impl Fn(&Seeded) -> f64) -> Estimate {
    Estimate::mean(&map.seeds.iter().map(of).collect::<Vec<_>>())
}

fn share(label: &str) -> Axis {
    Axis::linear(label).from_zero()
}

const USABLE: &str = "usable share of what does not arrive intact (%)";

/// The gain of a way over another by the usable share, one series for each kind of channel.
fn gains(map: &Map, way: usize, over: usize) -> Vec<Series> {
    let series = |channel: &Channel| {
        let points = map.of(*channel).into_iter();
        let points =
            points.filter_map(|at| point(100.0 * map.usable(at), gain(map, at, way, over)));
        Series::new(channel.name(), Mark::Points, points.collect())
    };
    CHANNELS.iter().map(series).collect()
}

fn by_channel(map: &Map) -> Chart {
    Chart {
        title: "Gain of reports of damage, by what of it can be used".to_owned(),
        subtitle: format!("{}; one point for each channel and place", WAYS[EXTENDED].0),
        x: share(USABLE),
        y: Axis::log("rate with reports / rate without"),
        series: gains(map, EXTENDED, NONE),
        rules: vec![(1.0, "no gain".to_owned())],
    }
}

fn by_losses(map: &Map) -> Chart {
    Chart {
        title: "Gain where the link tells of lost frames as well".to_owned(),
        subtitle: "over reports of damage alone; no reaction of the window".to_owned(),
        x: share(USABLE),
        y: Axis::log("rate with both / rate with reports of damage"),
        series: gains(map, LOSSES, EXTENDED),
        rules: vec![(1.0, "no gain".to_owned())],
    }
}

fn by_reaction(map: &Map) -> Chart {
    let ways = [EXTENDED, AS_MARK, AS_LOSS];
    let series = ways.into_iter().map(|way| {
        let all = 0..map.places.len();
        let points = all.filter_map(|at| point(100.0 * map.usable(at), gain(map, at, way, NONE)));
        Series::new(WAYS[way].0, Mark::Points, points.collect())
    });
    Chart {
        title: "Gain by the reaction of the window".to_owned(),
        subtitle: "all channels and places".to_owned(),
        x: share(USABLE),
        y: Axis::log("rate with reports / rate without"),
        series: series.collect(),
        rules: vec![(1.0, "no gain".to_owned())],
    }
}

fn by_window(map: &Map) -> Chart {
    let places = map.of(Channel::Window);
    let names = places.iter().map(|at| map.places[*at].name.clone()).collect();
    let ways = [NONE, DRAFT_SAFE, PAPER, EXTENDED, AS_MARK, AS_LOSS];
    let series = ways.into_iter().map(|way| {
        let rate = |(x, at): (usize, &usize)| {
            point(x as f64, mean(map, |seed| seed.cells[*at].rates[way]))
        };
        let points = places.iter().enumerate().filter_map(rate).collect();
        Series::new(WAYS[way].0, Mark::LinePoints, points)
    });
    Chart {
        title: "From localised damage to damage of the whole packet".to_owned(),
        subtitle: "a pipe of 10 Mb/s that damages 3 % of the packets, half of the bits of a window"
            .to_owned(),
        x: Axis::names("length of the window", names),
        y: Axis::linear("rate (Mb/s)").from_zero(),
        series: series.collect(),
        rules: Vec::new(),
    }
}

fn neighbour(map: &Map) -> Chart {
    let series = REACTIONS.iter().enumerate().map(|(reaction, (name, _))| {
        let rate =
            |damage: usize| point(damage as f64, mean(map, |seed| seed.flows[damage][reaction][1]));
        Series::new(*name, Mark::LinePoints, (0..DAMAGED.len()).filter_map(rate).collect())
    });
    Chart {
        title: "What is left for an ordinary flow".to_owned(),
        subtitle: "beside one flow whose window reacts so to reports; 4 Mb/s".to_owned(),
        x: Axis::names("packets damaged", DAMAGED.map(str::to_owned).to_vec()),
        y: Axis::linear("rate of the ordinary flow (Mb/s)").from_zero(),
        series: series.collect(),
        rules: vec![(2.0, "half of the link".to_owned())],
    }
}

fn contention(map: &Map) -> Chart {
    let series = RADIOS.iter().enumerate().flat_map(|(radio, (name, ..))| {
        CROWDS.iter().enumerate().map(move |(tcp, (way, _))| {
            let rate = |(at, stations): (usize, &usize)| {
                point(*stations as f64, mean(map, |seed| seed.crowds[radio][at][tcp].rate))
            };
            let points = STATIONS.iter().enumerate().filter_map(rate).collect();
            Series::new(format!("{name}: {way}"), Mark::LinePoints, points)
        })
    });
    Chart {
        title: "Stations that collide".to_owned(),
        subtitle: "what all of them deliver together, without retransmission by the link"
            .to_owned(),
        x: Axis::linear("stations that send").from_zero(),
        y: Axis::linear("rate (Mb/s)").from_zero(),
        series: series.collect(),
        rules: Vec::new(),
    }
}

/// Mean, low and high end as cells.
fn cells(estimate: Estimate) -> [String; 3] {
    [estimate.value, estimate.low, estimate.high].map(number)
}

//= S4.24
fn places(map: &Map) -> Table {
    let mut columns = vec![
        "channel".to_owned(),
        "place".to_owned(),
        "not intact (%)".to_owned(),
        "of these usable (%)".to_owned(),
        "arrive under UDP (%)".to_owned(),
        "arrive under UDP-Lite (%)".to_owned(),
    ];
    columns.extend(WAYS.iter().map(|(name, _)| format!("{name} (Mb/s)")));
    for name in ["gain of reports", "gain of both"] {
        columns.extend(["", ", low", ", high"].map(|end| format!("{name}{end}")));
    }
    let mut table = Table::new(columns);
    for (at, place) in map.places.iter().enumerate() {
        let percent = |of: fn(&super::Cell) -> f64| number(100.0 * map.mean(at, of));
        let mut row = vec![
            place.channel.name().to_owned(),
            place.name.clone(),
            percent(|cell| cell.bad),
            percent(|cell| cell.usable),
            percent(|cell| 1.0 - cell.bad),
            percent(|cell| 1.0 - cell.bad + cell.bad * cell.usable),
        ];
        row.extend((0..WAYS.len()).map(|way| number(map.mean(at, |cell| cell.rates[way]))));
        for way in [EXTENDED, LOSSES] {
            row.extend(cells(gain(map, at, way, NONE)));
        }
        table.push(row);
    }
    table
}

fn flows(map: &Map) -> Table {
    let mut table = Table::new([
        "packets damaged",
        "reaction of the first flow",
        "first flow (Mb/s)",
        "low",
        "high",
        "ordinary flow (Mb/s)",
        "low",
        "high",
    ]);
    for (damage, share) in DAMAGED.iter().enumerate() {
        for (reaction, (name, _)) in REACTIONS.iter().enumerate() {
            let rate = |flow: usize| cells(mean(map, |seed| seed.flows[damage][reaction][flow]));
            let head = [*share, name].map(str::to_owned);
            table.push(head.into_iter().chain(rate(0)).chain(rate(1)));
        }
    }
    table
}

fn crowds(map: &Map) -> Table {
    let mut table = Table::new([
        "radio",
        "stations",
        "TCP",
        "rate of all (Mb/s)",
        "low",
        "high",
        "sent again (%)",
        "reported (%)",
    ]);
    for (radio, (radio_name, ..)) in RADIOS.iter().enumerate() {
        for (at, stations) in STATIONS.iter().enumerate() {
            for (tcp, (name, _)) in CROWDS.iter().enumerate() {
                let rate = cells(mean(map, |seed| seed.crowds[radio][at][tcp].rate));
                let percent = |of: fn(&super::sharing::Crowd) -> f64| {
                    let share = mean(map, |seed| of(&seed.crowds[radio][at][tcp]));
                    number(100.0 * share.value)
                };
                let head = [(*radio_name).to_owned(), stations.to_string(), (*name).to_owned()];
                let tail = [percent(|it| it.resent), percent(|it| it.reported)];
                table.push(head.into_iter().chain(rate).chain(tail));
            }
        }
    }
    table
}
