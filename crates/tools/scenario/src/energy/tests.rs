use windfall_energy::EnergyModel;

use crate::Scenario;
use crate::error::ScenarioError;

/// The models of the two stations of a scenario, of which the first has the lines `station` and
/// the run the lines `run`; `own.toml` holds `file`.
fn models(run: &str, station: &str, file: &str) -> Result<[Option<EnergyModel>; 2], ScenarioError> {
    let text = format!(
        "format = 1\n{run}\n[[station]]\nname = \"near\"\n{station}\n\
         [[station]]\nname = \"far\"\n[[link]]\nstations = [\"near\", \"far\"]\n"
    );
    let scenario = Scenario::parse("energy.toml", &text)?;
    let topology = scenario.topology(0, ("energy.toml", &text), &mut |name| match name {
        "own.toml" => Ok(file.as_bytes().to_vec()),
        _ => Err(std::io::ErrorKind::NotFound.into()),
    })?;
    let mut models = topology.stations.into_iter().map(|station| station.energy);
    Ok([models.next().flatten(), models.next().flatten()])
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
