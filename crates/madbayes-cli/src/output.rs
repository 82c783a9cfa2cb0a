//! Where results go: standard output, files, and hints on standard error.

use anyhow::{Context, Result, bail};
use std::io::Write;
use std::path::Path;

/// Writes a result to standard output.
pub fn to_stdout(bytes: &[u8]) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(bytes)?;
    Ok(out.flush()?)
}

/// Writes a file; `-` is standard output. Never over the input.
pub fn to_file(path: &Path, input: &str, bytes: &[u8]) -> Result<()> {
    if path == Path::new("-") {
        return to_stdout(bytes);
    }
    let same = |a: &Path, b: &Path| matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b);
    if same(path, Path::new(input)) {
        bail!("{} is the input file and would be overwritten: give another name", path.display());
    }
    std::fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
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
