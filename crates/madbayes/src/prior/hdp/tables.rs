//! Once per sweep: tables, overrides, the concentrations and beta given the transitions (Teh et al. 2006, Sec. 5.3; Fox et al.
//! 2011, Sup. B-C).

use super::{Hdp, HdpValues, StateWeights};
use crate::prior::concentration::{Concentration, draw_gamma, resample_concentration};
use crate::random::{Rng, draw_beta, draw_ln_gamma};
use rand::RngExt;

/// Transitions n_jk: from the start, then from each of K states, to each.
pub(super) struct Counts {
    pub k: usize,
    pub cells: Vec<usize>,
}

/// A share that is neither 0 nor 1: both have no logarithm of something.
pub(super) fn inside(share: f64) -> f64 {
    share.clamp(f64::MIN_POSITIVE, 1.0 - f64::EPSILON)
}

/// Redraws what is not fixed of the prior's numbers, and the weights.
///
/// Tables and overrides are auxiliary: drawn given all, then the numbers given them with beta integrated out, then beta.
pub(super) fn redraw(
    hdp: &Hdp,
    values: &mut HdpValues,
    weights: &StateWeights,
    counts: &Counts,
    rng: &mut Rng,
) -> StateWeights {
    let k = counts.k;
    let rows = counts.cells.chunks_exact(k.max(1)).enumerate().map(|(row, cells)| (row.checked_sub(1), cells));
    // mbar_.k: tables that took their state from beta.
    let mut from_beta = vec![0; k];
    // Transitions and tables of each row, the start row apart.
    let (mut start, mut others) = ((0, 0), vec![]);
    let mut overrides = 0;
    for (from, cells) in rows {
        let mut tables = 0;
        for (to, &n) in cells.iter().enumerate() {
            let here = draw_tables(n, values.added(from, to, weights.states[to]), rng);
            let own = if from == Some(to) && values.is_sticky() {
                let chance = values.share / (values.share + weights.states[to] * (1.0 - values.share));
                (0..here).filter(|_| rng.random::<f64>() < chance).count()
            } else {
                0
            };
            overrides += own;
            tables += here;
            from_beta[to] += here - own;
        }
        let row = (cells.iter().sum(), tables);
        match from {
            None => start = row,
            Some(_) => others.push(row),
        }
    }
    if let Some((c, d)) = hdp.share {
        let tables: usize = others.iter().map(|(_, tables)| tables).sum();
        values.share = inside(draw_beta(c + overrides as f64, d + (tables - overrides) as f64, rng).0);
    }
    if let Concentration::Gamma { shape, rate } = hdp.concentration {
        if values.is_sticky() {
            values.concentration = shared_concentration(values.concentration, &others, shape, rate, rng);
            values.start = shared_concentration(values.start, &[start], shape, rate, rng);
        } else {
            others.push(start);
            values.concentration = shared_concentration(values.concentration, &others, shape, rate, rng);
            values.start = values.concentration;
        }
    }
    let each = hdp.added_to_each(values.gamma);
    if let Concentration::Gamma { shape, rate } = hdp.gamma {
        // With L states the tables sit at tables again; without a largest number there is one for each state.
        let of_states: usize =
            from_beta.iter().map(|&m| if each > 0.0 { draw_tables(m, each, rng) } else { m.min(1) }).sum();
        values.gamma = resample_concentration(values.gamma, from_beta.iter().sum(), of_states, shape, rate, rng);
    }
    draw_weights(hdp, values.gamma, &from_beta, rng)
}

/// Tables among n customers of a restaurant of concentration c: the sum over i = 0..n-1 of Bernoulli(c / (c + i)).
fn draw_tables(n: usize, c: f64, rng: &mut Rng) -> usize {
    let later = (1..n).filter(|&i| rng.random::<f64>() * (c + i as f64) < c).count();
    later + n.min(1)
}

/// A concentration that several restaurants share, each given by its customers and tables: w_j ~ Beta(c + 1, n_j),
/// s_j ~ Bernoulli(n_j / (n_j + c)); c ~ Gamma(a + m_.. - sum s_j, b - sum log w_j).
fn shared_concentration(current: f64, rows: &[(usize, usize)], shape: f64, rate: f64, rng: &mut Rng) -> f64 {
    let (mut shape, mut rate) = (shape, rate);
    for &(n, tables) in rows.iter().filter(|(n, _)| *n > 0) {
        let n = n as f64;
        // -log w = log(1 + y/x) with x ~ Gamma(c + 1), y ~ Gamma(n): w itself may round to 1.
        let (x, y) = (draw_ln_gamma(current + 1.0, rng), draw_ln_gamma(n, rng));
        rate += (y - x).exp().ln_1p();
        shape += tables as f64 - f64::from(rng.random::<f64>() * (n + current) < n);
    }
    draw_gamma(shape, rate, rng)
}

/// beta ~ Dirichlet(mbar_.1 + gamma/L, .., mbar_.K + gamma/L, gamma (L - K)/L).
fn draw_weights(hdp: &Hdp, gamma: f64, from_beta: &[usize], rng: &mut Rng) -> StateWeights {
    let (each, rest) = (hdp.added_to_each(gamma), hdp.added_to_rest(gamma, from_beta.len()));
    let ln_states: Vec<f64> = from_beta.iter().map(|&m| draw_ln_gamma(m as f64 + each, rng)).collect();
    let ln_rest = if rest > 0.0 { draw_ln_gamma(rest, rng) } else { f64::NEG_INFINITY };
    let ln_total = crate::special::ln_sum_exp(&[&ln_states[..], &[ln_rest]].concat());
    let share = |ln: f64| (ln - ln_total).exp().max(f64::MIN_POSITIVE);
    StateWeights {
        states: ln_states.into_iter().map(share).collect(),
        new: if rest > 0.0 { share(ln_rest) } else { 0.0 },
    }
}
