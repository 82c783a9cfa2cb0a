//! Keep a model as bytes, read it back, and see which new rows fit nowhere.

use madbayes::data::{Data, Rows};
use madbayes::hard::DpMeans;
use madbayes::model::ClusterModel;
use madbayes::parallel::Workers;
use madbayes::watch::Unwatched;

fn main() -> madbayes::Result<()> {
    let lengths = [1.0f32, 1.1, 0.9, 5.0, 5.2, 4.9, 5.1];
    let data = Data::new(Rows::new(&lengths, 1)?)?;
    let penalty = 2.0;
    let fit = DpMeans::with_penalty(penalty).fit(&data, &Unwatched)?;

    let bytes = ClusterModel::new(&fit, vec!["length".into()], None, Some(penalty), 0).to_bytes();
    let model = ClusterModel::from_bytes(&bytes)?;

    let new = [0.8f32, 5.3, 40.0];
    let assigned = model.assign(Rows::new(&new, 1)?, &Workers::serial())?;
    let opening = assigned.opening_costs.unwrap_or_default();
    for ((length, label), opening) in new.iter().zip(&assigned.labels).zip(&opening) {
        let verdict = if *opening < 0.0 { "fits nowhere" } else { "fits" };
        println!("{length}: cluster {label}, {verdict} (a cluster of its own would cost {opening:.2} more)");
    }
    assert!(opening[0] > 0.0 && opening[2] < 0.0);
    Ok(())
}
