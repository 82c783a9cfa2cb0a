//! Polya urn: the Chinese restaurant process with a colour drawn from a base measure for each new table.
//!
//! Ball i (from 0) gets a new colour from the base with probability theta/(theta+i), else the colour of an earlier ball:
//! log p(colours) = log p_CRP(partition) + sum_k log base(atom_k). As theta grows, the urn tends to the base.

use super::Crp;
use super::crp::{check_finite_logarithm, ln_positive};
use crate::error::{Error, Result};
use crate::random::Rng;
use crate::structure::Partition;
use rand::RngExt;
use rand_distr::StandardNormal;

/// Where new colours come from: a distribution of numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Base {
    /// A normal distribution.
    Normal {
        /// Its mean.
        mean: f64,
        /// Its standard deviation, above 0.
        standard_deviation: f64,
    },
    /// A uniform distribution on low..high.
    Uniform {
        /// Its lower end.
        low: f64,
        /// Its upper end, above the lower.
        high: f64,
    },
}

impl Default for Base {
    /// The standard normal distribution.
    fn default() -> Self {
        Base::Normal { mean: 0.0, standard_deviation: 1.0 }
    }
}

impl Base {
    /// Errors when the distribution does not exist.
    pub fn check(&self) -> Result<()> {
        match *self {
            Base::Normal { mean, standard_deviation } => {
                if !mean.is_finite() {
                    return Err(Error::argument("mean", "a finite number", mean, "it is the mean of the base colours"));
                }
                let help = "it is the spread of the base colours";
                ln_positive("standard_deviation", standard_deviation, help).map(|_| ())
            }
            Base::Uniform { low, high } => {
                if low < high && (high - low).is_finite() {
                    return Ok(());
                }
                Err(Error::argument(
                    "high",
                    format!("a finite number above low = {low}"),
                    high,
                    "the base colours are drawn between low and high",
                ))
            }
        }
    }

    /// Log density at `x`; minus infinity where there is none.
    pub fn ln_density(&self, x: f64) -> f64 {
        match *self {
            Base::Normal { mean, standard_deviation } => {
                let z = (x - mean) / standard_deviation;
                -0.5 * z * z - standard_deviation.ln() - 0.5 * (2.0 * std::f64::consts::PI).ln()
            }
            Base::Uniform { low, high } if (low..high).contains(&x) => -(high - low).ln(),
            Base::Uniform { .. } => f64::NEG_INFINITY,
        }
    }

    /// One draw. Panics when [`check`](Self::check) would fail.
    pub fn sample(&self, rng: &mut Rng) -> f64 {
        match *self {
            Base::Normal { mean, standard_deviation } => {
                mean + standard_deviation * rng.sample::<f64, _>(StandardNormal)
            }
            Base::Uniform { low, high } => rng.random_range(low..high),
        }
    }
}

/// A Polya urn: a prior over sequences of colours, that is over partitions with a value for each group.
///
/// ```
/// use madbayes::prior::PolyaUrn;
/// use madbayes::random::{Stream, stream};
///
/// let urn = PolyaUrn::default();
/// let draw = urn.sample(500, &mut stream(0, Stream::Prior));
/// assert_eq!(draw.colours().len(), 500);
/// assert_eq!(draw.atoms.len(), draw.partition.n_groups());
/// assert!(urn.ln_prob(&draw.colours())?.is_finite());
/// # Ok::<(), madbayes::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PolyaUrn {
    /// log theta of the restaurant; theta = 1 by default.
    pub ln_concentration: f64,
    /// Where new colours come from; the standard normal by default.
    pub base: Base,
}

/// What was drawn from an urn.
#[derive(Debug, Clone, PartialEq)]
pub struct UrnDraw {
    /// Which balls share a colour.
    pub partition: Partition,
    /// The colour of each group, in order of first appearance.
    pub atoms: Vec<f64>,
}

impl UrnDraw {
    /// The colour of each ball, in the order drawn.
    pub fn colours(&self) -> Vec<f64> {
        self.partition.labels().iter().map(|&group| self.atoms[group as usize]).collect()
    }
}

impl PolyaUrn {
    /// With concentration theta and the base the colours come from.
    pub fn new(concentration: f64, base: Base) -> Result<Self> {
        let urn = PolyaUrn { ln_concentration: Crp::new(concentration)?.ln_concentration, base };
        urn.check()?;
        Ok(urn)
    }

    /// Errors when the log concentration is not finite or the base does not exist.
    pub fn check(&self) -> Result<()> {
        check_finite_logarithm("ln_concentration", self.ln_concentration)?;
        self.base.check()
    }

    fn crp(&self) -> Crp {
        Crp { ln_concentration: self.ln_concentration }
    }

    /// `n` balls. Panics when [`check`](Self::check) would fail.
    pub fn sample(&self, n: usize, rng: &mut Rng) -> UrnDraw {
        let partition = self.crp().sample(n, rng);
        let atoms = (0..partition.n_groups()).map(|_| self.base.sample(rng)).collect();
        UrnDraw { partition, atoms }
    }

    /// Log density of a sequence of colours: log p_CRP(partition by equal colours) + sum over distinct colours of
    /// log base(colour). The density is with respect to Lebesgue measure on the distinct colours.
    ///
    /// Errors on a colour that is not a number.
    pub fn ln_prob(&self, colours: &[f64]) -> Result<f64> {
        if let Some(ball) = colours.iter().position(|colour| colour.is_nan()) {
            return Err(Error::argument(
                "colours",
                "numbers",
                format!("NaN for ball {ball}"),
                "equal colours make a group, and NaN equals nothing",
            ));
        }
        // Adding 0 makes -0 and 0 one colour.
        let partition = Partition::from_labels(colours.iter().map(|colour| (colour + 0.0).to_bits()));
        let mut seen = 0;
        let mut ln_atoms = 0.0;
        for (colour, &group) in colours.iter().zip(partition.labels()) {
            if group == seen {
                seen += 1;
                ln_atoms += self.base.ln_density(*colour);
            }
        }
        Ok(self.crp().ln_prob(&partition) + ln_atoms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Stream, stream};
    use rstest::rstest;

    #[rstest]
    #[case(Base::default(), 0.0, 1.0)]
    #[case(Base::Normal { mean: -3.0, standard_deviation: 0.5 }, -3.0, 0.25)]
    #[case(Base::Uniform { low: 1.0, high: 4.0 }, 2.5, 0.75)]
    fn base_densities_integrate_to_one_and_their_draws_have_the_same_moments(
        #[case] base: Base,
        #[case] mean: f64,
        #[case] variance: f64,
    ) {
        let step = 1e-4;
        let grid = (-120_000..120_000).map(|i| (f64::from(i) + 0.5) * step);
        let (mut mass, mut first, mut second) = (0.0, 0.0, 0.0);
        for x in grid {
            let p = base.ln_density(x).exp() * step;
            mass += p;
            first += x * p;
            second += x * x * p;
        }
        assert!((mass - 1.0).abs() < 1e-6, "{mass}");
        assert!((first - mean).abs() < 1e-6 && (second - first * first - variance).abs() < 1e-6);

        let mut rng = stream(0, Stream::Prior);
        let n = 50_000.0;
        let draws: Vec<f64> = (0..50_000).map(|_| base.sample(&mut rng)).collect();
        let average = draws.iter().sum::<f64>() / n;
        assert!((average - mean).abs() < 4.0 * (variance / n).sqrt(), "{average}");
        let spread = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
        assert!((spread - variance).abs() < 4.0 * variance * (2.0 / n).sqrt(), "{spread}");
    }

    #[test]
    fn the_density_is_the_product_of_the_steps_of_the_urn_in_any_order() {
        let urn = PolyaUrn::new(2.0, Base::Normal { mean: 0.3, standard_deviation: 1.7 }).unwrap();
        let mut colours = vec![0.5, -1.0, 0.5, 2.0, 0.5, -1.0, 3.0];
        let by_steps = |colours: &[f64]| {
            let mut total = 0.0;
            for (i, colour) in colours.iter().enumerate() {
                let same = colours[..i].iter().filter(|c| *c == colour).count();
                let weight = if same > 0 { same as f64 } else { 2.0 * urn.base.ln_density(*colour).exp() };
                total += (weight / (2.0 + i as f64)).ln();
            }
            total
        };
        for _ in 0..colours.len() {
            colours.rotate_left(3);
            colours.swap(0, 1);
            let found = urn.ln_prob(&colours).unwrap();
            assert!((found - by_steps(&colours)).abs() < 1e-12);
        }
        let total = urn.ln_prob(&colours).unwrap();
        assert!((total - by_steps(&[0.5, -1.0, 0.5, 2.0, 0.5, -1.0, 3.0])).abs() < 1e-12);
    }

    #[rstest]
    #[case(0.5)]
    #[case(1.0)]
    #[case(20.0)]
    fn the_spread_of_an_urn_nears_the_base_as_the_concentration_grows(#[case] theta: f64) {
        // Two balls differ in colour with probability theta/(1+theta), so the expected sample variance of the colours
        // is that share of the variance of the base.
        let urn = PolyaUrn::new(theta, Base::Normal { mean: 5.0, standard_deviation: 2.0 }).unwrap();
        let mut rng = stream(1, Stream::Prior);
        let (n_runs, n_balls) = (20_000, 12);
        let spreads: Vec<f64> = (0..n_runs)
            .map(|_| {
                let colours = urn.sample(n_balls, &mut rng).colours();
                let mean = colours.iter().sum::<f64>() / n_balls as f64;
                colours.iter().map(|c| (c - mean).powi(2)).sum::<f64>() / (n_balls - 1) as f64
            })
            .collect();
        let runs = f64::from(n_runs);
        let mean = spreads.iter().sum::<f64>() / runs;
        let error = (spreads.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / (runs * (runs - 1.0))).sqrt();
        let z = (mean - 4.0 * theta / (1.0 + theta)) / error;
        assert!(z.abs() < 4.0, "{mean}, z = {z}");
    }

    #[test]
    fn colours_are_the_atoms_of_their_groups() {
        let urn = PolyaUrn::new(3.0, Base::Uniform { low: 0.0, high: 1.0 }).unwrap();
        let draw = urn.sample(100, &mut stream(2, Stream::Prior));
        let colours = draw.colours();
        assert_eq!(draw.atoms.len(), draw.partition.n_groups());
        assert_eq!(Partition::from_labels(colours.iter().map(|c| c.to_bits())), draw.partition);
        // Uniform atoms have log density 0.
        assert_eq!(urn.ln_prob(&colours).unwrap(), Crp::new(3.0).unwrap().ln_prob(&draw.partition));
        assert_eq!(urn.ln_prob(&[0.5, 1.5]).unwrap(), f64::NEG_INFINITY);
    }

    #[test]
    fn zeros_of_both_signs_are_one_colour() {
        let urn = PolyaUrn::default();
        assert_eq!(urn.ln_prob(&[0.0, -0.0]).unwrap(), urn.ln_prob(&[0.0, 0.0]).unwrap());
    }

    #[test]
    fn bad_urns_and_colours_are_refused() {
        assert!(PolyaUrn::new(0.0, Base::default()).is_err());
        assert!(PolyaUrn::new(1.0, Base::Normal { mean: f64::NAN, standard_deviation: 1.0 }).is_err());
        assert!(PolyaUrn::new(1.0, Base::Normal { mean: 0.0, standard_deviation: 0.0 }).is_err());
        let error = PolyaUrn::new(1.0, Base::Uniform { low: 2.0, high: 1.0 }).unwrap_err().to_string();
        assert!(error.starts_with("high must be a finite number above low = 2, got 1"), "{error}");
        assert!(PolyaUrn { ln_concentration: f64::INFINITY, base: Base::default() }.check().is_err());
        let error = PolyaUrn::default().ln_prob(&[1.0, f64::NAN]).unwrap_err().to_string();
        assert!(error.contains("NaN for ball 1"), "{error}");
    }
}
