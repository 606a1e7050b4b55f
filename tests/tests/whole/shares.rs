//! The shares of SAP and TCP on one link.

use windfall_report::Estimate;
use windfall_tests::run::run;

/// The seconds of a run.
const SECONDS: u64 = 8;
/// The seeds of a cell: the shares of one seed differ by a seventh of their mean.
const SEEDS: u64 = 10;
/// The least that an end has beside the other transport, as a share of what it has beside its own.
const LEAST: f64 = 0.5;
/// The least index of Jain among four connections of SAP.
const FAIR: f64 = 0.9;

const LINKS: [(&str, &str); 3] = [
    ("20 Mb/s, 5 ms", "rate = \"20Mbps\"\ndelay = \"5ms\""),
    ("20 Mb/s, 20 ms", "rate = \"20Mbps\"\ndelay = \"20ms\""),
    ("`wifi-g`", "kind = \"wifi-g\""),
];
const QUEUES: [u32; 5] = [30, 50, 100, 300, 1000];
const TCPS: [(&str, &str); 3] =
    [("CUBIC", "cubic"), ("Reno", "cubic, congestion=reno"), ("BBR", "cubic, congestion=bbr")];
const MODES: [&str; 2] = ["precise", "approximate"];

/// A link with a queue, and who shares it.
#[derive(Clone, Copy, Debug)]
struct Cell {
    link: (&'static str, &'static str),
    queue: u32,
    tcp: (&'static str, &'static str),
    /// The connections of each transport.
    count: usize,
    /// The connections of TCP begin half a second before the others.
    is_tcp_first: bool,
}

impl Cell {
    /// Returns the megabytes that arrive over each connection of TCP, and over the others, which
    /// are of SAP in this mode or of TCP too.
    fn measure(&self, mode: Option<&str>, seed: u64) -> [Vec<f64>; 2] {
        let starts = if self.is_tcp_first { [0.01, 0.5] } else { [0.5, 0.01] };
        let app = |keys: &str, port: usize, start: f64| {
            format!(
                "[[app]]\n{keys}\nstation = \"near\"\nto = \"far\"\nport = {port}\n\
                 start = \"{start}s\"\n"
            )
        };
        let other = mode.map_or("kind = \"bulk\"".to_owned(), |mode| {
            format!("kind = \"sap-bulk\"\nsize = 1400\nmode = \"{mode}\"")
        });
        let mut apps = String::new();
        for (side, keys) in ["kind = \"bulk\"", &other].into_iter().enumerate() {
            for number in 0..self.count {
                let start = starts[side] + 0.05 * number as f64;
                apps += &app(keys, 5000 + 10 * side + number, start);
            }
        }
        let Self { link: (_, link), queue, tcp: (_, tcp), .. } = self;
        let outcome = run(
            &format!(
                "format = 1\nduration = \"{SECONDS}s\"\n\
                 [[station]]\nname = \"near\"\ntcp = \"{tcp}\"\n\
                 [[station]]\nname = \"far\"\ntcp = \"{tcp}\"\n\
                 [[link]]\nname = \"path\"\nstations = [\"near\", \"far\"]\n{link}\n\
                 queue = \"fifo,{queue}\"\n{apps}"
            ),
            seed,
        );
        let got = |kind| {
            let reports = outcome.reports(kind);
            reports.iter().map(|report| report["received_bytes"] / 1e6).collect::<Vec<_>>()
        };
        let mut tcp = got("bulk-sink");
        let sap = got("sap-sink");
        let others = if mode.is_some() { sap } else { tcp.split_off(self.count) };
        [tcp, others]
    }

    /// Returns the megabytes of each side, and the index of Jain of the second one, over all seeds.
    fn estimate(&self, mode: Option<&str>) -> ([Estimate; 2], f64) {
        let runs: Vec<[Vec<f64>; 2]> = (1..=SEEDS).map(|seed| self.measure(mode, seed)).collect();
        let of_side = |side: usize| {
            let sums: Vec<f64> = runs.iter().map(|run| run[side].iter().sum()).collect();
            Estimate::mean(&sums)
        };
        let index = runs.iter().map(|run| jain(&run[1])).sum::<f64>() / SEEDS as f64;
        ([of_side(0), of_side(1)], index)
    }
}

/// Returns 1 if all have the same, 1 / n if one has everything.
fn jain(values: &[f64]) -> f64 {
    let sum: f64 = values.iter().sum();
    let squares: f64 = values.iter().map(|it| it * it).sum();
    sum * sum / (values.len() as f64 * squares)
}

/// Measures a cell, prints it as a row of a table, and returns what it lacks.
fn check(cell: &Cell) -> Vec<String> {
    let ([first, second], _) = cell.estimate(None);
    let first = first.value;
    let second = second.value;
    let Cell { link: (link, _), queue, tcp: (tcp, _), count, is_tcp_first } = cell;
    let order = if *is_tcp_first { "TCP" } else { "SAP" };
    let mut line =
        format!("| {link} | {queue} | {tcp} | {count} | {order} | {first:.1}, {second:.1} |");
    let mut lacks = Vec::new();
    for mode in MODES {
        let ([tcp, sap], index) = cell.estimate(Some(mode));
        line += &format!(" {:.1}, {:.1} |", tcp.value, sap.value);
        // It is shown to have too little: its interval of 95 % lies below.
        let is_fair = tcp.high >= LEAST * first && sap.high >= LEAST * second && index >= FAIR;
        if !is_fair {
            lacks.push(format!(
                "{mode} {cell:?}: TCP at most {:.1} for {first:.1} MB, SAP at most {:.1} for \
                 {second:.1}, index {index:.2}",
                tcp.high, sap.high
            ));
        }
    }
    println!("{line}");
    lacks
}

/// `WINDFALL_TEST_SHARES=full` takes all cells, prints them as a table, and fails with those in
/// which an end has too little.
#[test]
fn neither_sap_nor_tcp_starves_the_other() {
    let is_full = std::env::var("WINDFALL_TEST_SHARES").as_deref() == Ok("full");
    let mut cells = Vec::new();
    for link in LINKS {
        for queue in QUEUES {
            for tcp in TCPS {
                for count in [1, 4] {
                    for is_tcp_first in [true, false] {
                        cells.push(Cell { link, queue, tcp, count, is_tcp_first });
                    }
                }
            }
        }
    }
    let of_quick = |cell: &Cell| {
        (cell.queue, cell.count, cell.tcp.0) == (50, 1, "CUBIC") && cell.link.0 != LINKS[1].0
    };
    cells.retain(|cell| is_full || of_quick(cell));
    let lacks: Vec<String> = cells.iter().flat_map(check).collect();
    assert!(lacks.is_empty(), "{}", lacks.join("\n"));
}
