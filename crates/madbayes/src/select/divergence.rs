//! Clusters of counts with the penalty that goes with them: given, or of K given, or of the K that persists on a path of merges,
//! if rows of one distribution do not show the like.

use super::PenaltyInterval;
use super::automatic::{Choice, FEW, LOSS_EVIDENCE, PERSISTENCE_EVIDENCE, TRIED, candidates, choice};
use super::chosen::PenaltyRule;
use super::exactly::interval;
use super::hull::{HullPoint, lower_hull};
use super::path::{beyond, default_most};
use super::structureless::{Evidence, excess};
use super::urn::{Urn, unit};
use crate::counts::Counts;
use crate::error::{Error, Result};
use crate::hard::{DivergenceClustering, DivergenceMeans, DivergenceProblem, Goal, Merging, Tallies, Tried};
use crate::parallel::Workers;
use crate::random::{Stream, stream};
use crate::watch::{Step, Watch};
use rand::seq::SliceRandom;

/// Counts above 0 times clusters up to which a neighbour of K is also fitted from starts of its own.
const SMALL: usize = 1 << 20;
/// Rows on which a path is sought; more are sampled.
const PATH_ROWS: usize = 1024;
/// Passes at each K of a path after a merge.
const PASSES: usize = 3;
/// Up to this K a path is also sought from seeds: merges alone may keep two clusters together that were never apart.
const SEEDED: usize = 10;
const SEEDED_PASSES: usize = 12;
/// Data sets without clusters that are compared.
const DRAWS: usize = 10;
/// Rows and draws of a comparison.
const TEST_ROWS: usize = 512;
const TEST_DRAWS: f64 = 4e6;
/// Paths are compared at least as far as this K.
const LEAST_LOOK: usize = 6;
/// References are clustered as far as the choice, at least and at most to these.
const TESTED: (usize, usize) = (12, 32);

/// Clusters of counts, the penalty that goes with them, and how it was found.
#[derive(Debug, Clone, PartialEq)]
pub struct DivergenceFit {
    /// The clusters.
    pub clustering: DivergenceClustering,
    /// The penalty; none where K was given and no penalty makes it optimal.
    pub penalty: Option<f64>,
    /// The penalties for which this K is optimal, where they were looked for.
    pub penalties: Option<PenaltyInterval>,
    /// What the automatic choice says of itself.
    pub choice: Option<Choice>,
    /// How many rows were searched for it, where not all were.
    pub sampled_rows: Option<usize>,
}

/// Fits to the goal of the parameters, or at the penalty that a rule chooses. Of the rules there is `auto` alone for counts.
pub fn fit_divergence(
    counts: &Counts,
    parameters: &DivergenceMeans,
    rule: Option<PenaltyRule>,
    watch: &dyn Watch,
) -> Result<DivergenceFit> {
    parameters.check(counts)?;
    match (rule, parameters.goal) {
        (Some(PenaltyRule::Automatic), _) => fit_automatically(counts, parameters, watch),
        (Some(_), _) => {
            let help = "the other rules are for squared distances; or give the number of clusters";
            Err(Error::argument("penalty", "a positive number or 'auto' for counts", "another rule", help))
        }
        (None, Goal::Exactly(k)) => fit_exactly(k, counts, parameters, watch),
        (None, Goal::Penalty { penalty, .. }) => {
            let clustering = parameters.fit(counts, watch)?;
            Ok(DivergenceFit { clustering, penalty: Some(penalty), penalties: None, choice: None, sampled_rows: None })
        }
    }
}

/// K clusters, and the penalties for which they beat one, one fewer and one more.
fn fit_exactly(k: usize, counts: &Counts, parameters: &DivergenceMeans, watch: &dyn Watch) -> Result<DivergenceFit> {
    let exactly = |k: usize| DivergenceMeans { goal: Goal::Exactly(k), ..parameters.clone() };
    let mut clustering = exactly(k).fit(counts, watch)?;
    let others = [1, k.saturating_sub(1), k + 1].into_iter().filter(|j| (1..=counts.n_rows()).contains(j) && *j != k);
    let mut losses = Vec::new();
    for other in others {
        // More clusters than distinct rows gain nothing: then there is no such neighbour.
        let warm = exactly(other).improve(counts, neighbour(&clustering, other), watch);
        let small = counts.n_nonzero() * other < SMALL && other > 1;
        let fresh = small.then(|| exactly(other).fit(counts, watch));
        for fit in [Some(warm), fresh].into_iter().flatten().flatten() {
            losses.push((other, fit.loss()));
            clustering.stopped |= fit.stopped;
        }
    }
    let penalties = if clustering.stopped { None } else { interval(k, clustering.loss(), &losses) };
    if let Some(penalties) = penalties {
        let (penalty, fixed) = (penalties.middle(), (k - 1) as f64 * penalties.middle());
        clustering.goal = Goal::Penalty { penalty, max_clusters: None };
        clustering.objective += fixed;
        clustering.trace.iter_mut().for_each(|objective| *objective += fixed);
    }
    let penalty = penalties.map(|p| p.middle());
    Ok(DivergenceFit { clustering, penalty, penalties, choice: None, sampled_rows: None })
}

/// Labels of a clustering with other clusters in number: all one, or the cheapest pair one; more are made by the fit.
fn neighbour(from: &DivergenceClustering, k: usize) -> Vec<u32> {
    let mut labels = from.labels.clone();
    if k == 1 {
        labels.fill(0);
    } else if k < from.n_clusters() {
        let tallies = Tallies::new(from.tallies.clone(), from.n_columns);
        let mut merging = Merging::new(tallies, &Workers::serial());
        if let Some((to, from, _)) = merging.cheapest() {
            merging.merge(to, from);
            merging.relabel(&mut labels);
        }
    }
    labels
}

/// At the penalty of the K that the data choose: from seeds, and from K clusters, the better of both.
fn fit_automatically(counts: &Counts, parameters: &DivergenceMeans, watch: &dyn Watch) -> Result<DivergenceFit> {
    let (chosen, sampled_rows) = automatic(counts, parameters, watch)?;
    let goal = Goal::Penalty { penalty: chosen.penalty, max_clusters: parameters.goal.max_clusters() };
    let at = DivergenceMeans { goal, ..parameters.clone() };
    let mut clustering = at.fit(counts, watch)?;
    if !clustering.stopped && clustering.n_clusters() != chosen.k {
        let exactly = DivergenceMeans { goal: Goal::Exactly(chosen.k), ..parameters.clone() };
        if let Ok(other) = exactly.fit(counts, watch) {
            let other = at.improve(counts, other.labels, watch)?;
            if other.objective < clustering.objective {
                clustering = DivergenceClustering { runs: clustering.runs + other.runs, ..other };
            }
        }
    }
    let (penalty, penalties) = (Some(chosen.penalty), Some(chosen.penalties));
    Ok(DivergenceFit { clustering, penalty, penalties, choice: Some(chosen), sampled_rows })
}

/// The number of clusters the counts suggest, and how many rows were looked at, if not all.
fn automatic(counts: &Counts, parameters: &DivergenceMeans, watch: &dyn Watch) -> Result<(Choice, Option<usize>)> {
    let sample = sampled(counts, PATH_ROWS, parameters.seed);
    let seen = sample.as_ref().unwrap_or(counts);
    let workers = Workers::new(parameters.threads);
    let cap = parameters.goal.max_clusters().unwrap_or(usize::MAX);
    let largest = (seen.n_rows() / 2).clamp(1, cap);
    let most = default_most(seen.n_rows()).min(largest);
    let points = path(seen, beyond(most), parameters.seed, &workers, watch)?;
    // What one count more or less can change is no evidence.
    let resolution = (0..seen.n_rows()).map(|n| unit(seen, n)).fold(f64::INFINITY, f64::min).min(1.0);
    let ranked: Vec<_> = candidates(&points, resolution).into_iter().filter(|c| c.k <= most).collect();
    let mut chosen = None;
    let mut found = None;
    if let Some(first) = ranked.first() {
        let furthest = first.k.clamp(TESTED.0, TESTED.1);
        let ks: Vec<usize> = ranked.iter().map(|c| c.k).filter(|k| *k <= furthest).take(TRIED).collect();
        found = evidence(seen, &ks, parameters.seed, &workers, watch);
        let stands_out = found.is_none_or(|found| {
            let persistence = found.persistence.unwrap_or(f64::NEG_INFINITY);
            first.k <= FEW && persistence >= PERSISTENCE_EVIDENCE || found.loss >= LOSS_EVIDENCE
        });
        chosen = stands_out.then_some(*first);
    }
    let one = points.first().copied().unwrap_or(HullPoint { k: 1, loss: 0.0, low: 0.0, high: f64::INFINITY });
    let mut made = choice(&one, &ranked, chosen, found, LOSS_EVIDENCE);
    if sample.is_some() {
        // Losses sum over rows: all of them need a penalty as much larger.
        let factor = counts.grand_total() / seen.grand_total().max(f64::MIN_POSITIVE);
        let scaled = |p: PenaltyInterval| PenaltyInterval { low: factor * p.low, high: factor * p.high };
        made.penalty *= factor;
        made.penalties = scaled(made.penalties);
        made.runners_up.iter_mut().for_each(|c| c.penalties = scaled(c.penalties));
    }
    Ok((made, sample.map(|sample| sample.n_rows())))
}

/// Losses from `most` clusters down to one, the cheapest pair merged and rows moved at each step, and from seeds where there are
/// few; the Ks on their hull.
fn path(counts: &Counts, most: usize, seed: u64, workers: &Workers, watch: &dyn Watch) -> Result<Vec<HullPoint>> {
    let problem = |k: usize, max_passes: usize| DivergenceProblem {
        max_passes,
        ..DivergenceProblem::new(counts, Goal::Exactly(k), workers, watch)
    };
    let mut rng = stream(seed, Stream::Restart(0));
    let mut wanted = most.clamp(1, counts.n_rows());
    let mut tried = loop {
        match problem(wanted, SEEDED_PASSES).run(0, &mut rng) {
            Err(Error::Distinct { distinct, .. }) if distinct < wanted => wanted = distinct.max(1),
            tried => break tried?,
        }
    };
    let loss = |tried: &Tried| tried.trace.last().copied().unwrap_or(0.0);
    let mut losses = Vec::new();
    loop {
        let k = tried.tallies.len();
        if (2..=SEEDED).contains(&k)
            && !losses.is_empty()
            && let Ok(seeded) = problem(k, SEEDED_PASSES).run(0, &mut rng)
            && loss(&seeded) < loss(&tried)
        {
            tried = seeded;
        }
        losses.push((k, loss(&tried)));
        if k == 1 {
            break;
        }
        let mut merging = Merging::new(tried.tallies, workers);
        let Some((to, from, _)) = merging.cheapest() else { break };
        merging.merge(to, from);
        merging.relabel(&mut tried.labels);
        let stopped = watch.step(&Step::Chunk).is_break();
        if stopped {
            // Down to one all the same: the path of a stopped search ends where it was, and begins at 1.
            tried.labels.fill(0);
        }
        let fewer = if stopped { 1 } else { k - 1 };
        tried = problem(fewer, PASSES).improve(0, tried.labels, &mut rng)?;
    }
    losses.reverse();
    let one = losses[0].1;
    Ok(lower_hull(&losses, 1e-12 * (1.0 + one)))
}

/// How many standard deviations these counts are above rows of one distribution: in the largest score of a path, and in the share
/// of the loss that the best of these Ks removes. None once the watch has said stop.
fn evidence(counts: &Counts, ks: &[usize], seed: u64, workers: &Workers, watch: &dyn Watch) -> Option<Evidence> {
    let draws: f64 = (0..counts.n_rows()).map(|n| counts.total(n) / unit(counts, n)).filter(|d| d.is_finite()).sum();
    let affordable = (TEST_DRAWS / (draws / counts.n_rows() as f64).max(1.0)) as usize;
    let sample = sampled(counts, TEST_ROWS.min(affordable.max(64)), seed.wrapping_add(1));
    let seen = sample.as_ref().unwrap_or(counts);
    let ks: Vec<usize> = ks.iter().copied().filter(|k| *k <= seen.n_rows() / 2).collect();
    if ks.is_empty() || seen.grand_total() <= 0.0 {
        return None;
    }
    let largest = ks.iter().copied().fold(LEAST_LOOK, usize::max) + 1;
    let show = |counts: &Counts, workers: &Workers| {
        let points = path(counts, largest, seed, workers, watch).ok()?;
        let score = candidates(&points, 0.0).first().map_or(0.0, |c| c.score);
        let one = points.first()?.loss;
        let gain = |k: &usize| {
            // The loss on the hull: between two Ks by the line.
            let after = points.iter().position(|p| p.k >= *k).unwrap_or(points.len() - 1);
            let (b, a) = (points[after], points[after.saturating_sub(1)]);
            let share = if b.k > a.k { (k.min(&b.k) - a.k) as f64 / (b.k - a.k) as f64 } else { 0.0 };
            let loss = a.loss + share * (b.loss - a.loss);
            -(loss / one.max(f64::MIN_POSITIVE)).max(1e-12).ln()
        };
        Some((score, ks.iter().map(gain).collect::<Vec<f64>>()))
    };
    let shown = show(seen, workers)?;
    let urn = Urn::of(seen);
    let drawn = workers.map(DRAWS, |i| {
        let drawn = urn.draw(&mut stream(seed, Stream::Reference(i as u32))).ok()?;
        if watch.step(&Step::Chunk).is_break() { None } else { show(&drawn, &Workers::serial()) }
    });
    let drawn: Vec<(f64, Vec<f64>)> = drawn.into_iter().collect::<Option<_>>()?;
    let losses = (0..ks.len()).map(|i| excess(shown.1[i], drawn.iter().map(|d| d.1[i])));
    let loss = losses.fold(f64::NEG_INFINITY, f64::max);
    Some(Evidence { persistence: Some(excess(shown.0, drawn.iter().map(|d| d.0))), loss })
}

/// So many rows at random; none where there are not more.
fn sampled(counts: &Counts, most: usize, seed: u64) -> Option<Counts> {
    if counts.n_rows() <= most {
        return None;
    }
    let mut rows: Vec<usize> = (0..counts.n_rows()).collect();
    let mut rows = rows.partial_shuffle(&mut stream(seed, Stream::Sample), most).0.to_vec();
    rows.sort_unstable();
    Some(counts.select(&rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Rng;
    use crate::watch::Unwatched;
    use rand::RngExt;

    /// Texts of about 50 words: 60 % from the topic's own tenth of the words, the rest from all.
    fn texts(n_rows: usize, topics: usize, rng: &mut Rng) -> Counts {
        let (mut starts, mut columns, mut values) = (vec![0], vec![], vec![]);
        for n in 0..n_rows {
            let mut row = [0.0; 120];
            for _ in 0..rng.random_range(30..70) {
                let own = topics > 1 && rng.random::<f64>() < 0.6;
                row[if own { n % topics * 12 + rng.random_range(0..12) } else { rng.random_range(0..120) }] += 1.0;
            }
            for (column, x) in row.iter().enumerate().filter(|(_, x)| **x > 0.0) {
                columns.push(column as u32);
                values.push(*x);
            }
            starts.push(values.len());
        }
        Counts::new(&starts, &columns, &values, 120).unwrap()
    }

    #[test]
    fn the_counts_choose_the_number_of_topics() {
        for topics in [1, 2, 4, 7] {
            let counts = texts(210, topics, &mut stream(topics as u64, Stream::Simulation));
            let parameters = DivergenceMeans::default();
            let fit = fit_divergence(&counts, &parameters, Some(PenaltyRule::Automatic), &Unwatched).unwrap();
            assert_eq!(fit.clustering.n_clusters(), topics, "{:?}", fit.choice);
            let penalties = fit.penalties.unwrap();
            assert!(penalties.low < fit.penalty.unwrap() && fit.penalty.unwrap() < penalties.high);
        }
    }

    #[test]
    fn rows_that_differ_more_than_by_chance_are_still_one_cluster() {
        let even = texts(150, 1, &mut stream(9, Stream::Simulation));
        let urn = Urn::of(&even);
        let spread = urn.with_concentration(20.0).draw(&mut stream(3, Stream::Simulation)).unwrap();
        let fit =
            fit_divergence(&spread, &DivergenceMeans::default(), Some(PenaltyRule::Automatic), &Unwatched).unwrap();
        assert_eq!(fit.clustering.n_clusters(), 1, "{:?}", fit.choice);
    }

    #[test]
    fn a_sample_decides_for_many_rows() {
        let counts = texts(3000, 3, &mut stream(4, Stream::Simulation));
        let fit =
            fit_divergence(&counts, &DivergenceMeans::default(), Some(PenaltyRule::Automatic), &Unwatched).unwrap();
        assert_eq!((fit.clustering.n_clusters(), fit.sampled_rows), (3, Some(PATH_ROWS)));
    }

    #[test]
    fn exactly_k_comes_with_its_penalties() {
        let counts = texts(120, 3, &mut stream(5, Stream::Simulation));
        let fit = fit_divergence(&counts, &DivergenceMeans::exactly(3), None, &Unwatched).unwrap();
        let (penalty, penalties) = (fit.penalty.unwrap(), fit.penalties.unwrap());
        assert!(penalties.high > 2.0 * penalties.low, "three topics stand out: {penalties:?}");
        assert!((fit.clustering.objective - fit.clustering.loss() - 2.0 * penalty).abs() < 1e-9);
        let free = DivergenceMeans::with_penalty(penalty).fit(&counts, &Unwatched).unwrap();
        assert_eq!(free.labels, fit.clustering.labels);
    }

    #[test]
    fn few_equal_and_empty_rows_are_one_cluster_and_other_rules_are_refused() {
        for values in [vec![2.0; 20], vec![0.0; 20], (20..40).map(f64::from).collect(), vec![1.0, 0.0]] {
            let counts = Counts::from_rows(crate::data::Rows::new(&values, 2).unwrap()).unwrap();
            let fit = fit_divergence(&counts, &DivergenceMeans::default(), Some(PenaltyRule::Automatic), &Unwatched);
            assert_eq!(fit.unwrap().clustering.n_clusters(), 1, "{values:?}");
        }
        let counts = Counts::new(&[0, 1], &[0], &[1.0], 1).unwrap();
        let rule = Some(PenaltyRule::Validation);
        let error = fit_divergence(&counts, &DivergenceMeans::default(), rule, &Unwatched).unwrap_err().to_string();
        assert!(error.starts_with("penalty must be a positive number or 'auto' for counts"), "{error}");
    }
}
