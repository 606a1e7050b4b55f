use bytes::Bytes;
use windfall_base::{Probability, Tag};

use super::*;

fn packet(bytes: usize) -> Frame {
    Frame { tag: Some(Tag(1)), ..Frame::packet(Bytes::from(vec![0; bytes])) }
}

//= S3.8
#[test]
fn a_pattern_loses_the_same_frames_of_every_window() {
    let pattern: Pattern = "5/6".parse().expect("a pattern");
    let mut air = Air::new(&AirConfig::of(Model::Pattern(pattern)), Seed(1), "a");
    let fates: Vec<bool> = (0..12).map(|_| air.judge(&packet(10)).1.arrives()).collect();
    let window = [false, false, false, false, false, true];
    assert_eq!(fates, [window, window].concat());
}

#[test]
fn control_frames_and_headers_are_spared_by_default() {
    let mut air = Air::new(&AirConfig::of(Model::BitErrors(Probability::ONE)), Seed(1), "a");
    let mut frame = packet(2);
    frame.header.try_extend_from_slice(&[0; 3]).expect("room");
    frame.trailer.try_extend_from_slice(&[0; 4]).expect("room");
    let (number, verdict) = air.judge(&frame);
    assert_eq!(number, Some(0));
    assert_eq!(verdict.inverted(), (24..40).collect::<Vec<u32>>());
    frame.tag = None;
    assert_eq!(air.judge(&frame), (None, Verdict::Intact));
}

#[test]
fn a_bit_hit_twice_is_whole_again() {
    let models = vec![Model::BitErrors(Probability::ONE), Model::BitErrors(Probability::ONE)];
    let config = AirConfig { models, ..AirConfig::default() };
    assert_eq!(Air::new(&config, Seed(1), "a").judge(&packet(9)).1, Verdict::Intact);
}
