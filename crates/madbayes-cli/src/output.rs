//! Where results go: standard output, files, and hints on standard error.

use anyhow::{Context, Result, bail};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Writes a result to standard output.
pub fn to_stdout(bytes: &[u8]) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).context("cannot write to standard output")
}

/// Writes a file; `-` is standard output.
pub fn to_file(path: &Path, bytes: &[u8]) -> Result<()> {
    if path == Path::new("-") {
        return to_stdout(bytes);
    }
    std::fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

/// Writes a file that is there as it was, or whole: never half of it.
pub fn to_whole_file(path: &Path, bytes: &[u8]) -> Result<()> {
    if path == Path::new("-") {
        return to_stdout(bytes);
    }
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".part");
    let part = path.with_file_name(name);
    std::fs::write(&part, bytes).and_then(|()| std::fs::rename(&part, path)).with_context(|| {
        // What is left of it is of no use.
        let _ = std::fs::remove_file(&part);
        format!("cannot write {}", path.display())
    })
}

/// Refuses, before any work is done, results that could not be written at its end or would overwrite what is read.
pub fn check_targets<'a>(inputs: &[&Path], targets: impl IntoIterator<Item = &'a Path>) -> Result<()> {
    let mut seen: Vec<PathBuf> = Vec::new();
    for target in targets.into_iter().filter(|target| *target != Path::new("-")) {
        let name = target.display();
        if target.is_dir() {
            bail!("cannot write {name}: it is a folder; give the name of a file in it");
        }
        let Some(place) = place(target) else {
            bail!("cannot write {name}: its folder does not exist; make it first, or give another name");
        };
        if inputs.iter().any(|input| input.canonicalize().is_ok_and(|input| input == place)) {
            bail!("{name} is read by this command and would be overwritten: give another name");
        }
        if seen.contains(&place) {
            bail!("two results would be written to {name}: give one of them another name");
        }
        seen.push(place);
    }
    Ok(())
}

/// Where a file is, or will be.
fn place(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok().or_else(|| {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(folder.canonicalize().ok()?.join(path.file_name()?))
    })
}

/// A folder that exists from now on.
pub fn make_folder(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path).with_context(|| format!("cannot make the folder {}", path.display()))
}

/// A line of advice on standard error.
pub fn hint(text: &str) {
    // Advice that cannot be shown is not worth an error.
    let _ = writeln!(std::io::stderr(), "hint: {text}");
}
