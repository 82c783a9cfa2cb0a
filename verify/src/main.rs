use madbayes::{
    data::{Data, Rows},
    hard::*,
    watch::Unwatched,
};
fn main() {
    let seeds: u64 = std::env::args().nth(1).map_or(1, |s| s.parse().unwrap());
    for (name, k, best) in [
        ("s1", 15, 8.917616e12),
        ("s2", 15, 1.327911e13),
        ("s4", 15, 1.570317e13),
        ("a1", 20, 1.214626e10),
        ("a3", 50, 2.893742e10),
        ("r15", 15, 108.619),
    ] {
        let text = std::fs::read_to_string(format!("../shared/data/clustering/{name}.csv")).unwrap();
        let values: Vec<f64> = text
            .lines()
            .skip(1)
            .flat_map(|l| l.split(',').take(2).map(|v| v.parse::<f64>().unwrap()).collect::<Vec<_>>())
            .collect();
        let data = Data::new(Rows::new(&values, 2).unwrap()).unwrap();
        let mut worst = 0f64;
        let mut hit = 0;
        let t = std::time::Instant::now();
        let mut info = String::new();
        for seed in 0..seeds {
            let fit = DpMeans { seed, ..DpMeans::k_means(k) }.fit(&data, &Unwatched).unwrap();
            let r = fit.objective / best - 1.0;
            if r < 1e-3 {
                hit += 1;
            }
            worst = worst.max(r);
            info = format!("K {} passes {} runs {}", fit.n_clusters(), fit.n_passes(), fit.traces.len());
        }
        println!(
            "{name}: hit {hit}/{seeds} worst {worst:.5} {:.1} ms each; {info}",
            t.elapsed().as_secs_f64() * 1e3 / seeds as f64
        );
    }
}
