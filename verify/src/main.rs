//! Long studies of the algorithms: each writes its table into docs/verify/, or a page into docs/. The tests keep small versions of them.

// The same small problems and exact answers that the tests use.
#[path = "../../crates/madbayes/tests/suite/common/mod.rs"]
mod common;

mod augmentation;
mod automatic;
mod automatic_features;
mod buffet;
mod clusters;
mod features;
mod galaxies;
mod sampler;
mod state_starts;
mod states;

use anyhow::{Context, Result, bail};
use std::path::Path;
use std::time::Instant;

/// A study: its name, and what makes its page.
type Study = (&'static str, fn() -> Result<String>);

const STUDIES: &[Study] = &[
    ("optimum", clusters::optimum),
    ("best-known", clusters::best_known),
    ("starts", clusters::starts),
    ("automatic", automatic::automatic_choice),
    ("automatic-features", automatic_features::automatic_choice),
    ("features-optimum", features::optimum),
    ("features-planted", features::planted),
    ("posterior", sampler::posterior),
    ("geweke", sampler::geweke),
    ("mixture-calibration", sampler::mixture_calibration),
    ("limit", sampler::limit),
    ("galaxies", galaxies::number_of_clusters),
    ("ibp-posterior", buffet::posterior),
    ("ibp-geweke", buffet::geweke),
    ("ibp-starts", buffet::starts),
    ("ibp-tabletop", buffet::tabletop),
    ("polya-gamma", augmentation::polya_gamma_draws),
    ("states-posterior", states::posterior),
    ("states-geweke", states::geweke),
    ("states-recovery", states::recovery),
    ("states-starts", state_starts::starts),
];

/// Pages for users, in docs/ itself.
const FOR_USERS: [&str; 1] = ["galaxies"];

fn main() -> Result<()> {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    if let Some(unknown) = wanted.iter().find(|name| !STUDIES.iter().any(|(study, _)| study == name)) {
        let names: Vec<&str> = STUDIES.iter().map(|(name, _)| *name).collect();
        bail!("there is no study {unknown}; there are: {}", names.join(", "));
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/verify");
    std::fs::create_dir_all(&folder)?;
    for (name, study) in STUDIES {
        if wanted.is_empty() || wanted.iter().any(|w| w == name) {
            let begin = Instant::now();
            eprintln!("{name} ...");
            let page = study()?;
            let folder = if FOR_USERS.contains(name) { folder.join("..") } else { folder.clone() };
            let path = folder.join(format!("{name}.md"));
            std::fs::write(&path, page).with_context(|| format!("cannot write {}", path.display()))?;
            eprintln!("{name}: {:.1} s", begin.elapsed().as_secs_f64());
        }
    }
    Ok(())
}
