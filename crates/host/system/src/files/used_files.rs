//! The files that a run reads and writes: none may have two uses, of which one would be lost.

use std::path::{Path, PathBuf};

/// The plain files of a run, each with its use.
#[derive(Debug, Default)]
pub struct UsedFiles(Vec<(PathBuf, String)>);

impl UsedFiles {
    /// Notes a file that is read; a stream, or one that is not there, has no other use.
    pub fn read(&mut self, owner: &str, path: &Path) {
        let place = Some(path).filter(|path| *path != Path::new("-")).and_then(plain_file);
        self.0.extend(place.map(|place| (place, owner.to_owned())));
    }

    /// Notes a file that an option writes.
    ///
    /// # Errors
    /// If it has a use already, or the name is `-`: what is wrong, and the fix.
    pub fn write(&mut self, option: &str, path: &Path) -> Result<(), String> {
        let shown = path.display();
        if path == Path::new("-") {
            let fix = "name a file, or /dev/stdout";
            return Err(format!("{option} - names no file: {fix}"));
        }
        let Some(place) = plain_file(path) else { return Ok(()) };
        if let Some((_, owner)) = self.0.iter().find(|(other, _)| *other == place) {
            let message = format!("{option} {shown}: this is the file of {owner}");
            return Err(format!("{message}: name another file"));
        }
        self.0.push((place, option.to_owned()));
        Ok(())
    }

    /// Notes a file that an option writes when all is over, and checks that it can be written.
    ///
    /// # Errors
    /// If it cannot, and those of [`write`](Self::write).
    pub fn write_at_end(&mut self, option: &str, path: &Path) -> Result<(), String> {
        self.write(option, path)?;
        crate::files::check_place(path)
            .map_err(|error| format!("cannot write {}: {error}", path.display()))
    }
}

/// Returns the place of a file that is a plain one, or not there yet; no other holds anything.
fn plain_file(path: &Path) -> Option<PathBuf> {
    match std::fs::metadata(path) {
        Ok(found) => found.is_file().then(|| path.canonicalize().ok()).flatten(),
        Err(_) => {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            let folder = folder.unwrap_or(Path::new(".")).canonicalize().ok()?;
            Some(folder.join(path.file_name()?))
        }
    }
}
