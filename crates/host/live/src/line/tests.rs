use super::*;

#[test]
fn addresses_of_lines_are_read_and_written() {
    for text in
        ["serial:/dev/ttyS0", "serial:/dev/ttyS0,9600", "udp:host:1", "udp:[::1]:1", "udp::1"]
    {
        assert_eq!(text.parse::<LineAddress>().map(|it| it.to_string()), Ok(text.to_owned()));
    }
    for text in
        ["", "serial:", "serial:,9600", "serial:x,1", "udp:", "udp:1", "udp:a:0", "udp:a:b:1"]
    {
        assert!(text.parse::<LineAddress>().is_err(), "{text}");
    }
}
