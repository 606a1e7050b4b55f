use super::*;

fn parse(area: &[u8]) -> Result<TcpOptions, OptionError> {
    TcpOptions::parse(area, &CorruptionKinds::default())
}

fn lenient(area: &[u8]) -> TcpOptions {
    TcpOptions::parse_lenient(area, &CorruptionKinds::default())
}

#[test]
fn cookies_of_fast_open_survive_and_those_of_an_illegal_length_are_none() {
    //= S2.17
    for len in [0, 4, 8, 16] {
        let cookie: FastOpenCookie = (0..len).collect();
        let options = TcpOptions { fast_open: Some(cookie), mss: Some(9), ..TcpOptions::default() };
        let area = options.emit(&CorruptionKinds::default()).unwrap();
        assert_eq!(TcpOptions::parse(&area, &CorruptionKinds::default()), Ok(options));
    }
    for len in [1, 2, 3, 5, 17, 18] {
        let mut area = vec![FAST_OPEN, 2 + len];
        area.extend(0..len);
        assert_eq!(lenient(&area).fast_open, None, "{len}");
        assert_eq!(lenient(&area).unknown[..], area[..]);
    }
}

#[test]
fn strict_reading_names_the_fault() {
    assert_eq!(parse(&[1, 2]), Err(OptionError::NoLength { kind: 2, at: 1 }));
    let cut = OptionError::Length { kind: 2, at: 0, len: 4, most: 3 };
    assert_eq!(parse(&[2, 4, 5]), Err(cut));
    let endless = OptionError::Length { kind: 8, at: 0, len: 0, most: 4 };
    assert_eq!(parse(&[8, 0, 0, 0]), Err(endless));
    let wrong = OptionError::WrongLength { kind: 3, at: 0, len: 4 };
    assert_eq!(parse(&[3, 4, 0, 0]), Err(wrong));
    let ragged = OptionError::WrongLength { kind: 5, at: 0, len: 11 };
    assert_eq!(parse(&[5, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]), Err(ragged));
}

#[test]
fn lenient_reading_keeps_what_stands_before_the_fault() {
    let options = lenient(&[2, 4, 5, 0xb4, 3, 9, 0, 0]);
    assert_eq!(options.mss, Some(1460));
    assert_eq!(options.window_scale, None);
}

#[test]
fn unknown_options_are_kept_whole_and_in_order() {
    let area = [30, 4, 7, 7, 1, 99, 2, 0];
    assert_eq!(&parse(&area).unwrap().unknown[..], &[30, 4, 7, 7, 99, 2]);
}

#[test]
fn nothing_is_read_behind_the_end_of_the_list() {
    assert_eq!(parse(&[0, 2, 4, 1]).unwrap(), TcpOptions::default());
}

#[test]
fn the_first_of_a_repeated_option_counts() {
    assert_eq!(parse(&[2, 4, 0, 1, 2, 4, 0, 2]).unwrap().mss, Some(1));
}

#[test]
fn a_notification_is_two_bytes_in_the_draft_and_six_where_it_names_the_segment() {
    //= S4.3
    let extended = Notification::Extended(Seq32(0x0102_0304));
    for (notification, bytes) in
        [(Notification::Plain, &[28, 2][..]), (extended, &[28, 6, 1, 2, 3, 4][..])]
    {
        assert_eq!(CorruptionKinds::default().write_notification(notification)[..], *bytes);
        let mut area = bytes.to_vec();
        area.extend([1, 1]);
        assert_eq!(parse(&area).unwrap().notification, Some(notification));
    }
    // Of another length it is the user timeout (RFC 5482).
    assert_eq!(parse(&[28, 4, 0x80, 0x10]).unwrap().notification, None);
}
