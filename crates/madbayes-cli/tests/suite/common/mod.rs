//! A folder of files, the program run in it, and plain recomputations of what it says.
#![allow(dead_code, reason = "each test file uses its own part")]

use assert_cmd::Command;
use serde_json::Value;
use std::path::PathBuf;
use std::process::Output;

/// The program under test.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_madbayes");

/// Names and centres of six blobs that lie ever farther apart: every number of clusters from 1 to 6 is optimal for some
/// penalty.
pub const SIX: [(&str, [f64; 2]); 6] = [
    ("ant", [0.0, 0.0]),
    ("bee", [20.0, 40.0]),
    ("cat", [60.0, 0.0]),
    ("dog", [140.0, 40.0]),
    ("elk", [300.0, 0.0]),
    ("fox", [620.0, 40.0]),
];

/// A folder of its own, gone when the test ends.
pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Self {
        Folder(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// The program with these arguments, about to run in this folder.
    pub fn madbayes(&self, arguments: &str) -> Command {
        let mut command = Command::new(PROGRAM);
        command.current_dir(self.0.path()).args(arguments.split_whitespace());
        command
    }

    /// What the program did.
    pub fn run(&self, arguments: &str) -> Ran {
        Ran::new(arguments, self.madbayes(arguments).output().unwrap())
    }

    /// Standard output of a run that must go well.
    pub fn text(&self, arguments: &str) -> String {
        self.run(arguments).well().out
    }

    /// The same as JSON.
    pub fn json(&self, arguments: &str) -> Value {
        serde_json::from_str(&self.text(&format!("{arguments} --format json"))).unwrap()
    }

    /// The message of a run that must end as a user's mistake: code 2, one complaint, no result, no panic.
    pub fn mistake(&self, arguments: &str) -> String {
        self.run(arguments).mistake()
    }
}

/// What a run left behind.
pub struct Ran {
    pub arguments: String,
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Ran {
    pub fn new(arguments: &str, output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Ran {
            arguments: arguments.into(),
            code: output.status.code(),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }

    pub fn well(self) -> Self {
        assert_eq!(self.code, Some(0), "madbayes {}: {}", self.arguments, self.err);
        assert!(!self.err.contains("panicked"), "madbayes {}: {}", self.arguments, self.err);
        self
    }

    pub fn mistake(self) -> String {
        let Ran { arguments, code, out, err } = self;
        assert_eq!(code, Some(2), "madbayes {arguments}: {err}");
        assert_eq!(out, "", "madbayes {arguments}: nothing belongs on standard output");
        assert!(!err.contains("panicked"), "madbayes {arguments}: {err}");
        assert!(err.lines().any(|line| line.starts_with("error: ")), "madbayes {arguments}: {err}");
        err
    }
}

/// Every word must be in the message.
#[track_caller]
pub fn says(message: &str, words: &[&str]) {
    for word in words {
        assert!(message.contains(word), "{word:?} is not in: {message}");
    }
}

/// Numbers from 0 to 1 that look random and never change.
pub struct Noise(u64);

impl Noise {
    pub fn new(seed: u64) -> Self {
        Noise(seed)
    }

    /// SplitMix64.
    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Rows of x and y with the name of their blob, blob after blob: 20 rows each, at most 1 from the centre in x and y.
/// The numbers fit single precision.
pub fn six_blobs() -> Vec<([f64; 2], &'static str)> {
    let mut noise = Noise::new(1);
    let mut around = |centre: f64| f64::from((centre + 2.0 * noise.next() - 1.0) as f32);
    SIX.iter().flat_map(|blob| [*blob; 20]).map(|(name, centre)| (centre.map(&mut around), name)).collect()
}

/// The six blobs as CSV with the columns x, y and kind.
pub fn six_blobs_csv() -> String {
    let rows = six_blobs().into_iter().map(|([x, y], name)| format!("{x},{y},{name}\n"));
    std::iter::once("x,y,kind\n".to_string()).chain(rows).collect()
}

/// The six blobs without the names.
pub fn six_blobs_values() -> Vec<[f64; 2]> {
    six_blobs().into_iter().map(|(row, _)| row).collect()
}

/// A file `blobs.csv` of the six blobs.
pub fn folder_of_blobs() -> Folder {
    let folder = Folder::new();
    folder.write("blobs.csv", six_blobs_csv());
    folder
}

/// A file `square.csv`: the corners of the unit square.
pub fn folder_of_a_square() -> Folder {
    let folder = Folder::new();
    folder.write("square.csv", "a,b\n0,0\n0,1\n1,0\n1,1\n");
    folder
}

/// The labels in a JSON result.
pub fn labels(json: &Value) -> Vec<usize> {
    json["labels"].as_array().unwrap().iter().map(|label| label.as_u64().unwrap() as usize).collect()
}

/// The centres in a JSON result.
pub fn centres(json: &Value) -> Vec<Vec<f64>> {
    let rows = json["centres"].as_array().unwrap().iter();
    rows.map(|row| row.as_array().unwrap().iter().map(|cell| cell.as_f64().unwrap()).collect()).collect()
}

/// Sum of squared distances of the rows to the centres of their labels, every column divided by its scale.
pub fn loss<const D: usize>(rows: &[[f64; D]], json: &Value, scales: [f64; D]) -> f64 {
    let centres = centres(json);
    let labels = labels(json);
    assert_eq!(labels.len(), rows.len());
    let square = |j: usize, row: &[f64; D], label: usize| ((row[j] - centres[label][j]) / scales[j]).powi(2);
    rows.iter().zip(labels).flat_map(|(row, label)| (0..D).map(move |j| square(j, row, label))).sum()
}

/// The rows of every cluster, counted from the labels.
pub fn counted_sizes(json: &Value) -> Vec<usize> {
    let mut sizes = vec![0; json["n_groups"].as_u64().unwrap() as usize];
    labels(json).into_iter().for_each(|label| sizes[label] += 1);
    sizes
}

/// The sizes in a JSON result.
pub fn sizes(json: &Value) -> Vec<usize> {
    json["sizes"].as_array().unwrap().iter().map(|size| size.as_u64().unwrap() as usize).collect()
}

/// The output but for the line that holds the time it took.
pub fn timeless(out: &str) -> String {
    out.lines().filter(|line| !line.trim_start().starts_with("\"seconds\":")).collect::<Vec<_>>().join("\n")
}

/// Equal but for rounding.
#[track_caller]
pub fn close(a: f64, b: f64, relative: f64) {
    assert!((a - b).abs() <= relative * a.abs().max(b.abs()), "{a} is not {b}");
}
