use windfall_mac::wifi::radio::State;

use super::*;
use crate::presets::PRESETS;

#[test]
fn every_preset_is_there_under_its_name_and_makes_sense() {
    for (name, _) in PRESETS {
        let model = EnergyModel::preset(name).unwrap();
        assert_eq!(model.name, name);
        model.check().unwrap();
        assert!(model.battery.is_some(), "{name}");
        assert!(model.card.watts(State::Doze) < model.card.watts(State::Listen), "{name}");
    }
    let error = EnergyModel::preset("laptop").unwrap_err().to_string();
    assert!(error.contains("\"laptop\"") && error.contains("laptop-2000, wifi-chip"), "{error}");
}

#[test]
fn a_file_has_what_it_says_and_the_rest_of_its_base() {
    let text = r#"
        base = "laptop-2000"
        [radio]
        transmit = 0.5
        [platform]
        watts = 2.0
        [system]
        packets-per-interrupt = 8
        [battery]
        watt-hours = 5.0
        cut-off = 0.1
    "#;
    let model = EnergyModel::parse("own.toml", text).unwrap();
    let base = EnergyModel::preset("laptop-2000").unwrap();
    let expected = EnergyModel {
        name: "own.toml".to_owned(),
        card: Card { transmit: 0.5, ..base.card },
        platform_watts: 2.0,
        system: System { packets_per_interrupt: 8, ..base.system },
        battery: Some(Battery::new(5.0, 0.1).unwrap()),
        ..base
    };
    assert_eq!(model, expected);
}

#[test]
fn a_file_without_a_base_draws_what_it_says_and_nothing_else() {
    let text = "[radio]\nvolts = 3.0\nreceive = 0.02\n[processor]\nfull-segment = 0.001\n";
    let model = EnergyModel::parse("own.toml", text).unwrap();
    assert_eq!(model.card.listen, 0.02, "it listens as it receives");
    assert_eq!(model.card.transmit, 0.0);
    assert_eq!(model.processor, Processor::SHARES.times(0.001));
    assert_eq!((model.platform_watts, model.battery), (0.0, None));
}

#[test]
fn nonsense_is_refused_with_its_key_and_value() {
    for (text, message) in [
        ("[radio]\nvolts = 3\ntransmit = -0.28", "radio.transmit is -0.28"),
        ("[radio]\nvolts = 0.0", "radio.volts is 0"),
        ("[radio]\nvolts = 3\nreceive = nan", "radio.receive is NaN"),
        ("[platform]\nwatts = -1", "platform.watts is -1"),
        ("[processor]\nfull-segment = -1e-3", "processor.full-segment is -0.001"),
        ("[system]\npackets-per-interrupt = 0", "system.packets-per-interrupt is 0"),
        ("[battery]\nwatt-hours = 0", "battery.watt-hours is 0"),
        ("[battery]\nwatt-hours = -3.5", "battery.watt-hours is -3.5"),
        ("[battery]\ncut-off = 0.1", "battery.watt-hours is missing"),
        ("[battery]", "battery.watt-hours is missing"),
        ("base = \"phone\"\n[battery]", "battery.watt-hours is missing"),
        ("[battery]\nwatt-hours = 5e300", "at most 1000000000"),
        ("[radio]\ntransmit = 0.2", "radio.transmit is given without radio.volts"),
        ("[radio]\nvolts = 5e300\ntransmit = 0.2", "radio.volts is 50000"),
        ("[radio]\nvolts = 3\nlisten = inf", "radio.listen is inf"),
        ("[platform]\nwatts = 1e7", "from 0 to 1000000"),
        ("[processor]\npredicted-share = 1.5", "processor.predicted-share is 1.5: a share"),
        ("[processor]\ncomparison-share = -0.1", "processor.comparison-share is -0.1"),
        ("base = \"phone\"\n[battery]\ncut-off = 1.0", "battery.cut-off is 1"),
        ("base = \"brick\"", "base is \"brick\": a base is one of the presets laptop-2000, "),
        ("[battery]\nwatt-hours = nan", "battery.watt-hours is NaN: a capacity lies above 0"),
        ("[radio]\nsend = 1.0", "unknown field `send`"),
        ("[radio", "TOML parse error"),
    ] {
        let error = EnergyModel::parse("own.toml", text).unwrap_err().to_string();
        assert!(error.contains(message), "{text}: {error}");
    }
}

/// Any text, and lines that nearly say something.
const TEXTS: &str = "\\PC*|(\\[(radio|battery)\\]\n[a-z-]{0,9} = -?[0-9.e]{0,9}\n){0,4}";

proptest::proptest! {
    #[test]
    fn any_text_is_a_model_or_an_error(text in TEXTS) {
        let _ = EnergyModel::parse("any.toml", &text);
    }
}
