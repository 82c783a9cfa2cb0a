//! Passes that begin in float32 against passes in float64 alone.

use super::*;
use crate::random::{Stream, stream};
use rand::RngExt;

/// What a pass leaves: features, Z'Z, Z'X, |X|^2 and the row of largest residual.
#[derive(Debug, PartialEq)]
struct Left {
    words: Vec<u64>,
    products: Vec<f64>,
    sums: Vec<f64>,
    square: f64,
    far: Option<(f64, usize)>,
}

/// Passes over the rows with components that move; with margins, or in float64 alone. How many rows had margins in the end.
fn passes<T: Real>(x: &[T], d: usize, all: &[Vec<f64>], price: f64, margins: bool) -> (Vec<Left>, usize) {
    let (n, k) = (x.len() / d, all[0].len() / d);
    let (mut words, mut kept, mut residual) = (vec![0; n], vec![Margin::default(); n], 0.0f32);
    let mut total = Summary::new(k, d);
    let mut before: Option<FrozenComponents> = None;
    let mut left = Vec::new();
    for components in all {
        let mut frozen = FrozenComponents::new(components, k, d, RowSolver::Exact);
        if !margins {
            frozen.glance = None;
        }
        let drift = before.as_ref().and_then(|before| frozen.drift_from(before));
        let asked = Asked { frozen: &frozen, drift: drift.as_ref(), price, squares: total.square == 0.0 };
        let own = if frozen.tells_margins() { &mut kept[..] } else { &mut [] };
        let mut summary = Summary::new(k, d);
        let rows = Rows::new(x, d).unwrap();
        summary.solve(rows, 0, Kept { words: &mut words, margins: own, residual: &mut residual }, &asked);
        let far = summary.far;
        total.follow(summary);
        let (products, sums) = (total.products.clone(), total.sums.clone());
        left.push(Left { words: words.clone(), products, sums, square: total.square, far });
        before = Some(frozen);
    }
    (left, kept.iter().filter(|margin| margin.get() > 0.0).count())
}

#[test]
fn rows_in_float32_doubt_are_decided_in_float64() {
    let mut rng = stream(13, Stream::Simulation);
    let mut with_margin = 0;
    for round in 0..56 {
        let (k, d) = ([1, 2, 5, 8, 9, 12, 17, 20][round % 8], [1, 3, 16, 64, 100, 300][round % 6]);
        // Many features in few columns are searched for long.
        let d = if k > 12 { d.max(64) } else { d };
        let (noise, offset, size) = [
            (0.3, 0.0, 1.0),
            (1.0, 0.0, 1.0),
            (1e-7, 0.0, 1.0),
            (0.3, 3e4, 1.0),
            (0.1, 0.0, 1e-30),
            (0.1, 0.0, 1e9),
            (0.3, 1.0, 1e-9),
        ][round % 7];
        let n = 300;
        let mut a: Vec<f64> = (0..k * d).map(|_| size * (4.0 * rng.random::<f64>() - 2.0)).collect();
        if round % 4 == 3 {
            a[..d].iter_mut().for_each(|a| *a *= 1e-6);
        }
        let mut x = vec![0.0f32; n * d];
        for (i, x) in x.chunks_exact_mut(d).enumerate() {
            let z: u64 = rng.random();
            // Every seventh row is half way between two.
            let way = |feature: usize| if feature == 0 && i % 7 == 0 { 0.5 } else { (z >> feature & 1) as f64 };
            for (j, x) in x.iter_mut().enumerate() {
                let sum: f64 = (0..k).map(|feature| way(feature) * a[feature * d + j]).sum();
                *x =
                    (sum + size * (offset + if i % 7 == 0 { 0.0 } else { noise * (rng.random::<f64>() - 0.5) })) as f32;
            }
        }
        let mut all = vec![a];
        for step in [1e-3, 1e-2, 0.0, 0.3] {
            let last = &all[all.len() - 1];
            all.push(last.iter().map(|a| a + size * step * (rng.random::<f64>() - 0.5)).collect());
        }
        let exact = passes(&x, d, &all, 0.0, false).0;
        let largest = exact[4].far.map_or(0.0, |far| far.0);
        for price in [[0.0, 0.999 * largest][round / 8 % 2], 0.5 * largest, f64::INFINITY] {
            let (float32, some) = passes(&x, d, &all, price, true);
            with_margin += some;
            assert!(float32 == passes(&x, d, &all, price, false).0, "round {round}: K = {k}, D = {d}, price {price}");
        }
        if round % 9 == 0 {
            let wide: Vec<f64> = x.iter().map(|x| f64::from(*x)).collect();
            let price = 0.5 * largest;
            assert!(
                passes(&wide, d, &all, price, true).0 == passes(&wide, d, &all, price, false).0,
                "float64, {round}"
            );
        }
    }
    assert!(with_margin > 4_000, "only {with_margin} rows have margins: hardly anything is tested");
}

#[test]
fn a_tie_among_rows_without_features_ends_as_in_float64_alone() {
    // Two features alone explain a row equally well, and rounded least squares begin with both; all other rows are 0.
    let (k, n) = (9, 40);
    let mut components = vec![0.0; k * k];
    (2..k).for_each(|i| components[i * k + i] = 3.0);
    components[..2].copy_from_slice(&[2.0, 1.0]);
    components[k..k + 2].copy_from_slice(&[1.0, 2.0]);
    let mut x = vec![0.0f32; n * k];
    x[7 * k..7 * k + 2].copy_from_slice(&[2.0, 2.0]);
    let [(with, some), (without, none)] =
        [true, false].map(|margins| passes(&x, k, &[components.clone()], f64::INFINITY, margins));
    assert!(some >= n - 1 && none == 0);
    assert_eq!(with[0].words, without[0].words);
}

#[test]
fn rows_whose_margin_lasts_are_not_read() {
    // Two features far apart, rows just beside what they make up; then the same rows with nothing in them.
    let (n, d) = (100, 2);
    let x: Vec<f32> = (0..n).flat_map(|i| [(i % 2) as f32, (i / 2 % 2) as f32 + 0.1]).collect();
    let nothing = vec![0.0f32; n * d];
    let frozen = FrozenComponents::new(&[1.0, 0.0, 0.0, 1.0], 2, d, RowSolver::Exact);
    let still = frozen.drift_from(&frozen).unwrap();
    let (mut words, mut margins, mut residual) = (vec![0; n], vec![Margin::default(); n], 0.0f32);
    let mut solve = |x: &[f32], drift: Option<&Drift>| {
        let asked = Asked { frozen: &frozen, drift, price: f64::INFINITY, squares: false };
        let kept = Kept { words: &mut words, margins: &mut margins, residual: &mut residual };
        let mut summary = Summary::new(2, d);
        summary.solve(Rows::new(x, d).unwrap(), 0, kept, &asked);
        (summary.changed, words.clone())
    };
    let planted: Vec<u64> = (0..n as u64).map(|i| i % 4).collect();
    assert_eq!(solve(&x, None).1, planted);
    assert_eq!(solve(&nothing, Some(&still)), (0, planted));
    assert_eq!(solve(&nothing, None).1, vec![0; n], "rows are read where nothing is known of them");
}
