use std::sync::Arc;

use bytes::Bytes;
use windfall_base::{Frame, Instant, Port, Seed, Tag};

use super::*;
use crate::radio::{Position, RadioConfig, RadioStation};
use crate::{Air, AirConfig, MediumConfig, Missed, Model};

#[test]
fn what_802_11_did_is_recorded_in_the_order_of_the_air_and_replayed_bit_for_bit() {
    let station = RadioStation::at(Position::default());
    let medium = MediumConfig::Wifi(Box::new(RadioConfig::new(vec![station])));
    let header = TraceHeader { bit_order: medium.bit_order(), ..TraceHeader::default() };
    let mut recorder = Recorder::new(header, medium.exposure(Port(0), Port(1)));
    let header = [0; 10].into_iter().collect();
    let trailer = [0; 4].into_iter().collect();
    let payload = Bytes::from(vec![0; 20]).into();
    let frame = Frame { payload, tag: Some(Tag(3)), ..Frame::control(header, trailer) };
    let damaged =
        |inverted: &[u32]| FrameFate::Damaged { truncated: None, inverted: inverted.into() };
    // In the header, over the border of two bytes as the air counts, in the trailer.
    let fates = [
        (Some(0), Some(Tag(3)), damaged(&[3])),
        (Some(1), Some(Tag(3)), damaged(&[80, 95, 271])),
        (Some(2), None, damaged(&[7])),
        (None, Some(Tag(3)), FrameFate::Missed(Missed::Preamble)),
        (Some(3), Some(Tag(3)), FrameFate::Intact),
    ];
    for (number, tag, fate) in fates.clone() {
        recorder.record(&MediumEvent {
            duplicate: false,
            from: Port(0),
            to: Port(1),
            number,
            tag,
            kept: false,
            names_only: false,
            is_repair: false,
            length: 34,
            header: 10,
            trailer: 4,
            began: Instant::START,
            ended: Instant::START,
            strength: None,
            fate,
        });
    }
    let text = recorder.finish().to_text();
    let (head, events) = text.split_once('\n').expect("a header");
    for part in ["\"version\":2", "\"bit_order\":\"lsb\"", "\"origin\":\"frame\"", "_length\":34"] {
        assert!(head.contains(part), "{head}");
    }
    // The acknowledgement is no packet; a frame that no receiver noticed was lost.
    assert_eq!(events, "b 4\nb 87 1 176\nl\n1\nend 4\n");
    let trace = ErrorTrace::from_text(&text).expect("a trace");
    let exposure = medium.exposure(Port(0), Port(1));
    let config = AirConfig {
        models: vec![Model::Replay(Arc::new(trace))],
        exposure,
        ..AirConfig::default()
    };
    let mut air = Air::new(&config, Seed(1), "replay");
    let told = fates.iter().filter(|(_, tag, _)| tag.is_some());
    for (_, _, fate) in told {
        let lost = matches!(fate, FrameFate::Missed(_));
        let expected = if lost { FrameFate::Lost } else { fate.clone() };
        assert_eq!(air.judge(&frame).1, expected);
    }
}
