use super::*;
use crate::counts::Counts;
use crate::data::{Data, Rows};
use crate::model::{MixtureLikelihood, NormalPrior};
use crate::watch::{Step, Unwatched};
use proptest::prelude::*;
use rstest::rstest;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

const LIKELIHOODS: [fn() -> MixtureLikelihood; 4] = [
    || MixtureLikelihood::Full(NormalPrior::default()),
    || MixtureLikelihood::Diagonal(NormalPrior::default()),
    || MixtureLikelihood::SPHERICAL,
    || MixtureLikelihood::Multinomial { pseudocount: None },
];

/// Small whole numbers in three groups: numbers or counts, as one likes.
fn values() -> Vec<f64> {
    (0..80).map(|i| f64::from(i / 2 % 3) * 6.0 + f64::from(i * i % 7)).collect()
}

fn columns() -> Vec<String> {
    vec!["a".into(), "b".into()]
}

fn mixture(likelihood: usize, sweeps: usize, burn_in: usize) -> DpMixture {
    let schedule = Schedule { sweeps, burn_in, thin: 3 };
    DpMixture { likelihood: LIKELIHOODS[likelihood](), schedule, threads: 1, ..DpMixture::default() }
}

/// Stops at the given pass over all chains.
struct StopAt(usize, AtomicUsize);

impl Watch for StopAt {
    fn step(&self, step: &Step) -> ControlFlow<()> {
        let passes = match step {
            Step::Pass { .. } => self.1.fetch_add(1, Ordering::Relaxed) + 1,
            _ => self.1.load(Ordering::Relaxed),
        };
        if passes >= self.0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

#[rstest]
fn a_saved_run_gone_on_with_is_the_run_of_one_piece(
    #[values(0, 1, 2, 3)] likelihood: usize,
    #[values((40, 10, 100, 10), (40, 20, 100, 50), (60, 30, 84, 42), (60, 30, 85, 42))] sweeps: (
        usize,
        usize,
        usize,
        usize,
    ),
) {
    let (values, (first, before, all, after)) = (values(), sweeps);
    let data = Data::new(Rows::new(&values, 2).unwrap()).unwrap();
    let counts = Counts::from_rows(data.rows()).unwrap();
    let rows = if likelihood == 3 { MixtureRows::Counts(&counts) } else { MixtureRows::Dense(&data) };
    let short = mixture(likelihood, first, before);
    let fit = |mixture: &DpMixture| match rows {
        MixtureRows::Dense(data) => mixture.fit(data, columns(), &Unwatched).unwrap(),
        MixtureRows::Counts(counts) => mixture.fit_counts(counts, columns(), &Unwatched).unwrap(),
    };
    let saved = MixtureRun::new(&short, rows, &fit(&short));
    let run = MixtureRun::from_bytes(&saved.to_bytes()).unwrap();
    assert!(DpMixture { threads: 1, ..run.mixture.clone() } == short && run.chains == saved.chains);
    let long = DpMixture { schedule: run.schedule_to(all), ..short };
    assert_eq!(long.schedule, Schedule { sweeps: all, burn_in: after, thin: 3 });
    assert!(run.resume(&long, rows, &Unwatched).unwrap() == fit(&long));
}

#[rstest]
#[case::in_the_first_chain(25)]
#[case::in_the_second(70)]
fn a_stopped_run_gone_on_with_is_the_run_of_one_piece(#[case] passes: usize) {
    let values = values();
    let data = Data::new(Rows::new(&values, 2).unwrap()).unwrap();
    let rows = MixtureRows::Dense(&data);
    let mixture = mixture(1, 50, 20);
    let stopped = mixture.fit(&data, columns(), &StopAt(passes, AtomicUsize::new(0))).unwrap();
    assert!(stopped.stopped);
    assert_eq!(stopped.waiting.len(), usize::from(passes < 50));
    let run = MixtureRun::from_bytes(&MixtureRun::new(&mixture, rows, &stopped).to_bytes()).unwrap();
    assert_eq!(run.chains.len(), 2);
    assert_eq!(run.schedule_to(50), mixture.schedule);
    let resumed = run.resume(&mixture, rows, &Unwatched).unwrap();
    assert!(resumed == mixture.fit(&data, columns(), &Unwatched).unwrap());
}

#[test]
fn where_thinning_allows_no_half_the_burn_in_is_a_little_longer() {
    let values = values();
    let data = Data::new(Rows::new(&values, 2).unwrap()).unwrap();
    let short = mixture(2, 60, 30);
    let fit = short.fit(&data, columns(), &Unwatched).unwrap();
    let run = MixtureRun::new(&short, MixtureRows::Dense(&data), &fit);
    // Draws were kept after sweeps 30, 33, ...: half of 80 is not among them.
    assert_eq!(run.schedule_to(80).burn_in, 42);
    assert_eq!(run.schedule_to(160).burn_in, 80);
}

#[test]
fn other_rows_and_other_parameters_are_refused() {
    let values = values();
    let data = Data::new(Rows::new(&values, 2).unwrap()).unwrap();
    let rows = MixtureRows::Dense(&data);
    let short = mixture(0, 40, 10);
    let fit = short.fit(&data, columns(), &Unwatched).unwrap();
    let run = MixtureRun::new(&short, rows, &fit);
    let refused = |mixture: &DpMixture, rows: MixtureRows<f64>, message: &str| {
        let error = run.clone().resume(mixture, rows, &Unwatched).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    };
    let long = DpMixture { schedule: run.schedule_to(80), ..short.clone() };
    let mut changed = values.clone();
    changed[17] += 1e-9;
    let changed = Data::new(Rows::new(&changed, 2).unwrap()).unwrap();
    refused(&long, MixtureRows::Dense(&changed), "the rows are not those that the chains began with");
    let fewer = Data::new(Rows::new(&values[2..], 2).unwrap()).unwrap();
    refused(&long, MixtureRows::Dense(&fewer), "there are 39 rows, and the chains are of 40");
    refused(&DpMixture { seed: 1, ..long.clone() }, rows, "the parameters are not those");
    refused(&DpMixture { concentration: Some(1.0), ..long.clone() }, rows, "the parameters are not those");
    refused(&short, rows, "sweeps must be more than the 40 already done, got 40");
    let with = |schedule: Schedule| DpMixture { schedule, ..long.clone() };
    refused(&with(Schedule { thin: 1, ..long.schedule }), rows, "thin must be the 3 of the chains, got 1");
    for burn_in in [9, 11] {
        let wanted = "burn_in must be 10, that and a multiple of 3 (thin), or at least the 40 sweeps already done";
        refused(&with(Schedule { burn_in, ..long.schedule }), rows, wanted);
    }
}

fn small_run() -> MixtureRun {
    let values = values();
    let data = Data::new(Rows::new(&values, 2).unwrap()).unwrap();
    let short = mixture(2, 8, 2);
    MixtureRun::new(&short, MixtureRows::Dense(&data), &short.fit(&data, columns(), &Unwatched).unwrap())
}

#[rstest]
#[case("\"version\":1", "\"version\":2", "newer madbayes")]
#[case("\"kind\":\"mixture run\"", "\"kind\":\"mixture\"", "of kind \"mixture\"")]
#[case("\"thin\":3", "\"thin\":2", "draws of a chain are not those of its schedule")]
#[case("\"n_rows\":40", "\"n_rows\":41", "not of its 41 rows")]
#[case("\"sweeps\":8}", "\"sweeps\":7}", "not as long as its sweeps")]
#[case("\"chains\":[{", "\"links\":[{", "missing field `chains`")]
#[case("{\"best\":[\"0", "{\"best\":[\"9", "groups are not numbered as they appear")]
fn a_damaged_or_newer_run_is_refused_with_the_reason(#[case] from: &str, #[case] to: &str, #[case] message: &str) {
    let text = String::from_utf8(small_run().to_bytes()).unwrap();
    // The sweeps of the state, not of the schedule.
    let text = text.replace("\"sweeps\":8,\"thin\"", "\"sweeps\": 8,\"thin\"");
    assert!(text.contains(from), "{text}");
    let error = MixtureRun::from_bytes(text.replacen(from, to, 1).as_bytes()).unwrap_err().to_string();
    assert!(error.contains(message), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_bytes_make_it_panic(at in 0usize..5000, byte in 32u8..127) {
        let run = small_run();
        let mut bytes = run.to_bytes();
        let at = at % bytes.len();
        bytes[at] = byte;
        if let Ok(damaged) = MixtureRun::from_bytes(&bytes) {
            let values = values();
            let data = Data::new(Rows::new(&values, 2).unwrap()).unwrap();
            let longer = DpMixture { schedule: damaged.schedule_to(12), ..damaged.mixture.clone() };
            if longer.chains < 5 && longer.split_merge < 10 {
                let _ = damaged.resume(&longer, MixtureRows::Dense(&data), &Unwatched);
            }
        }
    }
}
