//! Rows of counts, multinomial given the group, its probabilities integrated out under a Dirichlet prior (MATH 5):
//! predictive, and its limit, DP-means with Kullback-Leibler divergence.
//!
//! With counts x scaled by 1/(2 s2) and s2 -> 0, -2 s2 log p tends to sum_n x_n. KL(x_n/x_n. || C/C.), C the group's summed
//! counts and the dot a sum over columns. The pseudocount is not scaled and vanishes from the limit.

use super::Groups;
use crate::counts::Counts;
use crate::error::{Error, Result};
use crate::special::{ln_gamma, ln_gamma_ratio, ln_gammas, sum_ln_gammas_less, sum_x_ln_x};
use serde::{Deserialize, Serialize};

/// Rows of counts x ~ Multinomial(x., p) with p ~ Dirichlet(pseudocount, .., pseudocount).
///
/// Counts need not be whole: factorials are then gamma functions. The total x. of a row is taken as given, so that a row
/// may be multiplied by a weight: it then counts for more, in its group and in its score.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Multinomial {
    /// a, added to every count of a group: small for groups that use few of the columns.
    pub pseudocount: f64,
}

impl Default for Multinomial {
    /// 0.01, as Nguyen et al. (2017) have it.
    fn default() -> Self {
        Multinomial { pseudocount: 0.01 }
    }
}

impl Multinomial {
    /// Errors unless the pseudocount is positive, and neither vanishes nor drowns all counts.
    pub fn check(&self) -> Result<()> {
        if (1e-100..=1e15).contains(&self.pseudocount) {
            return Ok(());
        }
        let help = "it is added to every count of a group; 0.01 is a usual choice, 1 makes all distributions alike";
        Err(Error::argument("pseudocount", "a positive number between 1e-100 and 1e15", self.pseudocount, help))
    }

    /// What a row contributes by itself.
    fn terms(&self, n_columns: usize, values: &[f64]) -> RowTerms {
        let (a, total): (f64, f64) = (self.pseudocount, values.iter().sum());
        let ln_products = |add: f64, ln_lower: f64| {
            let upper: Vec<f64> = values.iter().map(|x| x + add).collect();
            sum_ln_gammas_less(&upper, &vec![ln_lower; values.len()])
        };
        let ln_coefficient = ln_gamma(total + 1.0) - ln_products(1.0, 0.0);
        let ln_alone = ln_coefficient + ln_products(a, ln_gamma(a)) - ln_gamma_ratio(n_columns as f64 * a, total);
        RowTerms { total, ln_coefficient, ln_alone, negentropy: sum_x_ln_x(values) - sum_x_ln_x(&[total]) }
    }
}

/// What a row contributes by itself.
#[derive(Debug, Clone, Copy)]
struct RowTerms {
    /// x.
    total: f64,
    /// log of x.! / prod x_v!.
    ln_coefficient: f64,
    /// The log predictive in a group of its own, C = 0.
    ln_alone: f64,
    /// sum x_v log(x_v / x.).
    negentropy: f64,
}

/// Live groups: their summed counts.
#[derive(Debug, Clone)]
pub struct MultinomialGroups<'a> {
    counts: &'a Counts,
    law: Multinomial,
    terms: Vec<RowTerms>,
    groups: Vec<Group>,
    /// C, K x V.
    tallies: Vec<f64>,
    /// log Gamma(C + a), K x V.
    ln_gammas: Vec<f64>,
    /// log Gamma(a).
    ln_gamma_of_nothing: f64,
    /// Room for the numbers of one row.
    upper: Vec<f64>,
    lower: Vec<f64>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Group {
    /// Number of rows.
    size: usize,
    /// C.
    total: f64,
    /// Sums over the rows.
    ln_coefficient: f64,
    negentropy: f64,
}

impl<'a> MultinomialGroups<'a> {
    /// No groups yet.
    pub fn new(counts: &'a Counts, law: Multinomial) -> Result<Self> {
        law.check()?;
        Ok(MultinomialGroups {
            counts,
            law,
            terms: (0..counts.n_rows()).map(|n| law.terms(counts.n_columns(), counts.row(n).1)).collect(),
            groups: vec![],
            tallies: vec![],
            ln_gammas: vec![],
            ln_gamma_of_nothing: ln_gamma(law.pseudocount),
            upper: vec![],
            lower: vec![],
        })
    }

    /// For the limit, in which the pseudocount plays no part.
    pub fn in_the_limit(counts: &'a Counts) -> Self {
        Self::new(counts, Multinomial::default()).expect("the default is allowed")
    }

    /// Adds the log predictive probability of any row, given by its columns with counts, under each group and a new one.
    pub fn weigh_new(&mut self, columns: &[u32], values: &[f64], out: &mut [f64]) {
        let terms = self.law.terms(self.counts.n_columns(), values);
        self.weigh_row(columns, values, terms, out);
    }

    /// The rows.
    pub(super) fn counts(&self) -> &'a Counts {
        self.counts
    }

    /// a.
    pub(super) fn pseudocount(&self) -> f64 {
        self.law.pseudocount
    }

    /// log of x.! / prod x_v! of a row.
    pub(super) fn ln_coefficient(&self, row: usize) -> f64 {
        self.terms[row].ln_coefficient
    }

    /// The summed counts of a group.
    pub fn tally(&self, group: usize) -> &[f64] {
        &self.tallies[self.range(group)]
    }

    /// The mean of a group's probabilities given its rows: (C + a) / (C. + V a).
    pub fn distribution(&self, group: usize) -> Vec<f64> {
        let total = self.groups[group].total + self.prior_total();
        self.tally(group).iter().map(|c| (c + self.law.pseudocount) / total).collect()
    }

    /// sum x. KL(x/x. || C/C.) over a group's rows.
    pub fn group_loss(&self, group: usize) -> f64 {
        let Group { total, negentropy, .. } = self.groups[group];
        (negentropy + sum_x_ln_x(&[total]) - sum_x_ln_x(self.tally(group))).max(0.0)
    }

    fn range(&self, group: usize) -> std::ops::Range<usize> {
        let v = self.counts.n_columns();
        group * v..(group + 1) * v
    }

    /// V a.
    fn prior_total(&self) -> f64 {
        self.counts.n_columns() as f64 * self.law.pseudocount
    }

    /// coefficient + lgamma(C.+Va) - lgamma(C.+Va+x.) + sum over x_v > 0 of lgamma(C_v+a+x_v) - lgamma(C_v+a).
    fn weigh_row(&mut self, columns: &[u32], values: &[f64], terms: RowTerms, out: &mut [f64]) {
        let (a, v, prior_total) = (self.law.pseudocount, self.counts.n_columns(), self.prior_total());
        let (new, out) = out.split_last_mut().expect("room for a new group");
        *new += terms.ln_alone;
        let groups = self.tallies.chunks_exact(v).zip(self.ln_gammas.chunks_exact(v)).zip(&self.groups);
        for (((tally, ln_gammas), group), out) in groups.zip(out) {
            self.upper.clear();
            self.upper.extend(columns.iter().zip(values).map(|(&column, x)| tally[column as usize] + (x + a)));
            self.lower.clear();
            self.lower.extend(columns.iter().map(|&column| ln_gammas[column as usize]));
            *out += terms.ln_coefficient + sum_ln_gammas_less(&self.upper, &self.lower)
                - ln_gamma_ratio(group.total + prior_total, terms.total);
        }
    }

    /// Adds a row `times` times (-1: takes it out).
    fn change(&mut self, group: usize, row: usize, times: f64) {
        let (range, a) = (self.range(group), self.law.pseudocount);
        let (columns, values) = self.counts.row(row);
        let tally = &mut self.tallies[range.clone()];
        self.upper.clear();
        for (&column, x) in columns.iter().zip(values) {
            let count = &mut tally[column as usize];
            // Whole numbers are exact; of others a rounding below 0 may be left.
            *count = (*count + times * x).max(0.0);
            self.upper.push(*count + a);
        }
        ln_gammas(&mut self.upper);
        let cached = &mut self.ln_gammas[range];
        columns.iter().zip(&self.upper).for_each(|(&column, value)| cached[column as usize] = *value);
        let (group, terms) = (&mut self.groups[group], &self.terms[row]);
        group.total = (group.total + times * terms.total).max(0.0);
        group.negentropy += times * terms.negentropy;
        group.ln_coefficient += times * terms.ln_coefficient;
    }

    /// A group without rows.
    fn reset(&mut self, group: usize) {
        let range = self.range(group);
        self.tallies[range.clone()].fill(0.0);
        self.ln_gammas[range].fill(self.ln_gamma_of_nothing);
        self.groups[group] = Group::default();
    }
}

impl Groups for MultinomialGroups<'_> {
    fn n_groups(&self) -> usize {
        self.groups.len()
    }

    fn open(&mut self) {
        let v = self.counts.n_columns();
        self.tallies.extend(std::iter::repeat_n(0.0, v));
        self.ln_gammas.extend(std::iter::repeat_n(self.ln_gamma_of_nothing, v));
        self.groups.push(Group::default());
    }

    fn close(&mut self, group: usize) {
        let start = self.range(group).start;
        self.groups.swap_remove(group);
        let last = self.range(self.groups.len()).start;
        for numbers in [&mut self.tallies, &mut self.ln_gammas] {
            numbers.copy_within(last.., start);
            numbers.truncate(last);
        }
    }

    fn add(&mut self, group: usize, row: usize) {
        self.change(group, row, 1.0);
        self.groups[group].size += 1;
    }

    fn sub(&mut self, group: usize, row: usize) {
        self.groups[group].size -= 1;
        if self.groups[group].size == 0 {
            self.reset(group);
        } else {
            self.change(group, row, -1.0);
        }
    }

    fn weigh(&mut self, row: usize, out: &mut [f64]) {
        let (columns, values) = self.counts.row(row);
        self.weigh_row(columns, values, self.terms[row], out);
    }

    /// x. KL(x/x. || C+x) + C. KL(C/C. || C+x), C + x also divided by its sum: the terms of columns without counts in x are
    /// C. log(1 + x./C.) together. A group of its own costs nothing here.
    fn charge(&mut self, row: usize, out: &mut [f64]) {
        let (columns, values) = self.counts.row(row);
        let terms = self.terms[row];
        let v = self.counts.n_columns();
        for ((tally, group), out) in self.tallies.chunks_exact(v).zip(&self.groups).zip(out) {
            self.lower.clear();
            self.lower.extend(columns.iter().map(|&column| tally[column as usize]));
            self.upper.clear();
            self.upper.extend(self.lower.iter().zip(values).map(|(count, x)| count + x));
            let columns = sum_x_ln_x(&self.upper) - sum_x_ln_x(&self.lower);
            let totals = sum_x_ln_x(&[group.total + terms.total]) - sum_x_ln_x(&[group.total]);
            *out += (terms.negentropy + totals - columns).max(0.0);
        }
    }

    /// Over the groups: coefficients + lgamma(Va) - lgamma(Va + C.) + sum_v [lgamma(a + C_v) - lgamma(a)].
    fn ln_marginal(&self) -> f64 {
        let v = self.counts.n_columns();
        let groups = self.ln_gammas.chunks_exact(v).zip(&self.groups);
        groups
            .map(|(ln_gammas, group)| {
                let columns: f64 = ln_gammas.iter().map(|l| l - self.ln_gamma_of_nothing).sum();
                group.ln_coefficient + columns - ln_gamma_ratio(self.prior_total(), group.total)
            })
            .sum()
    }

    fn loss(&self) -> f64 {
        (0..self.groups.len()).map(|group| self.group_loss(group)).sum()
    }

    fn refresh(&mut self, group_of_row: &dyn Fn(usize) -> usize) {
        (0..self.groups.len()).for_each(|group| self.reset(group));
        let v = self.counts.n_columns();
        for row in 0..self.counts.n_rows() {
            let (label, (columns, values)) = (group_of_row(row), self.counts.row(row));
            for (&column, x) in columns.iter().zip(values) {
                self.tallies[label * v + column as usize] += x;
            }
            let (group, terms) = (&mut self.groups[label], &self.terms[row]);
            group.size += 1;
            group.total += terms.total;
            group.negentropy += terms.negentropy;
            group.ln_coefficient += terms.ln_coefficient;
        }
        self.ln_gammas.iter_mut().zip(&self.tallies).for_each(|(l, count)| *l = count + self.law.pseudocount);
        ln_gammas(&mut self.ln_gammas);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Rows;
    use crate::likelihood::laws;

    const LAW: Multinomial = Multinomial { pseudocount: 0.3 };

    laws::likelihood_laws!(whole, laws::counts(7, 1.0), |data| MultinomialGroups::new(data, LAW).unwrap());
    laws::likelihood_laws!(fractions, laws::counts(7, 0.37), |data| MultinomialGroups::new(data, LAW).unwrap());

    #[test]
    fn the_loss_is_the_limit_of_the_marginal() {
        let limit = laws::counts(7, 1.0).data();
        laws::loss_is_the_limit_of_the_marginal(
            |s2, labels| {
                let scaled = laws::counts(7, 0.5 / s2).data();
                laws::seated_ln_marginal(MultinomialGroups::new(&scaled, LAW).unwrap(), labels)
            },
            |labels| laws::seated_loss(MultinomialGroups::in_the_limit(&limit), labels),
        );
    }

    #[test]
    fn the_loss_is_the_divergence_from_the_distribution_of_the_group() {
        let counts = laws::counts(7, 1.0).data();
        let mut groups = MultinomialGroups::in_the_limit(&counts);
        laws::seat(&mut groups, &[0; 12]);
        let tally: Vec<f64> = (0..7).map(|v| (0..12).map(|n| dense(&counts, n)[v]).sum::<f64>()).collect();
        assert_eq!(groups.tally(0), tally);
        let total: f64 = tally.iter().sum();
        let mut loss = 0.0;
        for n in 0..12 {
            for (x, c) in dense(&counts, n).iter().zip(&tally).filter(|(x, _)| **x > 0.0) {
                loss += x * ((x / counts.total(n)) / (c / total)).ln();
            }
        }
        assert!(loss > 1.0 && (groups.loss() - loss).abs() < 1e-12 * loss, "{loss}");
    }

    fn dense(counts: &Counts, n: usize) -> Vec<f64> {
        let mut row = vec![0.0; counts.n_columns()];
        let (columns, values) = counts.row(n);
        columns.iter().zip(values).for_each(|(&column, x)| row[column as usize] = *x);
        row
    }

    #[test]
    fn predictives_are_those_of_scipy() {
        // scipy.stats.dirichlet_multinomial.logpmf(x, C + a, sum x), C the first row; and with a alone.
        let small = (0.3, vec![3.0, 0.0, 7.0, 1.0, 0.0], vec![2.0, 0.0, 5.0, 0.0, 1.0]);
        let large = (0.01, vec![25000.0, 0.0, 171.0, 90210.0, 3.0, 12.0], vec![255.0, 0.0, 3.0, 120.0, 1.0, 0.0]);
        let expected = [(-4.433533912275079, -6.287894948965024), (-195.00050565523134, -21.35548907878364)];
        for ((pseudocount, first, second), (old, new)) in [small, large].into_iter().zip(expected) {
            let n_columns = first.len();
            let values = [first, second].concat();
            let counts = Counts::from_rows(Rows::new(&values, n_columns).unwrap()).unwrap();
            let mut groups = MultinomialGroups::new(&counts, Multinomial { pseudocount }).unwrap();
            laws::seat(&mut groups, &[0]);
            let (mut weights, mut again) = ([0.0; 2], [0.0; 2]);
            groups.weigh(1, &mut weights);
            assert!((weights[0] - old).abs() < 1e-10 * old.abs() && (weights[1] - new).abs() < 1e-10, "{weights:?}");
            let (columns, values) = counts.row(1);
            groups.weigh_new(columns, values, &mut again);
            assert_eq!(weights, again);
        }
    }

    #[test]
    fn probabilities_of_all_rows_with_one_total_sum_to_one() {
        // All ways to put 5 events into 3 columns.
        let rows: Vec<[f64; 3]> = (0..=5)
            .flat_map(|i| (0..=5 - i).map(move |j| [f64::from(i), f64::from(j), f64::from(5 - i - j)]))
            .collect();
        let counts = Counts::from_rows(Rows::new(rows.as_flattened(), 3).unwrap()).unwrap();
        let mut groups = MultinomialGroups::new(&counts, LAW).unwrap();
        laws::seat(&mut groups, &[0, 0, 0]);
        let mut totals = [0.0; 2];
        for n in 0..rows.len() {
            let mut weights = [0.0; 2];
            groups.weigh(n, &mut weights);
            (0..2).for_each(|k| totals[k] += weights[k].exp());
        }
        assert!(totals.iter().all(|t| (t - 1.0).abs() < 1e-12), "{totals:?}");
        assert!((groups.distribution(0).iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn empty_rows_fit_anywhere_and_bad_pseudocounts_are_named() {
        let counts = Counts::new(&[0, 0, 1], &[1], &[3.0], 2).unwrap();
        let mut groups = MultinomialGroups::new(&counts, LAW).unwrap();
        laws::seat(&mut groups, &[0, 0]);
        groups.sub(0, 0);
        for face in [MultinomialGroups::weigh, MultinomialGroups::charge] {
            let mut scores = [0.0; 2];
            face(&mut groups, 0, &mut scores);
            assert!(scores.iter().all(|s| s.abs() < 1e-12), "{scores:?}");
        }
        for pseudocount in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let error = MultinomialGroups::new(&counts, Multinomial { pseudocount }).unwrap_err().to_string();
            assert!(error.starts_with("pseudocount must be a positive number"), "{error}");
        }
    }
}
