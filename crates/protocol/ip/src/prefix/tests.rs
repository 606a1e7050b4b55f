use super::*;

fn prefix(text: &str) -> Prefix {
    text.parse().expect("a prefix")
}

fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

#[test]
fn membership_is_equality_of_the_leading_bits() {
    assert!(prefix("10.1.2.3/8").contains(address("10.255.0.0")));
    assert!(!prefix("10.1.2.3/9").contains(address("10.255.0.0")));
    assert!(prefix("0.0.0.0/0").contains(address("1.2.3.4")));
    assert!(!prefix("0.0.0.0/0").contains(address("::1")));
    assert!(prefix("fd00::1/64").contains(address("fd00::ffff")));
    assert!(!prefix("fd00::1/128").contains(address("fd00::")));
    assert_eq!(prefix("10.1.2.3/20").network(), address("10.1.0.0"));
    assert_eq!(prefix("fd00::1/0").network(), address("::"));
}

#[test]
fn a_network_of_two_has_no_broadcast() {
    assert_eq!(prefix("10.0.0.1/24").broadcast(), Some(Ipv4Addr::new(10, 0, 0, 255)));
    assert_eq!(prefix("10.0.0.1/31").broadcast(), None);
    assert_eq!(prefix("fd00::1/64").broadcast(), None);
}

#[test]
fn text_survives_and_faults_say_what_to_write() {
    for text in ["10.0.0.1/24", "fd00::1/64", "0.0.0.0/0"] {
        assert_eq!(prefix(text).to_string(), text);
    }
    for text in ["10.0.0.1", "10.0.0.1/33", "::/129", "x/8", "10.0.0.1/-1", ""] {
        let error = text.parse::<Prefix>().expect_err(text);
        assert!(error.to_string().contains("such as 10.0.0.1/24"), "{error}");
    }
}
