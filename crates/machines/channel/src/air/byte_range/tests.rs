use super::*;

#[test]
fn a_range_is_written_as_it_is_read() {
    let of = |origin, bytes| ByteRange { origin, bytes };
    for (text, range, written) in [
        ("28..1500", of(RangeOrigin::Packet, 28..1500), "28..1500"),
        ("28..", of(RangeOrigin::Packet, 28..u32::MAX), "28.."),
        ("..40", of(RangeOrigin::Packet, 0..40), "0..40"),
        ("payload", ByteRange::PAYLOAD, "payload"),
        ("payload ..", ByteRange::PAYLOAD, "payload"),
        ("payload 12..", of(RangeOrigin::Payload, 12..u32::MAX), "payload 12.."),
        (" payload  ..100 ", of(RangeOrigin::Payload, 0..100), "payload 0..100"),
    ] {
        assert_eq!(text.parse(), Ok(range.clone()), "{text}");
        assert_eq!(range.to_string(), written);
        assert_eq!(written.parse(), Ok(range), "{written}");
    }
}

#[test]
fn a_range_without_a_byte_is_refused() {
    for text in ["", "5", "5..5", "6..5", "-1..5", "payloads", "payload 5", "data 1..2", "1..2..3"]
    {
        let error = text.parse::<ByteRange>().expect_err(text).to_string();
        assert!(error.contains("such as 28..1500"), "{error}");
    }
}
