use super::*;

const STATES: [State; 10] = [
    State::Initial,
    State::Starting,
    State::Closed,
    State::Stopped,
    State::Closing,
    State::Stopping,
    State::ReqSent,
    State::AckRcvd,
    State::AckSent,
    State::Opened,
];
const EVENTS: [Event; 16] = [
    Event::Up,
    Event::Down,
    Event::Open,
    Event::Close,
    Event::TimeoutAgain,
    Event::TimeoutLast,
    Event::GoodRequest,
    Event::BadRequest,
    Event::Ack,
    Event::Nak,
    Event::TerminateRequest,
    Event::TerminateAck,
    Event::UnknownCode,
    Event::HarmlessReject,
    Event::FatalReject,
    Event::Echo,
];

/// The table in the form in which RFC 1661 prints it.
#[test]
fn the_table_is_that_of_the_rfc() {
    let mut text = String::new();
    for event in EVENTS {
        text += &format!("{event:?}");
        for state in STATES {
            let cell = match transition(state, event) {
                None => "-".to_owned(),
                Some((actions, to)) => {
                    let names: Vec<String> =
                        actions.iter().map(|it| format!("{it:?}").to_lowercase()).collect();
                    let slash = if names.is_empty() { "" } else { "/" };
                    format!("{}{slash}{}", names.join(","), to as u8)
                }
            };
            text += &format!(" {cell}");
        }
        text += "\n";
    }
    windfall_testkit::assert_golden!("automaton", text);
}

#[test]
fn states_and_events_stand_in_the_order_of_the_rfc() {
    assert!(STATES.iter().enumerate().all(|(i, state)| *state as usize == i));
    assert!(EVENTS.iter().enumerate().all(|(i, event)| *event as usize == i));
}
