use super::*;
use crate::counts::Counts;
use crate::data::{Data, Rows};
use crate::gibbs::HmmMethod;
use crate::model::{MixtureLikelihood, NormalPrior};
use crate::separator::{Discriminative, Factor};
use crate::watch::{Step, Unwatched};
use proptest::prelude::*;
use rstest::rstest;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Small whole numbers in three states: numbers or counts, as one likes.
fn values() -> Vec<f64> {
    (0..80).map(|i| f64::from(i / 10 % 3) * 6.0 + f64::from(i * i % 7)).collect()
}

fn columns() -> Vec<String> {
    vec!["a".into(), "b".into()]
}

fn sequences() -> Sequences {
    Sequences::new(&[25, 15], 40).unwrap()
}

fn hmm(sweeps: usize, burn_in: usize) -> InfiniteHmm {
    let (likelihood, schedule) = (MixtureLikelihood::SPHERICAL, Schedule { sweeps, burn_in, thin: 3 });
    InfiniteHmm { likelihood, schedule, threads: 1, ..InfiniteHmm::default() }
}

#[rstest]
#[case::plain(MixtureLikelihood::Full(NormalPrior::default()), None)]
#[case::logistic(MixtureLikelihood::Diagonal(NormalPrior::default()), Some(Factor::Logistic))]
#[case::svm_of_counts(MixtureLikelihood::Multinomial { pseudocount: None }, Some(Factor::Svm))]
fn a_saved_run_gone_on_with_is_the_run_of_one_piece(
    #[case] likelihood: MixtureLikelihood,
    #[case] factor: Option<Factor>,
    #[values(HmmMethod::Beam, HmmMethod::Direct)] method: HmmMethod,
    #[values((40, 10, 70, 10), (8, 4, 60, 30))] sweeps: (usize, usize, usize, usize),
) {
    let (values, (first, before, all, after)) = (values(), sweeps);
    let data = Data::new(Rows::new(&values, 2).unwrap()).unwrap();
    let counts = Counts::from_rows(data.rows()).unwrap();
    let of_counts = matches!(likelihood, MixtureLikelihood::Multinomial { .. });
    let rows = if of_counts { MixtureRows::Counts(&counts) } else { MixtureRows::Dense(&data) };
    let discriminative = factor.map(Discriminative::new);
    let short = InfiniteHmm { likelihood, discriminative, method, sticky: true, ..hmm(first, before) };
    let fit = |hmm: &InfiniteHmm| match rows {
        MixtureRows::Dense(data) => hmm.fit(data, &sequences(), columns(), &Unwatched).unwrap(),
        MixtureRows::Counts(counts) => hmm.fit_counts(counts, &sequences(), columns(), &Unwatched).unwrap(),
    };
    let begun = fit(&short);
    assert_eq!(begun.model.hyperplanes.is_some(), factor.is_some());
    let saved = HmmRun::new(&short, rows, &sequences(), &begun);
    let run = HmmRun::from_bytes(&saved.to_bytes()).unwrap();
    assert!(InfiniteHmm { threads: 1, ..run.hmm.clone() } == short && run.chains == saved.chains);
    let long = InfiniteHmm { schedule: run.schedule_to(all), ..short };
    assert_eq!(long.schedule, Schedule { sweeps: all, burn_in: after, thin: 3 });
    assert!(run.resume(&long, rows, &sequences(), &Unwatched).unwrap() == fit(&long));
}

/// Stops at the given pass over all chains.
struct StopAt(usize, AtomicUsize);

impl Watch for StopAt {
    fn step(&self, step: &Step) -> ControlFlow<()> {
        let one = usize::from(matches!(step, Step::Pass { .. }));
        let passes = self.1.fetch_add(one, Ordering::Relaxed) + one;
        if passes >= self.0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

#[rstest]
#[case::in_the_first_chain(25)]
#[case::in_the_second(70)]
fn a_stopped_run_gone_on_with_is_the_run_of_one_piece(#[case] passes: usize) {
    let values = values();
    let data = Data::new(Rows::new(&values, 2).unwrap()).unwrap();
    let (rows, hmm) = (MixtureRows::Dense(&data), hmm(50, 20));
    let stopped = hmm.fit(&data, &sequences(), columns(), &StopAt(passes, AtomicUsize::new(0))).unwrap();
    assert!(stopped.stopped);
    assert_eq!(stopped.waiting.len(), usize::from(passes < 50));
    let run = HmmRun::from_bytes(&HmmRun::new(&hmm, rows, &sequences(), &stopped).to_bytes()).unwrap();
    assert_eq!((run.chains.len(), run.schedule_to(50)), (2, hmm.schedule));
    let resumed = run.resume(&hmm, rows, &sequences(), &Unwatched).unwrap();
    assert!(resumed == hmm.fit(&data, &sequences(), columns(), &Unwatched).unwrap());
}

fn small_run() -> HmmRun {
    let values = values();
    let data = Data::new(Rows::new(&values, 2).unwrap()).unwrap();
    let short = hmm(8, 2);
    let fit = short.fit(&data, &sequences(), columns(), &Unwatched).unwrap();
    HmmRun::new(&short, MixtureRows::Dense(&data), &sequences(), &fit)
}

#[test]
fn other_rows_sequences_and_parameters_are_refused() {
    let (values, run) = (values(), small_run());
    let data = Data::new(Rows::new(&values, 2).unwrap()).unwrap();
    let refused = |hmm: &InfiniteHmm, rows: &Data<f64>, lengths: &[usize], message: &str| {
        let sequences = Sequences::new(lengths, rows.n_rows()).unwrap();
        let error = run.clone().resume(hmm, MixtureRows::Dense(rows), &sequences, &Unwatched).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    };
    let long = InfiniteHmm { schedule: run.schedule_to(20), ..run.hmm.clone() };
    let mut changed = values.clone();
    changed[17] += 1e-9;
    let changed = Data::new(Rows::new(&changed, 2).unwrap()).unwrap();
    refused(&long, &changed, &[25, 15], "the rows are not those that the chains began with");
    let fewer = Data::new(Rows::new(&values[2..], 2).unwrap()).unwrap();
    refused(&long, &fewer, &[39], "there are 39 rows, and the chains are of 40");
    refused(&long, &data, &[15, 25], "the sequences are not those that the chains began with");
    refused(&InfiniteHmm { sticky: true, ..long.clone() }, &data, &[25, 15], "the parameters are not those");
    refused(&InfiniteHmm { split_merge: 0, ..long.clone() }, &data, &[25, 15], "the parameters are not those");
    let term = Some(Discriminative::new(Factor::Svm));
    refused(&InfiniteHmm { discriminative: term, ..long }, &data, &[25, 15], "the parameters are not those");
    refused(&run.hmm, &data, &[25, 15], "sweeps must be more than the 8 already done, got 8");
}

#[rstest]
#[case("\"version\":1", "\"version\":2", "newer madbayes")]
#[case("\"kind\":\"states run\"", "\"kind\":\"states\"", "of kind \"states\"")]
#[case("\"thin\":3", "\"thin\":2", "draws of a chain are not those of its schedule")]
#[case("\"n_rows\":40", "\"n_rows\":41", "a sum of 40")]
#[case("\"lengths\":[25,15]", "\"lengths\":[25,14]", "a sum of 39")]
#[case("\"chains\":[{", "\"links\":[{", "missing field `chains`")]
fn a_damaged_or_newer_run_is_refused_with_the_reason(#[case] from: &str, #[case] to: &str, #[case] message: &str) {
    let text = String::from_utf8(small_run().to_bytes()).unwrap();
    assert!(text.contains(from), "{text}");
    let error = HmmRun::from_bytes(text.replacen(from, to, 1).as_bytes()).unwrap_err().to_string();
    assert!(error.contains(message), "{error}");
}

#[test]
fn hyperplanes_of_other_groups_are_refused() {
    let values = values();
    let data = Data::new(Rows::new(&values, 2).unwrap()).unwrap();
    let short = InfiniteHmm { discriminative: Some(Discriminative::new(Factor::Logistic)), ..hmm(14, 2) };
    let fit = short.fit(&data, &sequences(), columns(), &Unwatched).unwrap();
    let mut run = HmmRun::new(&short, MixtureRows::Dense(&data), &sequences(), &fit);
    run.chains[1].state.hyperplanes.as_mut().unwrap().hyperplanes.pop();
    let longer = InfiniteHmm { schedule: run.schedule_to(20), ..short };
    let error = run.resume(&longer, MixtureRows::Dense(&data), &sequences(), &Unwatched).unwrap_err().to_string();
    assert!(error.contains("hyperplanes"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn no_bytes_make_it_panic(at in 0usize..9000, byte in 32u8..127) {
        let mut bytes = small_run().to_bytes();
        let at = at % bytes.len();
        bytes[at] = byte;
        if let Ok(damaged) = HmmRun::from_bytes(&bytes) {
            let values = values();
            let data = Data::new(Rows::new(&values, 2).unwrap()).unwrap();
            let longer = InfiniteHmm { schedule: damaged.schedule_to(12), ..damaged.hmm.clone() };
            let _ = damaged.resume(&longer, MixtureRows::Dense(&data), &sequences(), &Unwatched);
        }
    }
}
