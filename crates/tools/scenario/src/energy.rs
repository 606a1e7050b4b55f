//! The energy models that stations name (S2.22).

use std::ffi::OsStr;
use std::path::Path;

use windfall_energy::EnergyModel;

use crate::error::SettingFault;
use crate::model::Scenario;
use crate::plan::Files;
use crate::station::Station;

/// The ending of names that are those of files.
const FILE: &str = ".toml";

impl Scenario {
    /// Returns the energy model of a station: its own, or that of the run.
    pub(crate) fn energy_model(
        &self,
        station: &Station,
        files: &mut Files<'_, '_>,
    ) -> Result<Option<EnergyModel>, SettingFault> {
        let named = station.energy.as_ref().or(self.run.energy.as_ref());
        // A station without a model, where the run has one or a sweep varies it.
        let Some(named) = named.filter(|it| it.get_ref() != "none") else { return Ok(None) };
        let name = named.get_ref();
        let fault = |message: String| SettingFault::at(named.span(), message);
        if !name.ends_with(FILE) {
            return EnergyModel::preset(name).map(Some).map_err(|error| fault(error.to_string()));
        }
        let bytes = files.read(name).map_err(fault)?;
        files.budget.give_back(bytes.len());
        let text = String::from_utf8_lossy(&bytes);
        // The name of a file that an option gave has been made absolute; people know its last part.
        let path = Path::new(name);
        let short = path.file_name().filter(|_| path.is_absolute()).and_then(OsStr::to_str);
        let model = EnergyModel::parse(short.unwrap_or(name), &text);
        model.map(Some).map_err(|error| fault(format!("{name}: {error}")))
    }
}

#[cfg(test)]
mod tests;
