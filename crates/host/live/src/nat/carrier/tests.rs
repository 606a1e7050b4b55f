use super::*;

/// A question of ARP: the helper asks for 10.77.0.1.
fn question() -> Vec<u8> {
    let mut frame = [&[0xff; 6][..], &HELPER, &ARP, &ARP_HEAD, &[0, 1]].concat();
    frame.extend(HELPER);
    frame.extend([10, 0, 2, 2]);
    frame.extend([0; 6]);
    frame.extend([10, 77, 0, 1]);
    frame
}

#[test]
fn every_question_of_arp_is_answered() {
    let answer = answer_to(&question()).expect("a question");
    assert_eq!(answer.len(), ARP_LEN);
    assert_eq!((&answer[..6], &answer[6..12]), (&HELPER[..], &STATION[..]));
    assert_eq!(answer[20..22], [0, 2], "an answer");
    assert_eq!((&answer[22..28], &answer[28..32]), (&STATION[..], &[10, 77, 0, 1][..]));
    assert_eq!((&answer[32..38], &answer[38..]), (&HELPER[..], &[10, 0, 2, 2][..]));
    assert_eq!(answer_to(&answer), None, "an answer is no question");
    for len in 0..ARP_LEN {
        assert_eq!(answer_to(&question()[..len]), None, "{len} bytes");
    }
}

#[test]
fn only_packets_of_ipv4_are_carried() {
    let packet = Payload::from(Bytes::from_static(&[0x45, 0, 0, 20]));
    let frame = Bytes::from(framed(&packet).expect("IPv4"));
    assert_eq!(packet_of(&frame).expect("IPv4")[..], [0x45, 0, 0, 20]);
    assert_eq!(framed(&Payload::from(Bytes::from_static(&[0x60, 0, 0, 0]))), None);
    assert_eq!(framed(&Payload::from(Bytes::new())), None);
    assert_eq!(packet_of(&Bytes::from(question())), None);
    assert_eq!(packet_of(&Bytes::from_static(&[0; 13])), None);
}
