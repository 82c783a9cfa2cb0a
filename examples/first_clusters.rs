//! First clusters: how many are there, and which row is in which?

use madbayes::data::{Data, Rows};
use madbayes::hard::DpMeans;
use madbayes::simulate::GaussianMixture;
use madbayes::watch::Unwatched;

fn main() -> madbayes::Result<()> {
    // 500 points around 4 centres; the number 4 is not told to anybody below.
    let sample =
        GaussianMixture { n_rows: 500, n_clusters: 4, separation: 6.0, ..GaussianMixture::default() }.sample(1)?;
    let data = Data::new(Rows::new(&sample.values, sample.n_columns)?)?;

    // One more cluster costs 300, in squared-distance units.
    let fit = DpMeans::with_penalty(300.0).fit(&data, &Unwatched)?;

    println!("{} clusters of sizes {:?}, objective {:.1}", fit.n_clusters(), fit.sizes, fit.objective);
    assert_eq!(fit.n_clusters(), 4);
    Ok(())
}
