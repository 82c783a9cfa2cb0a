use super::*;
use crate::hard::features::row_problem::RowSolver;
use crate::hard::features::summary::multiply;
use crate::linalg::dot;
use crate::random::{Rng, Stream, stream};
use rand::RngExt;

/// Components, K x D, some of them tiny where asked for.
fn components(k: usize, d: usize, scale: f64, tiny: bool, rng: &mut Rng) -> Vec<f64> {
    let mut a: Vec<f64> = (0..k * d).map(|_| scale * (2.0 * rng.random::<f64>() - 0.8)).collect();
    if tiny {
        a[..d].iter_mut().for_each(|a| *a *= 1e-7);
    }
    a
}

pub(in crate::hard::features) fn problem_of(a: &[f64], k: usize, d: usize) -> RowProblem {
    let mut gram = vec![0.0; k * k];
    multiply(&mut gram, k, k, a, a, d);
    let mut problem = RowProblem::new(gram, k, RowSolver::Exact);
    problem.find_bounds();
    problem
}

/// What flipping the bits `flips` adds to |x - z A|^2: |v|^2 - 2 r'v, v the sum of d_k A_k.
pub(in crate::hard::features) fn gain(a: &[f64], d: usize, residual: &[f64], z: u64, flips: u64) -> f64 {
    let mut v = vec![0.0; d];
    for (k, a) in a.chunks_exact(d).enumerate().filter(|(k, _)| flips >> k & 1 == 1) {
        let step = if z >> k & 1 == 1 { -1.0 } else { 1.0 };
        v.iter_mut().zip(a).for_each(|(v, a)| *v += step * a);
    }
    dot(&v, &v) - 2.0 * dot(residual, &v)
}

/// x - z A.
pub(in crate::hard::features) fn residual<T: Real>(a: &[f64], x: &[T], z: u64) -> Vec<f64> {
    let mut rest: Vec<f64> = x.iter().map(|&x| x.into()).collect();
    for (_, a) in a.chunks_exact(x.len()).enumerate().filter(|(k, _)| z >> k & 1 == 1) {
        rest.iter_mut().zip(a).for_each(|(r, a)| *r -= a);
    }
    rest
}

/// How many of these rows are sure, after each of them that is was compared with all others.
fn check<T: Real>(x: &[T], a: &[f64], k: usize, d: usize, words: &mut [u64]) -> usize {
    let Some(glance) = Glance::new(a, d, &problem_of(a, k, d)) else { return 0 };
    let (n, before) = (words.len(), words.to_vec());
    let places: Vec<u32> = (0..n as u32).rev().collect();
    let (mut margins, mut residuals) = (vec![0.0; n], vec![0.0; n]);
    let glanced = Glanced { words, margins: &mut margins, residuals: &mut residuals, seen: true };
    glance.at(Rows::new(x, d).unwrap(), &places, glanced);
    let mut sure = 0;
    for (i, place) in places.iter().enumerate() {
        let rest = residual(a, &x[*place as usize * d..][..d], words[i]);
        assert!(f64::from(residuals[i]) >= dot(&rest, &rest), "K = {k}, D = {d}: a residual is larger than it may be");
        if margins[i] <= 0.0 {
            assert_eq!(words[i], before[i], "rows in doubt stay as they are");
            continue;
        }
        sure += 1;
        for flips in 1u64..1 << k {
            let gain = gain(a, d, &rest, words[i], flips);
            let least = if flips.is_power_of_two() { f64::from(margins[i]) } else { 0.0 };
            assert!(gain > least, "K = {k}, D = {d}: flips {flips:b} add {gain}, the margin is {}", margins[i]);
        }
    }
    sure
}

#[test]
fn rows_with_a_margin_are_the_best_of_all_and_residuals_no_longer_than_said() {
    let mut rng = stream(11, Stream::Simulation);
    let mut sure = [0; 6];
    for round in 0..60 {
        let (k, d) = (1 + round % 10, [1, 2, 7, 16, 33, 64, 300][round / 2 % 7]);
        let scale = [1.0, 1e-7, 1e6][round % 3];
        let a = components(k, d, scale, round % 5 == 4, &mut rng);
        for (kind, sure) in sure.iter_mut().enumerate() {
            let n = 40;
            let mut words: Vec<u64> = (0..n).map(|_| rng.random::<u64>() & ((1 << k) - 1)).collect();
            let mut x: Vec<f32> = Vec::new();
            for word in words.iter().rev() {
                // Near what the bits say, far from it, half way to a flip, far from the origin, and too small or large to say.
                let (noise, way, offset, size) = [
                    (0.1, 0.0, 0.0, 1.0),
                    (1.0, 0.0, 0.0, 1.0),
                    (1e-5, 0.5, 0.0, 1.0),
                    (0.1, 0.0, 1e5, 1.0),
                    (0.1, 0.0, 0.0, 1e-30),
                    (0.1, 0.0, 0.0, 1e30),
                ][kind];
                let rest = residual(&a, &vec![0.0f32; d], *word);
                let noisy = |j: usize, e: f64| -rest[j] + way * a[j] + scale * (noise * (e - 0.5) + offset);
                x.extend((0..d).map(|j| (size * noisy(j, rng.random())) as f32));
            }
            if round % 2 == 0 {
                words.iter_mut().for_each(|word| *word = 0);
            }
            let seen = words.clone();
            *sure += check(&x, &a, k, d, &mut words);
            let wide: Vec<f64> = x.iter().map(|x| f64::from(*x)).collect();
            let mut again = seen;
            check(&wide, &a, k, d, &mut again);
            assert_eq!(words, again, "float64 rows are seen as float32");
        }
    }
    assert!(sure[0] > 600, "float32 tells nothing: {sure:?}");
    assert!(sure[2] < sure[0], "rows half way to a flip are no harder: {sure:?}");
}
