//! Section 3.2: what finding the connection of a segment costs, in three ways (S2.14).

use core::net::Ipv4Addr;

use windfall_base::{Seed, Stream};
use windfall_experiment::{
    Basis, Claim, Context, ExperimentError, Extent, Figure, Finding, Verdict, VerdictRecord,
};
use windfall_report::{Axis, Chart, Mark, Point, Series, Table};
use windfall_tcp::{ConnectionKey, Lookup, LookupCounts};

pub(crate) const FIGURE: Figure = Figure {
    name: "S2.14",
    title: "Finding the connection of a segment: one entry, twenty, hashing",
    basis: Basis::Simulated,
    record: VerdictRecord::with_seeds(Verdict::Reproduced, 1),
    mutation: None,
    run,
};

/// The ways to find a connection.
const WAYS: [(&str, Lookup); 3] = [
    ("list, one entry remembered", Lookup::OneEntry),
    ("list, twenty remembered", Lookup::Recent(20)),
    ("hashed chains", Lookup::Hashed),
];
/// Open connections of the host.
const CONNECTIONS: [u32; 4] = [10, 100, 1_000, 10_000];
/// The number of connections that the statements are about, by its place.
const MANY: usize = 2;

/// The order in which segments arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// Trains of one to four segments of one connection; four trains of five belong to one of
    /// sixteen connections that are busy, the fifth to any, which is busy from then on.
    Trains,
    /// Each segment belongs to any connection: the worst case.
    Uniform,
}

impl Order {
    const ALL: [Self; 2] = [Self::Trains, Self::Uniform];

    const fn name(self) -> &'static str {
        match self {
            Self::Trains => "trains",
            Self::Uniform => "uniform",
        }
    }

    /// The connections of the segments, in the order of their arrival.
    fn trace(self, connections: u32, segments: usize, seed: Seed) -> Vec<u32> {
        let mut stream = Stream::new(seed, self.name());
        let mut any = |bound: u32| stream.below(u64::from(bound)) as u32;
        if self == Self::Uniform {
            return (0..segments).map(|_| any(connections)).collect();
        }
        let mut busy = [0; 16].map(|_: u32| any(connections));
        let mut trace = Vec::with_capacity(segments + 4);
        while trace.len() < segments {
            let place = any(16) as usize;
            if any(5) == 0 {
                busy[place] = any(connections);
            }
            let length = 1 + any(4) as usize;
            trace.extend(std::iter::repeat_n(busy[place], length));
        }
        trace.truncate(segments);
        trace
    }
}

/// The cost of one way on one trace.
#[derive(Clone, Copy, Debug)]
struct Cost {
    order: Order,
    way: usize,
    connections: u32,
    counts: LookupCounts,
}

impl Cost {
    /// Lookups answered by what was remembered.
    fn hits(&self) -> f64 {
        self.counts.remembered as f64 / self.counts.lookups.max(1) as f64
    }

    /// Keys compared in one lookup.
    fn compared(&self) -> f64 {
        self.counts.compared as f64 / self.counts.lookups.max(1) as f64
    }
}

fn run(figure: &Figure, context: &Context<'_>) -> Result<Finding, ExperimentError> {
    let segments = match context.extent {
        Extent::Quick => 20_000,
        Extent::Paper => 200_000,
        Extent::Full => 2_000_000,
    };
    let mut costs = Vec::new();
    for order in Order::ALL {
        for connections in CONNECTIONS {
            (context.progress)(&format!("{} over {connections} connections", order.name()));
            let trace = order.trace(connections, segments, context.seed);
            for (way, (_, lookup)) in WAYS.into_iter().enumerate() {
                let counts = look_up(lookup, connections, &trace);
                costs.push(Cost { order, way, connections, counts });
            }
        }
    }
    let method = format!(
        "The lookup table of Windfall's TCP over {segments} segments a trace. *Trains*: one \
         to four segments in a row for one connection; four trains of five belong to one of \
         sixteen busy connections, the fifth to any, which takes the place of a busy one. \
         *Uniform*: each segment belongs to any connection. A hashed chain remembers the one \
         found last by keeping it in front, so that its hits are lookups that ended there."
    );
    Ok(Finding {
        claims: claims(&costs),
        charts: vec![("", chart(&costs))],
        tables: vec![("", table(&costs))],
        ..figure.finding(context, method)
    })
}

/// Looks every segment of a trace up.
fn look_up(lookup: Lookup, connections: u32, trace: &[u32]) -> LookupCounts {
    let key = |number: u32| ConnectionKey {
        local: Ipv4Addr::new(192, 0, 2, 1).into(),
        remote: Ipv4Addr::from_bits(0x0a00_0000 + number / 8).into(),
        local_port: 80,
        remote_port: 40_000 + (number % 8) as u16,
    };
    let mut table = windfall_tcp::ConnectionTable::new(lookup, [3, 5]);
    (0..connections).for_each(|number| table.insert(key(number), number));
    for &number in trace {
        let _ = table.find(&key(number));
    }
    *table.counts()
}

//= S2.14
fn claims(costs: &[Cost]) -> Vec<Claim> {
    let of = |order, way| {
        let mut own = costs.iter().filter(|cost| cost.order == order && cost.way == way);
        own.nth(MANY)
    };
    let (Some(one), Some(twenty), Some(hashed)) =
        (of(Order::Trains, 0), of(Order::Trains, 1), of(Order::Trains, 2))
    else {
        return Vec::new();
    };
    let (Some(worst_list), Some(worst_hashed)) = (of(Order::Uniform, 1), of(Order::Uniform, 2))
    else {
        return Vec::new();
    };
    let many = CONNECTIONS[MANY];
    vec![
        Claim::once(
            "S2.14",
            "a memory of one entry has a significant hit rate: at least 50 %",
            format!("{:.1} % of the lookups in trains, {many} connections", 100.0 * one.hits()),
            one.hits() >= 0.5,
        ),
        Claim::once(
            "S2.14",
            "twenty entries answer 90 %, give or take 5",
            format!("{:.1} %", 100.0 * twenty.hits()),
            (0.85..=0.95).contains(&twenty.hits()),
        ),
        Claim::once(
            "S2.14",
            "hashing with the last block in front is most effective: a tenth of either list's cost",
            format!(
                "keys compared in a lookup: {:.1}, {:.1}, {:.2}",
                one.compared(),
                twenty.compared(),
                hashed.compared()
            ),
            10.0 * hashed.compared() <= one.compared().min(twenty.compared()),
        ),
        Claim::once(
            "S2.14",
            "memories live on locality; a good hash has a good average without it: below 3 keys",
            format!(
                "uniform: twenty entries hit {:.1} % and compare {:.0} keys, a hash {:.2}",
                100.0 * worst_list.hits(),
                worst_list.compared(),
                worst_hashed.compared()
            ),
            worst_hashed.compared() < 3.0 && worst_list.hits() < 0.1,
        ),
    ]
}

fn table(costs: &[Cost]) -> Table {
    let mut table = Table::new(["trace", "way", "connections", "hits %", "keys compared a lookup"]);
    for cost in costs {
        table.push([
            cost.order.name().to_owned(),
            WAYS[cost.way].0.to_owned(),
            cost.connections.to_string(),
            format!("{:.1}", 100.0 * cost.hits()),
            format!("{:.2}", cost.compared()),
        ]);
    }
    table
}

fn chart(costs: &[Cost]) -> Chart {
    let mut series = Vec::new();
    for (order, mark) in [(Order::Trains, Mark::LinePoints), (Order::Uniform, Mark::Dashed)] {
        for (way, (name, _)) in WAYS.iter().enumerate() {
            let own = costs.iter().filter(|cost| cost.order == order && cost.way == way);
            let point = |cost: &Cost| Point::new(f64::from(cost.connections), cost.compared());
            let points = own.map(point).collect();
            let name = format!("{name}, {}", order.name());
            series.push(Series::new(name, mark, points).with_color(way));
        }
    }
    Chart {
        title: "What finding a connection costs".to_owned(),
        subtitle: "segments in trains on few busy connections, and on any".to_owned(),
        x: Axis::log("open connections"),
        y: Axis::log("keys compared in a lookup"),
        series,
        rules: Vec::new(),
    }
}
