use super::*;
use crate::{Jpeg, Picture, landscape};
use windfall_base::MemoryBudget;

/// Returns the file with `share` of its last scan, closed as if it were whole.
fn closed_after(file: &[u8], share: f64) -> Vec<u8> {
    let scan = file.windows(2).rposition(|it| it == [0xff, SOS]).expect("a scan");
    let begin = scan + 2 + usize::from(u16::from_be_bytes([file[scan + 2], file[scan + 3]]));
    let end = begin + ((file.len() - 2 - begin) as f64 * share) as usize;
    [&file[..end], &[0xff, EOI]].concat()
}

fn read(file: &[u8]) -> Result<Picture, String> {
    let picture = Picture::read_whole_within(file, &mut MemoryBudget::default());
    picture.map_err(|error| error.to_string())
}

#[test]
fn a_picture_that_was_cut_and_closed_is_called_cut_off() {
    let plain = landscape().to_jpeg(80).expect("a picture");
    let restarted = Jpeg::encode(&landscape(), 80).expect("a picture").to_bytes();
    for file in [plain, restarted] {
        assert!(!lacks_blocks(&file));
        assert_eq!(read(&file).expect("it is whole").width(), landscape().width());
        for share in [0.0, 0.01, 0.25, 0.5, 0.9, 0.99] {
            let cut = closed_after(&file, share);
            let error = read(&cut).expect_err("blocks are missing");
            assert!(error.contains("cut off"), "{share}: {error}");
            // What crossed a bad link is shown as far as it came.
            if share > 0.0 {
                assert!(Picture::read(&cut).is_ok(), "{share}");
            }
        }
    }
}

#[test]
fn a_scan_that_never_came_is_missing() {
    // Three components, each in a scan of its own, of which the last one is left out.
    let plain = landscape().to_jpeg(80).expect("a picture");
    let scan = plain.windows(2).position(|it| it == [0xff, SOS]).expect("a scan");
    let mut file = plain[..scan].to_vec();
    let of_one = |id: u8| [0xff, SOS, 0, 8, 1, id, 0, 0, 63, 0];
    let frame = plain.windows(2).position(|it| it == [0xff, 0xc0]).expect("a frame");
    let ids: Vec<u8> = (0..3).map(|at| plain[frame + 10 + 3 * at]).collect();
    let width = landscape().width() as usize / 8;
    let height = landscape().height() as usize / 8;
    // Blocks without coefficients, in codes of the tables of luminance: 00 and 1010.
    let mut bits = Vec::new();
    for _ in 0..width * height {
        bits.extend([0, 0, 1, 0, 1, 0]);
    }
    let data = packed(&bits);
    for id in &ids[..2] {
        file.extend(of_one(*id));
        file.extend(&data);
    }
    let lacking = [&file[..], &[0xff, EOI]].concat();
    assert!(lacks_blocks(&lacking));
    file.extend(of_one(ids[2]));
    file.extend(&data);
    file.extend([0xff, EOI]);
    assert!(!lacks_blocks(&file));
    assert!(lacks_blocks(&closed_after(&file, 0.7)));
}

/// Packs bits to bytes, the last of which is filled with ones, with the stuffed zeros.
fn packed(bits: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for chunk in bits.chunks(8) {
        let byte = (0..8).fold(0, |byte, at| byte << 1 | chunk.get(at).copied().unwrap_or(1));
        bytes.push(byte);
        if byte == 0xff {
            bytes.push(0);
        }
    }
    bytes
}

/// The symbols of the tables of [`progressive`], in codes of three bits: 000, 001 and so on.
const SYMBOLS: [u8; 6] = [0x00, 0x01, 0x03, 0x11, 0x20, 0xf0];

fn code(symbol: u8) -> [u8; 3] {
    let at = SYMBOLS.iter().position(|it| *it == symbol).expect("it is in the table") as u8;
    [at >> 2 & 1, at >> 1 & 1, at & 1]
}

/// A progressive file of one component and 2 × 2 blocks with these scans: first and last
/// coefficient, precision, bits.
fn progressive(scans: &[(u8, u8, u8, Vec<u8>)]) -> Vec<u8> {
    let mut file = vec![0xff, SOI, 0xff, SOF2, 0, 11, 8, 0, 16, 0, 16, 1, 1, 0x11, 0];
    for place in [0x00, 0x10] {
        file.extend([0xff, DHT, 0, 19 + SYMBOLS.len() as u8, place, 0, 0, SYMBOLS.len() as u8]);
        file.extend([0; 13]);
        file.extend(SYMBOLS);
    }
    for (first, last, precision, bits) in scans {
        file.extend([0xff, SOS, 0, 8, 1, 1, 0, *first, *last, *precision]);
        file.extend(packed(bits));
    }
    [&file[..], &[0xff, EOI]].concat()
}

#[test]
fn progressive_scans_are_read_bit_for_bit() {
    // Differences of three bits each, then a further bit of them.
    let difference = [&code(3)[..], &[1, 0, 1]].concat();
    let direct = (0, 0, 0x01, difference.repeat(4));
    let direct_again = (0, 0, 0x10, vec![1, 0, 0, 1]);
    // A one behind one zero, and the end; an end of four and two more blocks, of which three are.
    let block = [&code(0x11)[..], &[1], &code(0x00)].concat();
    let first = (1, 63, 0x01, [block, code(0x20).to_vec(), vec![0, 0]].concat());
    // The second coefficient is corrected, on the way to a new one behind a zero; then ends.
    let new = [&code(0x11)[..], &[0], &[1], &code(0x00)].concat();
    let again = (
        1,
        63,
        0x10,
        [new, code(0xf0).to_vec(), code(0x00).to_vec(), code(0x20).to_vec(), vec![0, 0]].concat(),
    );
    let scans = [direct, direct_again, first, again];
    assert!(!lacks_blocks(&progressive(&scans)));
    for number in 0..scans.len() {
        // Without its last byte a scan is short by a bit at least.
        let mut cut = scans.clone();
        let bits = &mut cut[number].3;
        bits.truncate((bits.len() - 1) / 8 * 8);
        assert!(lacks_blocks(&progressive(&cut)), "scan {number}");
    }
    // The last bits of the coefficients are due.
    for number in [1, 3] {
        assert!(lacks_blocks(&progressive(&scans[..number])), "{number} scans");
    }
}

#[test]
fn a_picture_of_a_film_that_ends_between_its_scans_is_cut_off() {
    let difference = [&code(3)[..], &[1, 0, 1]].concat();
    let scans =
        [(0, 0, 0x01, difference.repeat(4)), (0, 0, 0x10, vec![1, 0, 0, 1])].map(|it| it.clone());
    let whole = progressive(&scans);
    assert!(!lacks_blocks(&whole));
    let open = |file: &[u8]| file[..file.len() - 2].to_vec();
    for first in [open(&progressive(&scans[..1])), open(&progressive(&[]))] {
        assert!(lacks_blocks(&[&first[..], &whole].concat()), "another picture follows");
        assert!(lacks_blocks(&[&first[..], &[0xff, SOI], &whole].concat()));
    }
    // Films whose first picture is whole, and pictures with two beginnings.
    assert!(!lacks_blocks(&whole.repeat(2)));
    assert!(!lacks_blocks(&[&open(&whole)[..], &whole].concat()));
    assert!(!lacks_blocks(&[&[0xff, SOI], &whole[..]].concat()));
    // Components in scans of their own.
    let plain = landscape().to_jpeg(80).expect("a picture");
    let end = plain.windows(2).position(|it| it == [0xff, SOS]).expect("a scan");
    let error = read(&[&plain[..end], &plain].concat()).expect_err("the first has no scan");
    assert!(error.contains("cut off"), "{error}");
}

#[test]
fn no_file_makes_the_count_panic_and_damage_is_no_cut() {
    let file = landscape().to_jpeg(80).expect("a picture");
    let mut stream = windfall_base::Stream::new(windfall_base::Seed(7), "jpeg");
    for _ in 0..2_000 {
        let mut damaged = file.clone();
        for _ in 0..4 {
            let at = stream.below(damaged.len() as u64) as usize;
            damaged[at] = stream.below(256) as u8;
        }
        let _ = lacks_blocks(&damaged);
    }
}
