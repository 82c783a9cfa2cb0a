use super::*;
use crate::data::Data;
use crate::likelihood::Spherical;

fn model() -> MixtureModel {
    let values = [0.0, 0.4, 5.0, 5.2, 9.0];
    let data = Data::new(Rows::new(&values, 1).unwrap()).unwrap();
    let likelihood = Spherical { variance: 0.3, prior_mean: vec![4.0], prior_variance: 10.0 };
    let draws = [[0, 0, 1, 1, 2], [0, 0, 1, 1, 1]].map(Partition::from_labels);
    let compact = draws.each_ref().map(CompactPartition::from);
    let weighted = [(0, 0.8), (1, 1.7)];
    let weighted = weighted.map(|(i, new_group)| DrawnPartition { partition: &compact[i], new_group, per_group: 0.0 });
    let law = MixtureLaw::Spherical(likelihood);
    MixtureModel::new(MixtureRows::Dense(&data), law, &weighted, &draws[0], vec!["x".into()], 7).unwrap()
}

#[test]
fn the_predictive_density_integrates_to_1_and_is_the_formula() {
    let (low, high, steps) = (-40.0, 50.0, 9000);
    let grid: Vec<f64> = (0..steps).map(|i| low + (high - low) * (i as f64 + 0.5) / steps as f64).collect();
    let (_, densities) = model().assign(Rows::new(&grid, 1).unwrap(), &Workers::serial()).unwrap();
    let total: f64 = densities.iter().map(|d| d.exp()).sum::<f64>() * (high - low) / steps as f64;
    assert!((total - 1.0).abs() < 1e-6, "{total}");
    // At one point, written out: N(x; (r2 sum + s2 m0)/(n r2 + s2), s2 + s2 r2/(n r2 + s2)).
    let normal = |x: f64, n: f64, sum: f64| {
        let mean = (10.0 * sum + 0.3 * 4.0) / (n * 10.0 + 0.3);
        let variance: f64 = 0.3 + 3.0 / (n * 10.0 + 0.3);
        (-0.5 * (x - mean).powi(2) / variance).exp() / (std::f64::consts::TAU * variance).sqrt()
    };
    let x = 1.1;
    let first =
        2.0 * normal(x, 2.0, 0.4) + 2.0 * normal(x, 2.0, 10.2) + normal(x, 1.0, 9.0) + 0.8 * normal(x, 0.0, 0.0);
    let second = 2.0 * normal(x, 2.0, 0.4) + 3.0 * normal(x, 3.0, 19.2) + 1.7 * normal(x, 0.0, 0.0);
    let expected = (0.5 * (first / 5.8 + second / 6.7)).ln();
    let (labels, found) = model().assign(Rows::new(&[x], 1).unwrap(), &Workers::serial()).unwrap();
    assert!((found[0] - expected).abs() < 1e-9, "{} {expected}", found[0]);
    assert_eq!(labels, [0]);
}

#[test]
fn new_rows_go_to_the_cluster_they_are_most_often_with() {
    let far = [1e4];
    assert_eq!(model().assign(Rows::new(&far, 1).unwrap(), &Workers::serial()).unwrap().0, [2], "far from all");
    let rows = [0.1, 5.1, 8.9];
    assert_eq!(model().assign(Rows::new(&rows, 1).unwrap(), &Workers::serial()).unwrap().0, [0, 1, 2]);
    let error = model().assign(Rows::new(&rows, 3).unwrap(), &Workers::serial()).unwrap_err().to_string();
    assert!(error.contains("the data has 3 columns, the model 1"), "{error}");
}

#[test]
fn a_saved_model_comes_back_and_a_damaged_one_is_refused() {
    let bytes = model().to_bytes();
    assert_eq!(MixtureModel::from_bytes(&bytes).unwrap(), model());
    assert_eq!(saved::kind_of_model(&bytes).unwrap(), "mixture");
    let text = String::from_utf8(bytes.clone()).unwrap().replace("1.7", "-1.7");
    let error = MixtureModel::from_bytes(text.as_bytes()).unwrap_err().to_string();
    assert!(error.contains("not positive"), "{error}");
    let error = crate::model::ClusterModel::from_bytes(&bytes).unwrap_err().to_string();
    assert!(error.contains("of kind \"mixture\""), "{error}");
}

#[test]
fn densities_of_every_law_are_the_ratio_of_marginals_with_the_row_and_without() {
    use crate::likelihood::{Diagonal, Full, Multinomial};
    let values = [0.0, 1.0, 0.4, 2.0, 5.0, 3.0, 5.2, 1.0, 9.0, 4.0];
    let with_row = [&values[..], &[1.0, 2.0]].concat();
    let estimate = Partition::from_labels([0, 0, 1, 1, 1]);
    let compact = CompactPartition::from(&estimate);
    let prior_mean = vec![4.0, 2.0];
    let (prior_strength, prior_dof) = (0.5, 4.0);
    let laws = [
        MixtureLaw::Full(Full {
            prior_mean: prior_mean.clone(),
            prior_strength,
            prior_dof,
            prior_scale: vec![2.0, 0.3, 0.3, 1.0],
        }),
        MixtureLaw::Diagonal(Diagonal {
            prior_mean: prior_mean.clone(),
            prior_strength,
            prior_dof,
            prior_scale: vec![2.0, 1.0],
        }),
        MixtureLaw::Spherical(Spherical { variance: 0.7, prior_mean, prior_variance: 3.0 }),
        MixtureLaw::Multinomial(Multinomial { pseudocount: 0.5 }),
    ];
    for (law, per_group) in laws.into_iter().flat_map(|law| [(law.clone(), 0.0), (law, 0.4)]) {
        let data = Data::new(Rows::new(&values, 2).unwrap()).unwrap();
        let longer = Data::new(Rows::new(&with_row, 2).unwrap()).unwrap();
        let counts = Counts::from_rows(longer.rows()).unwrap();
        let all = Counts::from_rows(data.rows()).unwrap();
        let sparse = matches!(law, MixtureLaw::Multinomial(_));
        let (rows, more) = if sparse {
            (MixtureRows::Counts(&all), MixtureRows::Counts(&counts))
        } else {
            (MixtureRows::Dense(&data), MixtureRows::Dense(&longer))
        };
        let drawn = [DrawnPartition { partition: &compact, new_group: 0.8, per_group }];
        let model = MixtureModel::new(rows, law.clone(), &drawn, &estimate, vec!["x".into(), "y".into()], 0);
        let model = model.unwrap();
        // By the live groups: the marginal of all six rows, the last in each group, less that of the first five.
        let mut groups = law.groups(more).unwrap();
        (0..3).for_each(|_| groups.open());
        (0..5).for_each(|row| groups.add(estimate.labels()[row] as usize, row));
        let before = groups.ln_marginal();
        let weights = [2.0 + per_group, 3.0 + per_group, 0.8];
        let terms: Vec<f64> = (0..3)
            .map(|k| {
                groups.add(k, 5);
                let ratio = groups.ln_marginal() - before;
                groups.sub(k, 5);
                ratio + (weights[k] / weights.iter().sum::<f64>()).ln()
            })
            .collect();
        let (_, found) = model.assign(Rows::new(&with_row[10..], 2).unwrap(), &Workers::serial()).unwrap();
        assert!((found[0] - ln_sum_exp(&terms)).abs() < 1e-9, "{law:?}: {} {}", found[0], ln_sum_exp(&terms));
        assert_eq!(MixtureModel::from_bytes(&model.to_bytes()).unwrap(), model, "{law:?}");
    }
}

#[test]
fn densities_of_a_standardised_model_are_in_the_users_units() {
    let plain = model();
    let standardise = Standardise { means: vec![100.0], scales: vec![20.0] };
    let scaled = MixtureModel { standardise: Some(standardise), ..plain.clone() };
    let serial = Workers::serial();
    let (labels, densities) = plain.assign(Rows::new(&[0.5, 5.0], 1).unwrap(), &serial).unwrap();
    let (again, others) = scaled.assign(Rows::new(&[110.0, 200.0], 1).unwrap(), &serial).unwrap();
    assert_eq!(labels, again);
    for (density, other) in densities.iter().zip(&others) {
        assert!((density - 20.0_f64.ln() - other).abs() < 1e-12);
    }
    assert_eq!(MixtureModel::from_bytes(&scaled.to_bytes()).unwrap(), scaled);
    let damaged = String::from_utf8(scaled.to_bytes()).unwrap().replace("20.0", "0.0");
    let error = MixtureModel::from_bytes(damaged.as_bytes()).unwrap_err().to_string();
    assert!(error.contains("positive finite"), "{error}");
}

#[test]
fn a_file_from_before_there_were_other_laws_is_read() {
    let text = String::from_utf8(model().to_bytes()).unwrap();
    let older = text.replace("\"new_group\"", "\"concentration\"").replace("\"statistics\"", "\"sums\"");
    let older = older.lines().filter(|line| !line.contains("per_group")).collect::<Vec<_>>().join("\n");
    assert_ne!(text, older);
    assert!(!text.contains("\"name\""), "the spherical law is written as it always was");
    assert_eq!(MixtureModel::from_bytes(older.as_bytes()).unwrap(), model());
}
