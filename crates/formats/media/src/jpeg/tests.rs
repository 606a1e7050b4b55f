use proptest::prelude::*;

use super::*;
use crate::landscape;

fn whole(jpeg: &Jpeg) -> Arrived {
    let mut arrived = Arrived::new(jpeg.scan().len());
    arrived.put(0, jpeg.scan());
    arrived
}

#[test]
fn segments_decode_to_the_same_picture_as_the_whole_file() {
    for (width, height) in [(384, 192), (50, 21), (8, 8), (1, 1), (137, 40)] {
        let landscape = landscape();
        let picture = landscape.cut(Area { x: 40, y: 100, width, height });
        let picture = if width == 384 { landscape } else { picture };
        let jpeg = Jpeg::encode(&picture, 85).unwrap();
        let decoded = jpeg.layout().decode(&whole(&jpeg)).unwrap();
        assert_eq!(decoded.unreadable, 0);
        assert_eq!(decoded.picture, Picture::read(&jpeg.to_bytes()).unwrap(), "{width} × {height}");
        assert!(
            decoded.picture.psnr(&picture) > Some(28.0),
            "{:?}",
            decoded.picture.psnr(&picture)
        );
    }
}

#[test]
fn a_layout_survives_a_round_trip() {
    let jpeg = Jpeg::encode(&landscape(), 85).unwrap();
    let written = jpeg.layout().to_bytes();
    assert_eq!(&Layout::from_bytes(&written).unwrap(), jpeg.layout());
    assert_eq!(jpeg.layout().scan_len(), jpeg.scan().len());
    for cut in 0..written.len() {
        assert!(Layout::from_bytes(&written[..cut]).is_err(), "{cut}");
    }
}

//= S0.38
#[test]
fn a_bit_error_damages_one_segment() {
    let jpeg = Jpeg::encode(&landscape(), 85).unwrap();
    let right = jpeg.layout().decode(&whole(&jpeg)).unwrap().picture;
    for bit in (0..jpeg.scan().len() * 8).step_by(1_997) {
        let mut scan = jpeg.scan().to_vec();
        scan[bit / 8] ^= 0x80 >> (bit % 8);
        let mut arrived = Arrived::new(scan.len());
        arrived.put(0, &scan);
        let wrong = jpeg.layout().decode(&arrived).unwrap().picture;
        let spoilt = Tiles::of(&jpeg.layout.head)
            .filter(|tile| right.cut(*tile) != wrong.cut(*tile))
            .count();
        assert!(spoilt <= 1, "bit {bit} damages {spoilt} segments");
    }
}

//= S0.38
#[test]
fn damage_lowers_the_similarity_and_leaves_the_picture_recognisable() {
    let picture = landscape();
    let jpeg = Jpeg::encode(&picture, 85).unwrap();
    let mut last = f64::INFINITY;
    for every in [20_000, 2_000, 200] {
        let mut scan = jpeg.scan().to_vec();
        for bit in (every / 2..scan.len() * 8).step_by(every) {
            scan[bit / 8] ^= 0x80 >> (bit % 8);
        }
        let mut arrived = Arrived::new(scan.len());
        arrived.put(0, &scan);
        let damaged = jpeg.layout().decode(&arrived).unwrap().picture;
        let psnr = damaged.psnr(&picture).unwrap();
        assert!(psnr < last && psnr > 12.0, "one bit in {every}: {psnr} dB after {last}");
        last = psnr;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Decoding an arbitrarily damaged scan returns a picture of the right size.
    #[test]
    fn no_damage_stops_the_decoder(
        flips in prop::collection::vec((0_usize..60_000, any::<u8>()), 0..400),
        lost in prop::collection::vec(0_usize..64, 0..20),
    ) {
        let picture = landscape().cut(Area { x: 200, y: 60, width: 160, height: 96 });
        let jpeg = Jpeg::encode(&picture, 75).unwrap();
        let mut scan = jpeg.scan().to_vec();
        let len = scan.len();
        for (at, with) in flips {
            scan[at % len] ^= with;
        }
        let mut arrived = Arrived::new(len);
        for (number, record) in scan.chunks(256).enumerate() {
            if !lost.contains(&number) {
                arrived.put(256 * number, record);
            }
        }
        let decoded = jpeg.layout().decode(&arrived).unwrap();
        prop_assert_eq!(decoded.picture.width(), 160);
        // The file for other decoders has its markers at their positions.
        let _ = Picture::read(&jpeg.layout().to_file(&arrived));
    }

    /// Decoding an arbitrary file does not panic.
    #[test]
    fn no_layout_and_no_file_panics(
        flips in prop::collection::vec((0_usize..4_000, 1_u8..), 1..40),
        noise in prop::collection::vec(any::<u8>(), 0..600),
    ) {
        let corner = Area { x: 0, y: 0, width: 64, height: 32 };
        let jpeg = Jpeg::encode(&landscape().cut(corner), 60).unwrap();
        let mut written = jpeg.layout().to_bytes();
        let mut file = jpeg.to_bytes();
        for (at, with) in flips {
            let a = at % written.len();
            let b = at % file.len();
            written[a] ^= with;
            file[b] ^= with;
        }
        let layout = Layout::from_bytes(&written).ok();
        if let Some(layout) = layout.filter(|layout| layout.segments() < 100) {
            let mut arrived = Arrived::new(layout.scan_len());
            arrived.put(0, jpeg.scan());
            let _ = layout.decode(&arrived);
        }
        let _ = Picture::read(&file);
        let _ = Picture::read(&noise);
        let _ = Layout::from_bytes(&noise);
    }
}

#[test]
fn a_layout_announces_no_picture_that_is_much_larger_than_itself() {
    let large = Picture::plain(1024, 640, [90, 120, 30]).expect("it fits");
    let jpeg = Jpeg::encode(&large, 80).expect("it encodes");
    for (blocks, is_sound) in [(1, true), (8, true), (9, false), (64, false), (u16::MAX, false)] {
        let head = jpeg.layout.head.with_interval(blocks);
        let lengths = vec![0; Tiles::of(&head).count()];
        let bytes = Layout { head, lengths }.to_bytes();
        match Layout::from_bytes(&bytes) {
            Ok(layout) => assert!(is_sound && layout.memory() <= 768 * bytes.len(), "{blocks}"),
            Err(error) => assert!(!is_sound, "{blocks}: {error}"),
        }
    }
}

#[test]
fn a_picture_may_have_more_segments_than_a_byte_counts() {
    let large = Picture::plain(640, 320, [90, 120, 30]).expect("it fits");
    let jpeg = Jpeg::encode(&large, 80).expect("it encodes");
    assert!(jpeg.layout().segments() > 256, "{}", jpeg.layout().segments());
    let file = Picture::read(&jpeg.to_bytes()).expect("it decodes");
    assert_eq!((file.width(), file.height()), (640, 320));
}
