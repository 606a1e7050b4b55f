use windfall_energy::EnergyModel;
use windfall_stack::ProcessorConfig;

use crate::Scenario;
use crate::error::ScenarioError;
use crate::stations::StationPlan;

/// The two stations of a scenario, of which the first has the lines `station` and the run the lines
/// `run`; `own.toml` holds `file`.
fn stations(run: &str, station: &str, file: &str) -> Result<Vec<StationPlan>, ScenarioError> {
    let text = format!(
        "format = 1\n{run}\n[[station]]\nname = \"near\"\n{station}\n\
         [[station]]\nname = \"far\"\n[[link]]\nstations = [\"near\", \"far\"]\n"
    );
    let scenario = Scenario::parse("energy.toml", &text)?;
    let topology = scenario.topology(0, ("energy.toml", &text), &mut |name| match name {
        "own.toml" => Ok(file.as_bytes().to_vec()),
        _ => Err(std::io::ErrorKind::NotFound.into()),
    })?;
    Ok(topology.stations)
}

/// The energy models of the same stations.
fn models(run: &str, station: &str, file: &str) -> Result<[Option<EnergyModel>; 2], ScenarioError> {
    let mut models = stations(run, station, file)?.into_iter().map(|station| station.energy);
    Ok([models.next().flatten(), models.next().flatten()])
}

/// The processor of the first of these stations, without a model of the run.
fn processor(station: &str, file: &str) -> Option<ProcessorConfig> {
    stations("", station, file).unwrap()[0].processor
}

#[test]
fn a_station_has_its_own_model_or_that_of_the_run() {
    let preset = |name| EnergyModel::preset(name).ok();
    assert_eq!(models("", "", "").unwrap(), [None, None]);
    assert_eq!(models("", "energy = \"mote\"", "").unwrap(), [preset("mote"), None]);
    let both = models("energy = \"phone\"", "energy = \"mote\"", "").unwrap();
    assert_eq!(both, [preset("mote"), preset("phone")]);
    let both = models("energy = \"phone\"", "energy = \"none\"", "").unwrap();
    assert_eq!(both, [None, preset("phone")], "a station without one");
    let [own, _] = models("", "energy = \"own.toml\"", "[platform]\nwatts = 2.5").unwrap();
    assert_eq!(own.map(|model| model.platform_watts), Some(2.5));
}

#[test]
fn a_model_that_makes_no_sense_is_refused_where_it_is_named() {
    for (station, file, message) in [
        ("energy = \"brick\"", "", "there is no energy model \"brick\""),
        ("energy = \"none.toml\"", "", "cannot read none.toml"),
        (
            "energy = \"own.toml\"",
            "[radio]\nvolts = 3\nlisten = -0.1",
            "own.toml: radio.listen is -0.1",
        ),
        ("energy = \"own.toml\"", "[battery]\nwatt-hours = 0", "own.toml: battery.watt-hours is 0"),
    ] {
        let error = models("", station, file).unwrap_err().to_string();
        assert!(error.contains(message), "{station}: {error}");
        assert!(error.starts_with("energy.toml:5: "), "{station}: {error}");
    }
}

//= S2.13
#[test]
fn a_processor_divides_its_time_as_the_energy_model_divides_joules() {
    assert_eq!(processor("", ""), None);
    let plain = processor("processor = \"6Mbps\"", "").unwrap();
    assert!((plain.steps.full_segment() - 0.002).abs() < 1e-12);
    assert_eq!(plain.backlog, 300);
    let laptop = "processor = \"6Mbps\"\nenergy = \"laptop-2000\"\nbacklog = 20";
    let laptop = processor(laptop, "").unwrap();
    assert!((laptop.steps.full_segment() - 0.002).abs() < 1e-12);
    assert_eq!(laptop.backlog, 20);
    let own = "processor = \"6Mbps\"\nenergy = \"own.toml\"";
    let file = "[processor]\ninterrupt = 0.5\nsegment = 1.5\n[system]\nsingle-copy = true";
    let own = processor(own, file).unwrap();
    assert!((own.steps.interrupt - 0.0005).abs() < 1e-12, "a quarter of 2 ms");
    assert!(own.system.single_copy);
}
