//! How sure is the number of clusters? A CRP mixture sampler answers with a distribution.

use madbayes::data::{Data, Rows};
use madbayes::gibbs::{ChainStart, CrpMixture, Schedule};
use madbayes::hard::DpMeans;
use madbayes::likelihood::Spherical;
use madbayes::prior::Concentration;
use madbayes::simulate::GaussianMixture;
use madbayes::structure::Partition;
use madbayes::watch::Unwatched;

fn main() -> madbayes::Result<()> {
    let sample =
        GaussianMixture { n_rows: 200, n_clusters: 3, separation: 4.0, ..GaussianMixture::default() }.sample(2)?;
    let data = Data::new(Rows::new(&sample.values, sample.n_columns)?)?;

    // Chains start from a hard clustering, which is close to the answer already.
    let start = DpMeans::with_penalty(100.0).fit(&data, &Unwatched)?;
    let law = Spherical { variance: 1.0, prior_mean: vec![0.0; data.n_columns()], prior_variance: 25.0 };
    let sampler = CrpMixture {
        start: ChainStart::Given(Partition::from_labels(start.labels)),
        schedule: Schedule { sweeps: 600, burn_in: 100, thin: 1 },
        chains: 2,
        // A small concentration expects few clusters; left to itself (the default) it is drawn from its posterior.
        concentration: 0.1,
        hyperprior: Concentration::Fixed,
        ..CrpMixture::new(law)
    };
    for (number, chain) in sampler.fit(&data, &Unwatched)?.iter().enumerate() {
        let share =
            |k: usize| chain.draws.iter().filter(|draw| draw.n_groups() == k).count() as f64 / chain.draws.len() as f64;
        println!("chain {number}: P(K = 2, 3, 4, 5) = {:.2} {:.2} {:.2} {:.2}", share(2), share(3), share(4), share(5));
        assert!(share(3) > 0.5);
    }
    Ok(())
}
