//! Which bits of a frame are wrong: drawn from the tables, against the chains run bit by bit.

use windfall_base::{Seed, Stream};
use windfall_bench::compare;
use windfall_phy::decibel::ratio;
use windfall_phy::event::{Sampler, Source, Tables};
use windfall_wire_link::ieee80211::PhyRate;

fn main() {
    for (rate, decibels) in [
        (PhyRate::Ofdm54, 16.5),
        (PhyRate::Ofdm54, 25.0),
        (PhyRate::Ofdm6, 0.0),
        (PhyRate::Cck11, 2.0),
        (PhyRate::Dsss1, -6.0),
    ] {
        let snr = ratio(decibels);
        let mut source = Source::new(rate);
        let mut random = Stream::new(Seed(1), "chain");
        let mut places = Vec::new();
        let bits = source.pass(snr, &mut random, 0, &mut places);
        let mut sampler = Sampler::new(Tables::shipped(), rate);
        let stream = Stream::new(Seed(2), "table");
        let mut frame = 0;
        let mut wrong = 0_u64;
        let ratio = compare(
            || {
                frame += 1;
                sampler.sample_hits([(bits as u32, snr)], &mut stream.at(frame), |_| {
                    wrong += 1;
                    true
                });
            },
            || {
                places.clear();
                source.pass(snr, &mut random, 0, &mut places)
            },
        );
        ratio.print_time(&format!("{bits} bits at {rate}, {decibels} dB"), 1.0);
        println!(
            "    {:.0} frames/s from the table ({:.1} bit errors each), goal 650 000; chain {:.1} \
             Mb/s, goal 20",
            1.0 / ratio.ours,
            wrong as f64 / frame as f64,
            bits as f64 / ratio.peer / 1e6,
        );
    }
}
