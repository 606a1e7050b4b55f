//! Blocks of which many frames are damaged, held to a model of what their repairs can tell.

use windfall_base::{Check, Frame, Instant, Seed, Stream, Tag};
use windfall_wire_link::repair::{SYMBOL_HEADER, TRAILER_LEN, TRAILER_PARITY};

use super::{RepairReceiver, RepairSender, config};

/// Bytes of a packet; its header of a symbol comes without damage.
const LEN: usize = 600;
/// Bytes of a burst of damage, in which half of the bits are wrong.
const BURST: usize = 60;

/// The errors that are added to the bytes of each frame of a block: packets, then repairs.
struct Air(Vec<Vec<u8>>);

impl Air {
    /// Damages a share of `frames` frames of which the last are `repairs`.
    fn draw(frames: usize, repairs: usize, share: f64, air: &mut Stream) -> Self {
        let frame = |place: usize| {
            let head = if place < frames - repairs { 0 } else { SYMBOL_HEADER };
            let mut added = vec![0; head + LEN + TRAILER_LEN];
            if air.unit() < share {
                let from = air.below((added.len() - BURST + 1) as u64) as usize;
                added[from..from + BURST].fill_with(|| air.bits() as u8);
            }
            added
        };
        Self((0..frames).map(frame).collect())
    }

    fn damage(&self, place: usize, frame: &mut Frame) {
        let wrong = |bit: &u32| self.0[place][*bit as usize / 8] & (0x80 >> (bit % 8)) != 0;
        let bits: Vec<u32> = (0..frame.len() as u32 * 8).filter(wrong).collect();
        frame.invert(&bits);
        frame.damage.frame = if bits.is_empty() { Check::Good } else { Check::Bad };
    }
}

/// A frame of a block in the model: which bytes of its symbol are wrong; `None` if its trailer is
/// unreadable, so that it is lost.
type Symbol = Option<Vec<bool>>;

/// The knowledge that equations give of a column.
#[derive(Clone, Copy, PartialEq)]
enum Told {
    /// Which bytes are wrong; surely, if two equations more agree.
    Right {
        surely: bool,
    },
    Nothing,
    /// That these are, which is false.
    Blame([usize; 2]),
}

/// The knowledge that *m* equations give of a column with a number of wrong bytes, where any of
/// `suspects` may be wrong: an answer with *t* bytes fits by chance one of 256 to the power of
/// *m* − *t* times, and counts if it is the only one. Answers with one byte are looked for first,
/// and with two if there are three equations.
fn told(equations: usize, wrong: usize, suspects: &[usize], luck: &mut Stream) -> Told {
    let chance = |surplus: usize| 256.0_f64.powi(-(surplus as i32));
    let all = suspects.len() as f64;
    let pairs = if equations < 3 { 0.0 } else { all * (all - 1.0) / 2.0 };
    for (bytes, answers) in [(1, all), (2, pairs)] {
        let Some(surplus) = equations.checked_sub(bytes) else { break };
        let is_true = wrong == bytes && answers > 0.0;
        // Any *m* columns of the code are independent.
        let can_be_false = wrong + bytes > equations;
        let others = if is_true { answers - 1.0 } else { answers };
        let falsely = if can_be_false { others * chance(surplus) } else { 0.0 };
        // Answers that share a byte are no less independent: Poisson.
        let none = (-falsely).exp();
        match luck.unit() {
            it if it < none && is_true => return Told::Right { surely: surplus >= 2 },
            it if it < none => {}
            it if it < none * (1.0 + falsely) && !is_true => {
                let [a, b] = [0, 1].map(|_| suspects[luck.below(suspects.len() as u64) as usize]);
                return Told::Blame(if bytes == 1 { [a, a] } else { [a, b] });
            }
            _ => return Told::Nothing,
        }
    }
    Told::Nothing
}

/// The packets of a block that stay damaged by this model: with each repair that comes, it lacks as
/// many frames as repairs have come at most, or the columns tell of each byte at which a frame is
/// wrong, and blame it for no other, or surely of each. A packet that is right so counts as right
/// from then on; a repair only where `confirms` is set.
fn stay_damaged(air: &Air, repairs: usize, confirms: bool, luck: &mut Stream) -> usize {
    let packets = air.0.len() - repairs;
    let symbol = |(place, added): (usize, &Vec<u8>)| -> Symbol {
        let (symbol, trailer) = added.split_at(added.len() - TRAILER_LEN);
        let wrong = |bytes: &[u8]| bytes.iter().map(|byte| *byte != 0).collect::<Vec<bool>>();
        let is_read = wrong(trailer).iter().filter(|it| **it).count() <= TRAILER_PARITY / 2;
        let head = if place < packets { SYMBOL_HEADER } else { 0 };
        is_read.then(|| [vec![false; head], wrong(symbol)].concat())
    };
    let mut frames: Vec<Symbol> = air.0.iter().enumerate().map(symbol).collect();
    for come in packets + 1..=frames.len() {
        if put_right(&mut frames[..come], packets, confirms, luck) {
            return 0;
        }
    }
    frames[..packets].iter().filter(|it| is_wrong(it)).count()
}

fn is_wrong(symbol: &Symbol) -> bool {
    symbol.as_ref().is_none_or(|wrong| wrong.contains(&true))
}

/// Puts the frames right that have come; returns `true` if all are.
fn put_right(frames: &mut [Symbol], packets: usize, confirms: bool, luck: &mut Stream) -> bool {
    let repairs = frames.len() - packets;
    let mut columns = vec![None; SYMBOL_HEADER + LEN];
    loop {
        if frames.iter().filter(|it| is_wrong(it)).count() <= repairs {
            return true;
        }
        let lost = frames.iter().filter(|it| it.is_none()).count();
        let Some(equations) = repairs.checked_sub(lost) else { return false };
        let is_suspect = |place: &usize| frames[*place].is_some() && is_wrong(&frames[*place]);
        let suspects: Vec<usize> = (0..frames.len()).filter(is_suspect).collect();
        for (at, known) in columns.iter_mut().enumerate() {
            let wrong = frames.iter().flatten().filter(|it| it[at]).count();
            // An answer stands while the same bytes are wrong and those that it names may be; where
            // several fit, until there are fewer suspects.
            let stands = |(of, among, told): &(usize, usize, Told)| {
                *of == wrong
                    && match told {
                        Told::Right { .. } => true,
                        Told::Blame(those) => those.iter().all(|it| suspects.contains(it)),
                        Told::Nothing => wrong > 2 || *among == suspects.len(),
                    }
            };
            if wrong > 0 && !known.as_ref().is_some_and(stands) {
                let told = told(equations, wrong, &suspects, luck);
                *known = Some((wrong, suspects.len(), told));
            }
        }
        let is_right = |place: usize| {
            let Some(wrong) = &frames[place] else { return false };
            let told = columns.iter().map(|it| it.map(|(.., told)| told));
            let all = || wrong.iter().zip(told.clone());
            let surely = Some(Told::Right { surely: true });
            all().all(|(wrong, told)| !wrong || told == surely)
                || all().all(|(wrong, told)| match told {
                    Some(Told::Right { .. }) | None => true,
                    Some(Told::Nothing) => !wrong,
                    Some(Told::Blame(those)) => !wrong && !those.contains(&place),
                })
        };
        let able = if confirms { frames.len() } else { packets };
        let right: Vec<usize> =
            suspects.iter().copied().filter(|it| *it < able && is_right(*it)).collect();
        if right.is_empty() {
            return false;
        }
        for place in right {
            frames[place].iter_mut().for_each(|it| it.fill(false));
        }
    }
}

/// The packets of a block that the program leaves damaged or lost.
fn left_by_program(code: &str, packets: usize, air: &Air, content: &mut Stream) -> usize {
    let mut sender = RepairSender::new(config(code));
    let mut receiver = RepairReceiver::new(config(code), false);
    let mut sent = Vec::new();
    for number in 0..packets {
        let bytes: Vec<u8> = (0..LEN).map(|_| content.bits() as u8).collect();
        let mut frame = Frame { tag: Some(Tag(number as u64)), ..Frame::packet(bytes.clone()) };
        sent.push(bytes);
        sender.protect(Instant::START, 1, 0, &mut frame);
        air.damage(number, &mut frame);
        receiver.handle_frame(Instant::START, frame);
    }
    for (place, mut frame) in (packets..).zip(core::iter::from_fn(|| sender.poll_repair())) {
        air.damage(place, &mut frame);
        receiver.handle_frame(Instant::START, frame);
    }
    receiver.restart();
    let arrived: Vec<Frame> = core::iter::from_fn(|| receiver.poll_delivery()).collect();
    for frame in &arrived {
        assert!(sent.iter().any(|it| frame.payload == it.clone().into()), "what was sent");
    }
    packets - arrived.len()
}

/// A repair that was put right counts as right, for the program and for the model.
#[test]
fn a_block_of_damaged_frames_is_put_right_as_far_as_its_repairs_tell() {
    for (code, packets, repairs, share) in
        [("8/12", 8, 4, 0.6), ("4/8", 4, 4, 0.6), ("6/8", 6, 2, 0.4), ("12/15", 12, 3, 0.3)]
    {
        let [mut draw, mut content, mut luck] =
            ["air", "content", "luck"].map(|name| Stream::new(Seed(9), name));
        let mut left = Vec::new();
        let mut without = 0;
        for _ in 0..400 {
            let air = Air::draw(packets + repairs, repairs, share, &mut draw);
            let program = left_by_program(code, packets, &air, &mut content);
            let model = stay_damaged(&air, repairs, true, &mut luck);
            without += stay_damaged(&air, repairs, false, &mut luck);
            left.push((program as f64, model as f64));
        }
        let count = left.len() as f64;
        let mean = |of: &dyn Fn(&(f64, f64)) -> f64| left.iter().map(of).sum::<f64>() / count;
        let program = mean(&|it| it.0);
        let model = mean(&|it| it.1);
        let spread = mean(&|it| (it.0 - it.1 - program + model).powi(2)).sqrt() / count.sqrt();
        let without = without as f64 / count;
        let all = packets as f64;
        println!(
            "{code} {share}: {:.4}, model {:.4} ± {:.4}, without confirmed repairs {:.4}",
            program / all,
            model / all,
            3.0 * spread / all,
            without / all
        );
        assert!((program - model).abs() <= 3.0 * spread, "{code}, {share}");
        assert!(program + 3.0 * spread < without, "{code}, {share}");
    }
}
