use proptest::prelude::*;

use super::*;

fn list(text: &str) -> PacketList {
    text.parse().expect("a list")
}

#[test]
fn a_list_has_numbers_ranges_and_segments_with_syn() {
    let all = list("packet 3, 7..9,syn, syn 2..3, 20..");
    let has = |number| all.has(number, None);
    assert_eq!((1..12).filter(|number| has(*number)).collect::<Vec<_>>(), [3, 7, 8, 9]);
    assert!(has(20) && has(2_000_000) && all.has(1, Some(9)));
    assert_eq!(all.to_string(), "3, 7..9, syn, syn 2..3, 20..");
    let second = list("syn 2");
    assert_eq!([Some(1), Some(2), None].map(|syn| second.has(2, syn)), [false, true, false]);
    for wrong in ["", "0", "9..7", "3 4", "packet", "sin", "3,", "-1", "syn syn", "1..2..3"] {
        let error = wrong.parse::<PacketList>().expect_err(wrong).to_string();
        assert!(error.contains("such as 3 or 7..9"), "{error}");
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused_and_reads_back(
        text in "(packet |syn )?[0-9.]{0,6}(, ?(syn)?[ 0-9.]{0,5})?",
    ) {
        if let Ok(read) = text.parse::<PacketList>() {
            prop_assert_eq!(list(&read.to_string()), read);
        }
    }
}
