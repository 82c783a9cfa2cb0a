//! Beam sampling (Van Gael, Saatci, Teh & Ghahramani 2008): all states of a sequence at once. With u_t ~ U(0, pi_{z_t-1,z_t}) only
//! finitely many transitions have pi > u_t, and the states are drawn by
//!
//! forward f_t(k) = p(x_t | theta_k) sum over j with pi_jk > u_t of f_t-1(j), backward z_t with f_t(k) [pi_{k,z_t+1} > u_t+1].
//!
//! A discriminative term is one more factor of the emission, p(y = 1)/p(y = -1) at x_t under eta_k, with h as the prior of eta_k:
//! the joint of all states is that of an infinite mixture of pairs (theta_k, eta_k), so states without rows have eta_k ~ h.

use crate::likelihood::{Emissions, Frozen};
use crate::prior::{Hdp, HdpSeats, HdpValues, Seats, StateWeights};
use crate::random::{Rng, draw_beta, draw_ln_gamma, draw_ln_weights};
use crate::separator::{Hyperplanes, Separator};
use crate::special::ln_sum_exp;
use crate::structure::Sequences;
use crate::watch::{Step, Watch};
use rand::RngExt;
use rand_distr::Open01;
use std::ops::Range;

/// Rows between two looks at the watch.
const ROWS_PER_POLL: usize = 64;

/// Messages f_t(k) kept at a time, 32 megabytes; longer sequences are filtered twice, block by block.
const MESSAGES: usize = 1 << 22;

/// A sum below this may have lost terms to underflow: it is formed again from logarithms.
const LEAST_SUM: f64 = 1e-200;

/// New states for all rows, 0..K and none of them empty, and their weights; none if the watch stopped it. The hyperplanes of a
/// discriminative term go with the states.
pub(super) fn beam(
    states: &[u32],
    sequences: &Sequences,
    seats: &HdpSeats,
    groups: &dyn Emissions,
    mut hyperplanes: Option<&mut Hyperplanes>,
    rng: &mut Rng,
    watch: &dyn Watch,
) -> Option<(Vec<u32>, StateWeights)> {
    let mut transitions = Transitions::draw(seats, rng);
    let mut slices = vec![0.0; states.len()];
    for rows in sequences.ranges() {
        let mut from = 0;
        for row in rows {
            let to = states[row] as usize;
            slices[row] = transitions.rows[from].states[to] * rng.sample::<f64, _>(Open01);
            from = to + 1;
        }
    }
    let least = slices.iter().copied().fold(f64::INFINITY, f64::min);
    transitions.extend_beyond(least, seats.hdp(), seats.values(), rng);
    let (order, table) = transitions.table(least);
    let mut frozen = groups.frozen();
    for &state in &order {
        frozen.draw((state < seats.n_groups()).then_some(state), rng);
    }
    if let Some(hyperplanes) = &mut hyperplanes {
        hyperplanes.extend_to(transitions.weights.states.len());
    }
    let term = hyperplanes.as_deref().map(|hyperplanes| Term { hyperplanes, order: &order });
    let mut filter = Filter::new(table, frozen, term);
    let mut drawn = vec![0u32; states.len()];
    for rows in sequences.ranges() {
        filter.draw_sequence(rows, &slices, &mut drawn, rng, watch)?;
    }
    drop(filter);
    let (states, weights, kept) = kept(drawn, &order, transitions.weights);
    if let Some(hyperplanes) = hyperplanes {
        hyperplanes.keep(&kept);
    }
    Some((states, weights))
}

/// The states that have rows, renumbered, and which they were; the others give their weight back.
fn kept(mut drawn: Vec<u32>, order: &[usize], weights: StateWeights) -> (Vec<u32>, StateWeights, Vec<usize>) {
    let mut names = vec![u32::MAX; order.len()];
    let mut kept = vec![];
    for state in &mut drawn {
        let name = &mut names[*state as usize];
        if *name == u32::MAX {
            *name = kept.len() as u32;
            kept.push(order[*state as usize]);
        }
        *state = *name;
    }
    let mut used = vec![false; weights.states.len()];
    kept.iter().for_each(|&state| used[state] = true);
    let unused = weights.states.iter().zip(&used).filter(|(_, used)| !**used);
    let new = weights.new + unused.map(|(weight, _)| weight).sum::<f64>();
    let states = kept.iter().map(|&state| weights.states[state]).collect();
    (drawn, StateWeights { states, new }, kept)
}

/// The transition matrix: the start row, then one for each state, each with what is left for all other states.
struct Transitions {
    rows: Vec<StateWeights>,
    /// beta.
    weights: StateWeights,
}

impl Transitions {
    /// pi_j ~ Dirichlet(n_j1 + c_j1, .., n_jK + c_jK, c_j,new), c what the prior adds.
    fn draw(seats: &HdpSeats, rng: &mut Rng) -> Self {
        let weights = seats.weights();
        let rows = (0..=seats.n_groups())
            .map(|row| {
                let from = row.checked_sub(1);
                draw_row(seats.values(), from, &weights, |to| seats.count(from, to), rng)
            })
            .collect();
        Transitions { rows, weights }
    }

    /// More states until none of those left out has a transition above `least`: each takes a part of beta_new and of every
    /// pi_j,new, Beta(c_j,K+1, c_j,new) of it, and has a row of its own.
    fn extend_beyond(&mut self, least: f64, hdp: &Hdp, values: &HdpValues, rng: &mut Rng) {
        while self.rows.iter().any(|row| row.new > least) {
            let k = self.weights.states.len();
            self.weights.take(hdp, values.gamma, rng);
            let (beta, new) = (self.weights.states[k], self.weights.new);
            for (row, pi) in self.rows.iter_mut().enumerate() {
                let from = row.checked_sub(1);
                let (part, left) = if new > 0.0 {
                    draw_beta(values.added(from, k, beta), values.added(from, usize::MAX, new), rng)
                } else {
                    (1.0, 0.0)
                };
                pi.states.push(pi.new * part);
                pi.new *= left;
            }
            self.rows.push(draw_row(values, Some(k), &self.weights, |_| 0.0, rng));
        }
    }

    /// States in falling order of their largest transition, those below `least` left out, and the matrix in this order.
    fn table(&self, least: f64) -> (Vec<usize>, Table) {
        let largest = |to: usize| self.rows.iter().map(|row| row.states[to]).fold(0.0, f64::max);
        let all = (0..self.weights.states.len()).map(|state| (largest(state), state));
        let mut ranked: Vec<(f64, usize)> = all.filter(|(largest, _)| *largest > least).collect();
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
        let (largest, order): (Vec<f64>, Vec<usize>) = ranked.into_iter().unzip();
        let in_order = |row: usize| order.iter().map(move |&to| self.rows[row].states[to]);
        let start = in_order(0).collect();
        let pi = order.iter().flat_map(|&from| in_order(from + 1)).collect();
        (order.clone(), Table { largest, start, pi })
    }
}

/// A Dirichlet draw of a row of the matrix.
fn draw_row(
    values: &HdpValues,
    from: Option<usize>,
    weights: &StateWeights,
    count: impl Fn(usize) -> f64,
    rng: &mut Rng,
) -> StateWeights {
    let states = weights.states.iter().enumerate();
    let mut ln_draws: Vec<f64> =
        states.map(|(to, &beta)| draw_ln_gamma(count(to) + values.added(from, to, beta), rng)).collect();
    let rest = values.added(from, usize::MAX, weights.new);
    ln_draws.push(if rest > 0.0 { draw_ln_gamma(rest, rng) } else { f64::NEG_INFINITY });
    let ln_total = ln_sum_exp(&ln_draws);
    let mut states: Vec<f64> = ln_draws.iter().map(|ln| (ln - ln_total).exp()).collect();
    let new = states.pop().unwrap_or(0.0);
    StateWeights { states, new }
}

/// Transitions between the states that may be visited.
struct Table {
    /// max_j pi_jk, falling: at a slice u only the first states can be entered.
    largest: Vec<f64>,
    /// pi_0k.
    start: Vec<f64>,
    /// pi_jk, row by row.
    pi: Vec<f64>,
}

/// Hyperplanes held still.
struct Term<'f> {
    hyperplanes: &'f Hyperplanes<'f>,
    /// Their states in the order of the table.
    order: &'f [usize],
}

impl Term<'_> {
    /// Adds log p(y = 1)/p(y = -1) of a row under each of the first states.
    fn weigh(&self, row: usize, out: &mut [f64]) {
        for (out, &state) in out.iter_mut().zip(self.order) {
            *out += self.hyperplanes.ln_ratio(state, row);
        }
    }
}

/// Forward messages and backward draws, in logarithms where numbers would underflow.
struct Filter<'f> {
    table: Table,
    frozen: Box<dyn Frozen + 'f>,
    term: Option<Term<'f>>,
    /// exp(log f - its largest) of the row before.
    scaled: Vec<f64>,
    sums: Vec<f64>,
    /// Rows whose messages are kept at a time.
    block: usize,
}

impl<'f> Filter<'f> {
    fn new(table: Table, frozen: Box<dyn Frozen + 'f>, term: Option<Term<'f>>) -> Self {
        let zeros = vec![0.0; table.start.len()];
        let block = (MESSAGES / zeros.len()).max(ROWS_PER_POLL);
        Filter { table, frozen, term, scaled: zeros.clone(), sums: zeros, block }
    }

    /// Draws the states of one sequence.
    fn draw_sequence(
        &mut self,
        rows: Range<usize>,
        slices: &[f64],
        drawn: &mut [u32],
        rng: &mut Rng,
        watch: &dyn Watch,
    ) -> Option<()> {
        let k = self.table.start.len();
        let block = self.block.min(rows.len());
        let blocks: Vec<Range<usize>> =
            rows.clone().step_by(block).map(|start| start..(start + block).min(rows.end)).collect();
        let mut messages = vec![0.0; block * k];
        // The last message of each block but the last.
        let mut ends: Vec<Vec<f64>> = vec![];
        for block in &blocks {
            self.forward(block.clone(), slices, ends.last().map(Vec::as_slice), &mut messages, watch)?;
            if block.end < rows.end {
                ends.push(messages[(block.len() - 1) * k..block.len() * k].to_vec());
            }
        }
        let mut next = None;
        for (number, block) in blocks.iter().enumerate().rev() {
            if block.end < rows.end {
                let before = number.checked_sub(1).map(|before| ends[before].as_slice());
                self.forward(block.clone(), slices, before, &mut messages, watch)?;
            }
            for row in block.clone().rev() {
                let message = &mut messages[(row - block.start) * k..][..k];
                if let Some(next) = next {
                    let slice = slices[row + 1];
                    for (from, ln) in message.iter_mut().enumerate() {
                        if self.table.pi[from * k + next] <= slice {
                            *ln = f64::NEG_INFINITY;
                        }
                    }
                }
                let state = draw_ln_weights(message, rng);
                drawn[row] = state as u32;
                next = Some(state);
            }
        }
        Some(())
    }

    /// log f_t for the rows of a block, the largest of each 0; `before` is the message of the row before the first.
    fn forward(
        &mut self,
        rows: Range<usize>,
        slices: &[f64],
        before: Option<&[f64]>,
        messages: &mut [f64],
        watch: &dyn Watch,
    ) -> Option<()> {
        let k = self.table.start.len();
        for row in rows.clone() {
            if row % ROWS_PER_POLL == 0 && watch.step(&Step::Chunk).is_break() {
                return None;
            }
            let at = (row - rows.start) * k;
            let (done, rest) = messages.split_at_mut(at);
            let before = if at == 0 { before } else { Some(&done[at - k..]) };
            self.message(row, slices[row], before, &mut rest[..k]);
        }
        Some(())
    }

    /// log f_t from log f_t-1, or of the first row of a sequence.
    fn message(&mut self, row: usize, slice: f64, before: Option<&[f64]>, message: &mut [f64]) {
        let Filter { table, frozen, term, scaled, sums, .. } = self;
        let k = table.start.len();
        let within = table.largest.partition_point(|&largest| largest > slice);
        message.fill(f64::NEG_INFINITY);
        let (message, sums) = (&mut message[..within], &mut sums[..within]);
        frozen.ln_densities(row, message);
        if let Some(term) = term {
            term.weigh(row, message);
        }
        match before {
            None => {
                for (sum, &pi) in sums.iter_mut().zip(&table.start) {
                    *sum = f64::from(pi > slice);
                }
            }
            Some(before) => {
                sums.fill(0.0);
                for (from, ln) in before.iter().enumerate() {
                    // The largest is 0.
                    scaled[from] = if *ln > f64::NEG_INFINITY { ln.exp() } else { 0.0 };
                    if scaled[from] > 0.0 {
                        for (sum, &pi) in sums.iter_mut().zip(&table.pi[from * k..]) {
                            *sum += if pi > slice { scaled[from] } else { 0.0 };
                        }
                    }
                }
            }
        }
        let mut top = f64::NEG_INFINITY;
        for (to, (ln, &sum)) in message.iter_mut().zip(&*sums).enumerate() {
            *ln += match before {
                Some(before) if sum < LEAST_SUM => {
                    let open = before.iter().enumerate().filter(|(from, _)| table.pi[from * k + to] > slice);
                    ln_sum_exp(&open.map(|(_, ln)| *ln).collect::<Vec<_>>())
                }
                _ => sum.ln(),
            };
            top = top.max(*ln);
        }
        debug_assert!(top > f64::NEG_INFINITY, "the path before is always open");
        message.iter_mut().for_each(|ln| *ln -= top);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Stream, stream};
    use crate::watch::Unwatched;
    use std::collections::HashMap;

    /// Densities given outright, states by rows.
    struct Given(Vec<Vec<f64>>);

    impl Frozen for Given {
        fn draw(&mut self, _: Option<usize>, _: &mut Rng) {}

        fn ln_densities(&mut self, row: usize, out: &mut [f64]) {
            out.copy_from_slice(&self.0[row][..out.len()]);
        }
    }

    /// All paths of 4 rows through 3 states, by their weights, against drawn ones: with densities that underflow next to each
    /// other, and the best state of a row one that leads nowhere.
    #[test]
    fn paths_are_drawn_by_their_weights_even_where_densities_underflow() {
        let ln_densities = vec![
            vec![-1.0, -2.0, -1.5],
            vec![-2000.0, 0.0, -2001.0],
            vec![-3000.0, -3001.0, -2999.5],
            vec![0.0, -0.5, -900.0],
        ];
        // Upper bounds of the columns do as well as their largest.
        let (largest, start) = (vec![0.9, 0.8, 0.7], vec![0.5, 0.3, 0.2]);
        let pi = vec![0.9, 0.05, 0.05, 0.1, 0.2, 0.1, 0.3, 0.2, 0.5];
        // Row 1 would be in state 1 by far, from which nothing leads on to row 2.
        let slices = [0.1, 0.04, 0.25, 0.15];
        let mut weights = HashMap::new();
        for code in 0..81 {
            let path: Vec<usize> = (0..4).map(|t| code / 3usize.pow(t) % 3).collect();
            if start[path[0]] > slices[0] && (1..4).all(|t| pi[path[t - 1] * 3 + path[t]] > slices[t]) {
                let ln: f64 = path.iter().enumerate().map(|(t, &state)| ln_densities[t][state]).sum();
                weights.insert(path, ln);
            }
        }
        let total = ln_sum_exp(&weights.values().copied().collect::<Vec<_>>());
        let mut filter = Filter::new(Table { largest, start, pi }, Box::new(Given(ln_densities)), None);
        let (n, mut rng) = (60_000, stream(0, Stream::Simulation));
        let mut counts = HashMap::new();
        for number in 0..n {
            // As one block, and cut into several that are filtered twice.
            filter.block = 1 + number % 4;
            let mut drawn = [0u32; 4];
            filter.draw_sequence(0..4, &slices, &mut drawn, &mut rng, &Unwatched).unwrap();
            *counts.entry(drawn.map(|state| state as usize).to_vec()).or_insert(0.0) += 1.0 / n as f64;
        }
        assert!(weights.len() > 5);
        for (path, ln) in &weights {
            let p = (ln - total).exp();
            let seen = counts.remove(path).unwrap_or(0.0);
            assert!((seen - p).abs() < 4.0 * (p * (1.0 - p) / n as f64).sqrt() + 1e-9, "{path:?}: {seen} {p}");
        }
        assert!(counts.is_empty(), "{counts:?}");
    }

    /// What is left over when a mean is taken away: its sum, and that in standard errors.
    #[derive(Default)]
    struct Left {
        sum: f64,
        squares: f64,
    }

    impl Left {
        fn add(&mut self, x: f64) {
            (self.sum, self.squares) = (self.sum + x, self.squares + x * x);
        }

        fn z(&self) -> f64 {
            self.sum / self.squares.sqrt()
        }
    }

    /// Given beta after the splits, every row is Dirichlet(n_jk + c_jk), c what the prior adds to old states and new ones alike;
    /// and a new state has Beta(1, gamma) of what was left of beta (with at most L states Beta(1 + gamma/L, gamma (L-K-1)/L)).
    #[rstest::rstest]
    fn states_that_are_split_off_have_the_prior_of_all_others(
        #[values(0.0, 0.4)] share: f64,
        #[values(None, Some(7))] max_states: Option<usize>,
    ) {
        let values = HdpValues { concentration: 2.5, share, gamma: 3.0, start: if share > 0.0 { 1.2 } else { 2.5 } };
        let hdp = Hdp { values, max_states, ..Hdp::default() };
        let (sequences, old) = (Sequences::new(&[5, 3], 8).unwrap(), 2);
        let mut seats = HdpSeats::new(hdp, values, &sequences, stream(0, Stream::Sticks(0)));
        let weights = StateWeights { states: vec![0.3, 0.25], new: 0.45 };
        seats.seat(&[0, 0, 1, 0, 1, 1, 1, 0], Some(weights.clone()));
        let mut rng = stream(1, Stream::Simulation);
        // Rows from the start, an old state and a new one; the first new state, the second and an old one: mean, square and
        // product with the first old one.
        let mut left: HashMap<(usize, usize, &str), Left> = HashMap::new();
        let mut sticks = [Left::default(), Left::default()];
        let mut begun = 0;
        for _ in 0..5_000 {
            let mut transitions = Transitions::draw(&seats, &mut rng);
            transitions.extend_beyond(1e-6, &hdp, &values, &mut rng);
            let Transitions { rows, weights: beta } = &transitions;
            let k = beta.states.len();
            assert!(rows.len() == k + 1 && rows.iter().all(|row| row.states.len() == k));
            if k < old + 2 {
                continue;
            }
            begun += 1;
            for row in [0, 1, old + 1] {
                let from = row.checked_sub(1);
                let count = |to: usize| if to < old && row <= old { seats.count(from, to) } else { 0.0 };
                let total = values.added_in_all(from) + (0..old).map(count).sum::<f64>();
                let shape = |to: usize| count(to) + values.added(from, to, beta.states[to]);
                for to in [0, old, old + 1] {
                    let (pi, a, b) = (rows[row].states[to], shape(to), shape(1));
                    let mut add = |what, x: f64| left.entry((row, to, what)).or_default().add(x);
                    add("mean", pi - a / total);
                    add("square", pi * pi - a * (a + 1.0) / (total * (total + 1.0)));
                    add("product", pi * rows[row].states[1] - a * b / (total * (total + 1.0)));
                }
            }
            let (each, most) = max_states.map_or((0.0, f64::INFINITY), |most| (3.0 / most as f64, most as f64));
            let rest = if most.is_finite() { 3.0 * (most - 3.0) / most } else { 3.0 };
            let (a, part) = (1.0 + each, beta.states[old] / weights.new);
            sticks[0].add(part - a / (a + rest));
            sticks[1].add(part * part - a * (a + 1.0) / ((a + rest) * (a + rest + 1.0)));
        }
        assert!(begun > 4_800, "{begun}");
        for (what, left) in &left {
            assert!(left.z().abs() < 4.5, "{what:?}: z {}", left.z());
        }
        assert!(sticks.iter().all(|left| left.z().abs() < 4.5), "{} {}", sticks[0].z(), sticks[1].z());
    }
}
