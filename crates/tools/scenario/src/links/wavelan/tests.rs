use windfall_channel::Model;

use super::*;
use crate::Topology;
use crate::tests::topology;

const CELL: &str = r#"
format = 1
[[station]]
name = "base"
forward = true
[[station]]
name = "a"
[[station]]
name = "b"
forward = true
[[station]]
name = "behind"
[[link]]
name = "cell"
kind = "wavelan"
stations = ["base", "a", "b"]
loss = "1%"
downlink.ber = 1e-5
[[link.path]]
to = "b"
loss = "30%"
[[link]]
stations = ["b", "behind"]
"#;

fn shared(topology: &Topology) -> WavelanMediumConfig {
    match &topology.network.links[0].medium {
        MediumConfig::Wavelan(shared) => shared.clone(),
        other => panic!("{other:?} is no radio"),
    }
}

#[test]
fn each_path_has_its_own_air() {
    let shared = shared(&topology(CELL).unwrap());
    assert_eq!(shared.ports, 3);
    assert_eq!(shared.air[0].models.len(), 2, "bits break on the way from the base station alone");
    assert_eq!(shared.air[1].models.len(), 1);
    let paths: Vec<_> = shared.paths.keys().map(|(from, to)| (from.0, to.0)).collect();
    assert_eq!(paths, [(0, 2), (1, 2)]);
    let loss =
        |models: &[Model]| models.iter().any(|m| matches!(m, Model::Loss(p) if p.get() > 0.2));
    assert!(loss(&shared.paths[&(Port(0), Port(2))].models));
    assert!(!loss(&shared.air[0].models));
}

#[test]
fn the_base_station_knows_what_is_behind_each_station() {
    let topology = topology(CELL).unwrap();
    let windfall_stack::LinkLayerConfig::Wavelan(polled) =
        &topology.network.links[0].ends[0].interface.link
    else {
        panic!("the first of three polls");
    };
    let WavelanRole::Coordinator { members, .. } = &polled.role else {
        panic!("the first of three polls")
    };
    let behind = |member: usize| -> Vec<String> {
        members[member].behind.iter().map(ToString::to_string).collect()
    };
    assert_eq!(behind(0), ["10.77.0.2/32", "fd77:696e:6400::2/128"]);
    assert_eq!(
        behind(1),
        ["10.77.0.3/32", "fd77:696e:6400::3/128", "10.77.0.8/30", "fd77:696e:6400:1::/64"]
    );
}

#[test]
fn stations_in_one_place_do_not_share_its_trace() {
    let text = CELL.replace("loss = \"1%\"", "environment = \"walls\"");
    let shared = shared(&topology(&text).unwrap());
    let trace = |from, to| {
        let air =
            shared.paths.get(&(Port(from), Port(to))).unwrap_or(&shared.air[usize::from(from)]);
        air.models.iter().find(|model| matches!(model, Model::Replay(_))).cloned().unwrap()
    };
    assert_ne!(trace(0, 1), trace(0, 2));
    assert_ne!(trace(1, 0), trace(2, 0));
    assert_ne!(trace(0, 1), trace(1, 0));
}

//= S1.37
#[test]
fn the_places_of_a_circuit_are_models_and_not_traces() {
    for place in ["gsm-bad", "gsm-driving"] {
        let text = CELL.replace("loss = \"1%\"", &format!("environment = \"{place}\""));
        let shared = shared(&topology(&text).unwrap());
        let is_circuit = |model: &Model| matches!(model, Model::Gsm(_));
        assert!(shared.air.iter().any(|air| air.models.iter().any(is_circuit)), "{place}");
    }
}

#[test]
fn what_a_radio_cannot_be_is_refused_by_name() {
    let cases = [
        ("loss = \"1%\"", "base = \"c\"", "the base station of link \"cell\" is not on it"),
        ("to = \"b\"", "to = \"behind\"", "a path of link \"cell\" is not on it"),
        ("loss = \"30%\"", "arq = 3", "a path says only what the air does: move arq to the link"),
        ("loss = \"30%\"", "policy = \"flex\"", "move policy to the link"),
        ("kind = \"wavelan\"", "kind = \"pipe\"", "a pipe joins 2 stations, not 3"),
        ("[\"base\", \"a\", \"b\"]", "[\"base\"]", "a wavelan link joins 2 to 255 stations, not 1"),
        ("[\"b\", \"behind\"]", "[\"b\", \"behind\"]\nbase = \"b\"", "a pipe has no base station"),
    ];
    for (old, new, expected) in cases {
        let message = topology(&CELL.replacen(old, new, 1)).expect_err(expected);
        assert!(message.contains(expected), "{message}");
    }
    assert!(topology(&CELL.replacen("loss = \"1%\"", "base = \"b\"", 1)).is_ok());
}

#[test]
fn the_uplink_leads_to_the_base_station() {
    use crate::Side::{Downlink, Uplink};
    assert_eq!(
        topology(CELL).unwrap().sides,
        [vec![Downlink, Uplink, Uplink], vec![Uplink, Downlink]]
    );
    let two = "format = 1\n[[station]]\nname = \"near\"\n[[station]]\nname = \"far\"\n\
               [[link]]\nkind = \"wavelan\"\nstations = [\"near\", \"far\"]\nuplink.ber = 1e-4\n";
    for (base, near, sides) in [("near", 1, [Downlink, Uplink]), ("far", 0, [Uplink, Downlink])] {
        let topology = topology(&format!("{two}base = \"{base}\"\n")).unwrap();
        assert_eq!(topology.sides, [sides], "{base}");
        let medium = &topology.network.links[0].medium;
        let models = |from: u16| medium.air(Port(from), Port(1 - from)).unwrap().models.len();
        assert_eq!((models(near), models(1 - near)), (1, 0), "{base}");
    }
}
