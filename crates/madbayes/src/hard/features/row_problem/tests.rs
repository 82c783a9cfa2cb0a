use super::*;
use crate::random::{Stream, stream};
use rand::RngExt;

/// A random problem: A of D columns (dependent rows when D < K), and a row x.
fn random(k: usize, d: usize, seed: u64, row: u64) -> (Vec<f64>, Vec<f64>) {
    let mut rng = stream(seed, Stream::Simulation);
    let a: Vec<f64> = (0..k * d).map(|_| 2.0 * rng.random::<f64>() - 0.8).collect();
    let mut rng = stream(seed, Stream::Restart(row as u32));
    let x: Vec<f64> = (0..d).map(|_| 4.0 * rng.random::<f64>() - 1.0).collect();
    let inner = |u: &[f64], v: &[f64]| u.iter().zip(v).map(|(u, v)| u * v).sum::<f64>();
    let row = |i: usize| &a[i * d..(i + 1) * d];
    let gram = (0..k * k).map(|e| inner(row(e / k), row(e % k))).collect();
    (gram, (0..k).map(|i| inner(row(i), &x)).collect())
}

fn plain_cost(gram: &[f64], c: &[f64], row: u64) -> f64 {
    let k = c.len();
    let on = |i: usize| row >> i & 1 == 1;
    let mut cost = 0.0;
    for i in (0..k).filter(|i| on(*i)) {
        cost += (0..k).filter(|j| on(*j)).map(|j| gram[i * k + j]).sum::<f64>() - 2.0 * c[i];
    }
    cost
}

#[test]
fn exact_rows_equal_enumeration_of_all_rows_one_by_one_and_in_blocks() {
    let mut harder = 0;
    for seed in 0..300 {
        let k = 1 + seed as usize % 12;
        let d = [2, 5, 30][seed as usize % 3];
        let (gram, _) = random(k, d, seed, 0);
        let rows: Vec<Vec<f64>> = (0..20).map(|row| random(k, d, seed, row).1).collect();
        let best = |c: &[f64]| (0..1u64 << k).map(|z| plain_cost(&gram, c, z)).fold(f64::INFINITY, f64::min);
        let problem = RowProblem::new(gram.clone(), k, RowSolver::Exact);
        let mut scratch = Scratch::default();
        let across: Vec<f64> = (0..k).flat_map(|i| rows.iter().map(move |c| c[i])).collect();
        let mut words: Vec<u64> = (0..20).map(|row| (seed + 7 * row) % (1 << k)).collect();
        let before = words.clone();
        let mut costs = vec![0.0; 20];
        let changed = problem.solve_block(&across, &mut words, &mut costs, &mut scratch);
        assert_eq!(changed > 0, before != words);
        for (row, c) in rows.iter().enumerate() {
            let best = best(c);
            assert!((plain_cost(&gram, c, words[row]) - best).abs() < 1e-9, "K = {k}, D = {d}, in a block");
            assert!((costs[row] - best).abs() < 1e-9);
            let mut z = [before[row]];
            let (cost, moved) = searched(&gram, k).solve(c, &mut z, &mut scratch);
            assert!((cost - best).abs() < 1e-9, "K = {k}, D = {d}: {cost} instead of {best}");
            assert!((plain_cost(&gram, c, z[0]) - cost).abs() < 1e-9);
            assert_eq!(moved, z[0] != before[row]);
            let mut flipped = [before[row]];
            let alone = RowProblem::new(gram.clone(), k, RowSolver::Coordinate);
            harder += usize::from(alone.solve(c, &mut flipped, &mut scratch).0 > best + 1e-9);
        }
    }
    assert!(harder > 50, "flips alone solve nearly everything ({harder} left): the test is too easy");
}

/// Exact, by branch and bound whatever K is.
fn searched(gram: &[f64], k: usize) -> RowProblem {
    let mut problem = RowProblem::new(gram.to_vec(), k, RowSolver::Exact);
    problem.code = None;
    problem.prepare_search(1e-14 * (0..k).map(|i| gram[i * k + i]).fold(0.0, f64::max));
    problem
}

#[test]
fn no_solver_raises_the_cost_and_flips_end_where_no_flip_or_pair_helps() {
    for seed in 0..100 {
        let k = 2 + seed as usize % 30;
        let (gram, c) = random(k, 8, seed, 0);
        let start = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) & ((1 << k) - 1);
        let before = plain_cost(&gram, &c, start);
        for solver in [RowSolver::Auto, RowSolver::Coordinate, RowSolver::Paper] {
            let mut z = [start];
            let mut cost = [0.0];
            let problem = RowProblem::new(gram.clone(), k, solver);
            problem.solve_block(&c, &mut z, &mut cost, &mut Scratch::default());
            let [cost] = cost;
            assert!(cost <= before + 1e-9);
            assert!((plain_cost(&gram, &c, z[0]) - cost).abs() < 1e-8);
            if solver == RowSolver::Coordinate {
                for i in 0..k {
                    for j in i..k {
                        assert!(plain_cost(&gram, &c, z[0] ^ (1 << i | 1 << j)) > cost - 1e-9);
                    }
                }
            }
        }
    }
}

#[test]
fn the_floor_leaves_a_positive_semidefinite_rest() {
    for seed in 0..50 {
        let k = 2 + seed as usize % 6;
        let (gram, _) = random(k, 12, seed, 0);
        let problem = searched(&gram, k);
        assert!(problem.floor.iter().all(|f| *f > 0.0));
        for row in 0..3u64.pow(k as u32) {
            let v: Vec<f64> = (0..k as u32).map(|i| (row / 3u64.pow(i) % 3) as f64 - 1.0).collect();
            let form = |i: usize| (0..k).map(|j| v[i] * v[j] * gram[i * k + j]).sum::<f64>();
            let rest: f64 = (0..k).map(|i| form(i) - problem.floor[i] * v[i] * v[i]).sum();
            assert!(rest > -1e-9);
        }
    }
}
