use proptest::prelude::*;
use windfall_base::seq::Seq16;

use super::*;

fn sealed(payload: Vec<u8>) -> Frame {
    let mut frame = Frame::packet(payload);
    seal(&mut frame, Number::Unit(Seq16(7)), Wish::default());
    frame
}

proptest! {
    #[test]
    fn a_packet_survives_undamaged(payload in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut frame = sealed(payload.clone());
        let Ok(Opened::Data(data, _)) = open(&mut frame) else { panic!("it carries a packet") };
        prop_assert_eq!(data.number, Number::Unit(Seq16(7)));
        prop_assert_eq!(frame.damage.frame, Check::Good);
        prop_assert_eq!(frame.to_vec(), payload);
    }

    //= S0.5
    #[test]
    fn an_inverted_bit_is_seen_and_the_rest_is_kept(
        payload in prop::collection::vec(any::<u8>(), 1..300),
        bit: u32,
    ) {
        let mut frame = sealed(payload.clone());
        let header = frame.header.len() as u32 * 8;
        let bit = header + bit % (payload.len() as u32 * 8);
        frame.invert(&[bit]);
        let opened = open(&mut frame);
        prop_assert!(matches!(opened, Ok(Opened::Data(..))));
        prop_assert_eq!(frame.damage.frame, Check::Bad);
        prop_assert_eq!(frame.damage.missing, 0);
        frame.invert(&[bit - header]);
        prop_assert_eq!(frame.to_vec(), payload);
    }

    //= S0.5
    #[test]
    fn known_damage_stays_known(payload in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut frame = Frame::packet(payload.clone());
        frame.damage.frame = Check::Bad;
        seal(&mut frame, Number::Plain, Wish::default());
        prop_assert!(!frame.damage.is_damaged(), "on the air nothing is known but the check");
        prop_assert!(matches!(open(&mut frame), Ok(Opened::Data(..))));
        prop_assert_eq!(frame.damage.frame, Check::Bad);
        prop_assert_eq!(frame.to_vec(), payload);
    }

    #[test]
    fn a_cut_frame_says_what_is_missing(
        payload in prop::collection::vec(any::<u8>(), 0..300),
        keep: usize,
    ) {
        let mut frame = sealed(payload.clone());
        let header = frame.header.len();
        let keep = keep % frame.len();
        frame.truncate(keep);
        let opened = open(&mut frame);
        if keep < header {
            prop_assert_eq!(opened.err(), Some(DropReason::Truncated));
        } else {
            let here = (keep - header).min(payload.len());
            prop_assert_eq!(frame.damage.frame, Check::Bad);
            prop_assert_eq!(frame.damage.missing as usize, payload.len() - here);
            prop_assert_eq!(frame.to_vec(), &payload[..here]);
        }
    }

    #[test]
    fn any_bytes_open_without_panic(
        header in prop::collection::vec(any::<u8>(), 0..60),
        payload in prop::collection::vec(any::<u8>(), 0..100),
        trailer in prop::collection::vec(any::<u8>(), 0..8),
    ) {
        let header = header.into_iter().collect();
        let trailer = trailer.into_iter().collect();
        let mut frame = Frame { payload: payload.into(), ..Frame::control(header, trailer) };
        let _ = open(&mut frame);
    }
}
