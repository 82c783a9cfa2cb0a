//! The files of --plots: features as pictures, rows beside their sums of features, and the path of the objective.

use super::Source;
use crate::output::make_folder;
use crate::read::Values;
use anyhow::{Context, Result};
use madbayes::hard::Features;
use madbayes::model::FeatureModel;
use madbayes_draw::{FeatureImages, Grid, Lines};
use std::path::Path;

/// Pictures on the contact sheet.
const SHOWN: usize = 24;

pub fn write(folder: &Path, source: &Source, model: &FeatureModel, features: &Features) -> Result<()> {
    make_folder(folder)?;
    let save = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        std::fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))
    };
    let k = model.n_features();
    if let Some([height, width, channels]) = model.picture {
        let images = FeatureImages { height, width, channels };
        for (feature, component) in model.components.iter().enumerate() {
            save(&format!("feature-{feature}.png"), &images.feature(component))?;
        }
        if k > 0 {
            save("features.png", &images.features(&model.components))?;
        }
        if let Values::F32(values) = source.values() {
            let originals: Vec<&[f32]> = values.chunks_exact(model.n_columns()).take(SHOWN).collect();
            let sums: Vec<Vec<f64>> =
                (0..originals.len()).map(|row| model.reconstruction(&features.allocation, row)).collect();
            save("pictures.png", &images.sheet(&originals, &sums))?;
        }
    }
    if k > 0 {
        let title = format!("Which row has which of {k} features");
        let cells = features.allocation.to_bools();
        let grid = Grid { title: &title, row_name: "row", column_name: "feature", n_columns: k, cells: &cells };
        save("allocation.svg", grid.svg().as_bytes())?;
    }
    let runs = features.traces.iter().enumerate();
    let series: Vec<(String, Vec<f64>)> = runs.map(|(i, trace)| (format!("run {}", i + 1), trace.clone())).collect();
    let title = "Objective after each pass";
    save("objective.svg", Lines { title, x_name: "pass", y_name: "objective", series: &series }.svg().as_bytes())
}
