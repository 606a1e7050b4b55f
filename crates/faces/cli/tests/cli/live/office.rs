//! The office of paper 000 for two programs.

const OFFICE: &str = include_str!("../../../../../../scenarios/examples/sap-office.toml");

/// The office of the figures, with the server where its moving station is, and without the cable
/// and the traffic between its two.
pub(crate) fn office(metres: f64, rate: u32) -> String {
    let (stations, rest) = OFFICE.split_once("# The cable").expect("a cable");
    let (_, others) = rest.split_once("# What the others send").expect("others");
    let at = format!("radio.position = [{metres:.1}, 0.0]");
    let text = format!("{stations}#{others}")
        .replace("duration = \"5s\"\n", "")
        // A program that sends from a station waits for its radio, and loses nothing before it.
        .replace("queue = 64", "queue = 2500")
        .replace("\"moving\"", "\"far\"")
        .replace("\"fixed\"", "\"near\"")
        .replace("radio.position = [12.2, 0.0]", &at)
        .replace("downlink.rate = \"54Mbps\"", &format!("downlink.rate = \"{rate}Mbps\""));
    assert!(text.contains(&at) && text.contains(&format!("\"{rate}Mbps\"")), "{text}");
    text
}
