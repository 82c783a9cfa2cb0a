//! A user's mistake is an error that says what, where, what is allowed and what to do: code 2, never a panic.

use crate::common::{Folder, folder_of_a_square, folder_of_blobs, says};

/// The message about a CSV file of this text.
fn about(text: &str) -> String {
    let folder = Folder::new();
    folder.write("t.csv", text);
    folder.mistake("cluster t.csv --penalty 1")
}

/// The message about these options, the file being fine.
fn options(options: &str) -> String {
    folder_of_a_square().mistake(&format!("cluster square.csv {options}"))
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let folder = Folder::new();
    says(&folder.mistake("cluster none.csv --penalty 1"), &["none.csv", "cannot be read", "No such file"]);
    says(&folder.mistake("assign --model none.json none.csv"), &["none.json", "cannot read"]);
}

#[test]
fn a_directory_is_not_a_file() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("sub")).unwrap();
    says(&folder.mistake("cluster sub --penalty 1"), &["sub is a directory", "name a file in it"]);
    says(&folder.mistake("assign --model sub t.csv"), &["sub"]);
}

#[test]
fn a_file_without_rows_is_refused() {
    says(&about(""), &["t.csv is empty", "a table of numbers"]);
    says(&about("\n\n  \n"), &["t.csv", "blank lines"]);
    says(&about("alpha,beta\n"), &["t.csv", "header but no rows", "alpha, beta"]);
    let empty = Folder::new().madbayes("cluster - --penalty 1").write_stdin("").output().unwrap();
    says(&crate::common::Ran::new("cluster -", empty).mistake(), &["standard input is empty"]);
}

#[test]
fn a_cell_that_cannot_be_used_is_named_by_line_row_and_column() {
    let place = "t.csv, line 3 (data row 2), column \"b\"";
    for missing in ["", "NaN", "NA"] {
        let message = about(&format!("a,b\n1,2\n3,{missing}\n5,6\n"));
        says(&message, &[place, "the cell is missing", "1 of 3 rows", "--drop-missing", "--exclude b"]);
    }
    for infinite in ["inf", "-inf", "1e999"] {
        let message = about(&format!("a,b\n1,2\n3,{infinite}\n5,6\n"));
        says(&message, &[place, "infinite", "only finite numbers", "correct the cell", "--exclude b"]);
    }
    let message = about("a,b\n1,2\n3,high\n5,6\n");
    says(&message, &[place, "\"high\" is not a number", "--exclude b", "--label-column b"]);
}

#[test]
fn a_column_of_text_names_exclude() {
    let message = folder_of_blobs().mistake("cluster blobs.csv --penalty 1");
    says(&message, &["blobs.csv", "column \"kind\" is text", "--exclude kind", "--label-column kind"]);
}

#[test]
fn missing_cells_that_leave_no_row_are_not_dropped_in_silence() {
    let folder = Folder::new();
    folder.write("t.csv", "a,b\n1,\n2,NA\n");
    let message = folder.mistake("cluster t.csv --penalty 1 --drop-missing");
    says(&message, &["every row has a missing cell", "\"b\" is missing in 2 of 2 rows", "--exclude b"]);
}

#[test]
fn a_row_of_another_length_is_named() {
    says(&about("a,b\n1,2\n3,4,5\n"), &["t.csv, line 3 (data row 2)", "3 fields", "the header has 2", "every row"]);
    says(&about("1,2\n3,4\n5\n"), &["t.csv, line 3 (data row 3)", "1 field", "the first row has 2"]);
}

#[test]
fn unknown_columns_are_named_with_those_there_are() {
    for option in ["--columns", "--exclude", "--label-column"] {
        let message = options(&format!("--penalty 1 {option} height"));
        says(&message, &["square.csv", option, "\"height\"", "not a column", "there are 2 columns: a, b"]);
    }
    let folder = folder_of_blobs();
    let message = folder.mistake("cluster blobs.csv --penalty 1 --exclude kinds");
    says(&message, &["did you mean \"kind\"?"]);
    says(&options("--penalty 1 --exclude a,b"), &["no data column is left", "a, b"]);
    says(&options("--penalty 1 --columns a,a"), &["--columns names \"a\" twice", "once"]);
}

#[test]
fn a_penalty_must_be_a_positive_finite_number() {
    for penalty in ["0", "-1", "nan", "inf", "-inf", "abc", "1,5"] {
        let message = options(&format!("--penalty={penalty}"));
        says(&message, &[&format!("'{penalty}'"), "--penalty", "positive finite number", "--clusters K"]);
    }
    says(&options("--penalty -1"), &["'-1'", "positive finite number"]);
}

#[test]
fn the_name_of_a_rule_for_the_penalty_must_be_one_of_three() {
    for wrong in ["Auto", "validate", "farthest-first", "farthest-first:", "farthest-first:two"] {
        says(&options(&format!("--penalty {wrong}")), &[wrong, "auto, validation or farthest-first:K"]);
    }
    for wrong in ["farthest-first:0", "farthest-first:5"] {
        says(&options(&format!("--penalty {wrong}")), &["--penalty must be farthest-first:K", "rows, 4", wrong]);
    }
}

#[test]
fn the_penalty_and_the_number_of_clusters_exclude_each_other() {
    says(&options("--penalty 1 --clusters 2"), &["--penalty", "--clusters", "cannot be used with"]);
    says(&options("--penalty auto --clusters 2"), &["--penalty", "--clusters", "cannot be used with"]);
    says(&options("--max-clusters 2 --clusters 2"), &["--max-clusters", "--clusters", "cannot be used with"]);
}

#[test]
fn bounds_of_a_path_are_named() {
    let path = |given: &str| folder_of_a_square().mistake(&format!("path square.csv {given}"));
    for k in [0, 5] {
        says(
            &path(&format!("--max-groups {k}")),
            &["--max-groups must be between 1 and", "rows, 4", &format!("got {k}")],
        );
    }
    for wrong in ["0", "-1", "inf", "NaN"] {
        says(
            &path(&format!("--least-penalty {wrong}")),
            &["--least-penalty must be a positive finite number", "leave it out"],
        );
    }
    says(&path("--time-limit 0"), &["--time-limit must be a positive number"]);
    says(&path("--out square.csv"), &["square.csv", "would be overwritten"]);
}

#[test]
fn numbers_of_clusters_lie_between_one_and_the_number_of_rows() {
    for k in [0, 5, 1_000_000] {
        let got = format!("got {k}");
        says(&options(&format!("--clusters {k}")), &["--clusters must be", "between 1 and", "rows, 4", &got]);
        let message = options(&format!("--penalty 1 --max-clusters {k}"));
        says(&message, &["--max-clusters must be", "between 1 and", "rows, 4", &got, "leave it out"]);
    }
    for option in ["--clusters", "--penalty 1 --max-clusters"] {
        says(&options(&format!("{option} -1")), &["'-1'", option.split(' ').next_back().unwrap()]);
        says(&options(&format!("{option} two")), &["'two'", option.split(' ').next_back().unwrap()]);
    }
}

#[test]
fn more_clusters_than_distinct_rows_are_refused() {
    let folder = Folder::new();
    folder.write("t.csv", "a,b\n1,1\n1,1\n2,2\n2,2\n1,1\n");
    let message = folder.mistake("cluster t.csv --clusters 3");
    says(&message, &["--clusters must be", "at most the number of distinct rows, 2", "got 3", "fewer clusters"]);
    assert_eq!(folder.json("cluster t.csv --clusters 2")["n_groups"], 2);
}

#[test]
fn no_runs_and_no_passes_are_refused() {
    says(&options("--penalty 1 --restarts 0"), &["--restarts must be at least 1", "got 0"]);
    says(&options("--penalty 1 --max-passes 0"), &["--max-passes must be at least 1", "got 0"]);
    says(&options("--penalty 1 --restarts -1"), &["--restarts", "'-1'"]);
}

#[test]
fn a_time_limit_must_be_positive() {
    for (limit, shown) in [("0", "0"), ("-1", "-1"), ("nan", "NaN"), ("inf", "inf")] {
        let message = options(&format!("--penalty 1 --time-limit {limit}"));
        says(&message, &["--time-limit must be a positive number of seconds", &format!("got {shown}"), "leave it out"]);
    }
    says(&options("--penalty 1 --time-limit soon"), &["--time-limit", "'soon'"]);
    folder_of_a_square().text("cluster square.csv --penalty 1 --time-limit 1e300");
}

#[test]
fn names_that_are_not_on_offer_are_answered_with_those_that_are() {
    says(&options("--penalty 1 --algorithm fast"), &["'fast'", "--algorithm", "parallel, serial, collapsed"]);
    says(&options("--penalty 1 --start best"), &["'best'", "--start", "++, mean"]);
    says(&options("--penalty 1 --format xml"), &["'xml'", "--format", "text, json"]);
    says(&options("--penalty 1 --sed 3"), &["--sed", "--seed"]);
}

#[test]
fn numbers_too_large_or_too_small_to_square_are_refused() {
    says(&about("a,b\n1e200,1\n-1e200,2\n5,3\n"), &["column", "1e200", "overflow", "divide the column by a constant"]);
    says(&about("a,b\n1e308,1\n-1e308,2\n5,3\n"), &["overflow", "divide the column by a constant"]);
    says(&about("a\n1e-200\n2e-200\n3e-200\n"), &["vanish", "multiply the data by a constant"]);
    // Large numbers that lie close together are none of these.
    let folder = Folder::new();
    folder.write("t.csv", "a\n1e15\n1.1e15\n9e15\n");
    assert_eq!(folder.json("cluster t.csv --clusters 2")["n_groups"], 2);
}

#[test]
fn results_never_go_over_what_is_read() {
    let folder = folder_of_blobs();
    let before = folder.read("blobs.csv");
    std::fs::create_dir(folder.path("sub")).unwrap();
    for target in ["blobs.csv", "./blobs.csv", "sub/../blobs.csv"] {
        for option in ["--out", "--model"] {
            let message = folder.mistake(&format!("cluster blobs.csv --penalty 300 --exclude kind {option} {target}"));
            says(&message, &[target, "would be overwritten", "give another name"]);
        }
    }
    folder.text("cluster blobs.csv --penalty 300 --exclude kind --model model.json");
    let model = folder.read("model.json");
    for target in ["blobs.csv", "model.json"] {
        let message = folder.mistake(&format!("assign --model model.json blobs.csv --out {target}"));
        says(&message, &[target, "would be overwritten", "give another name"]);
    }
    assert_eq!(folder.read("blobs.csv"), before);
    assert_eq!(folder.read("model.json"), model);
}

#[cfg(unix)]
#[test]
fn a_link_to_the_input_is_the_input() {
    let folder = folder_of_blobs();
    let before = folder.read("blobs.csv");
    std::os::unix::fs::symlink(folder.path("blobs.csv"), folder.path("link.csv")).unwrap();
    let message = folder.mistake("cluster blobs.csv --penalty 300 --exclude kind --out link.csv");
    says(&message, &["link.csv", "would be overwritten"]);
    assert_eq!(folder.read("blobs.csv"), before);
}

#[test]
fn two_results_do_not_go_into_one_file() {
    let folder = folder_of_a_square();
    let message = folder.mistake("cluster square.csv --penalty 1 --out both --model ./both");
    says(&message, &["two results", "both", "another name"]);
    assert!(!folder.path("both").exists());
}

#[test]
fn places_that_cannot_be_written_are_named_before_the_work() {
    let folder = folder_of_a_square();
    std::fs::create_dir(folder.path("sub")).unwrap();
    for option in ["--out", "--model"] {
        let message = folder.mistake(&format!("cluster square.csv --penalty 1 {option} no/such/file"));
        says(&message, &["cannot write no/such/file", "folder does not exist"]);
        let message = folder.mistake(&format!("cluster square.csv --penalty 1 {option} sub"));
        says(&message, &["cannot write sub", "it is a folder"]);
        let message = folder.mistake(&format!("cluster square.csv --penalty 1 {option} square.csv/x"));
        says(&message, &["cannot write square.csv/x"]);
    }
    // The model would have been written by then if this were found out at the end.
    folder.mistake("cluster square.csv --penalty 1 --model model.json --out no/such/file");
    assert!(!folder.path("model.json").exists());
    let message = folder.mistake("cluster square.csv --penalty 1 --plots square.csv");
    says(&message, &["cannot make the folder square.csv"]);
    folder.text("cluster square.csv --penalty 1 --model model.json");
    let message = folder.mistake("assign --model model.json square.csv --out no/such/file");
    says(&message, &["cannot write no/such/file"]);
    says(&folder.mistake("man --dir square.csv"), &["cannot make the folder square.csv"]);
    says(&folder.mistake("demo --dir square.csv"), &["cannot make the folder square.csv"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_device_is_an_error_that_says_so() {
    let folder = folder_of_a_square();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let ended = std::process::Command::new(crate::common::PROGRAM)
        .args(["cluster", "square.csv", "--penalty", "1"])
        .current_dir(folder.path(""))
        .stdout(full)
        .output()
        .unwrap();
    let ran = crate::common::Ran::new("cluster > /dev/full", ended);
    says(&ran.mistake(), &["cannot write to standard output", "No space left"]);
}

#[test]
fn other_kinds_of_files_are_refused_by_name() {
    let folder = Folder::new();
    let mut random = crate::common::Noise::new(4);
    let noise: Vec<u8> = (0..500).map(|_| (256.0 * random.next()) as u8).collect();
    for (bytes, words) in [
        (b"\x1f\x8b\x08\0\0\0\0".to_vec(), ["gzip", "gunzip"]),
        (b"\xd0\xcf\x11\xe0\0\0\0".to_vec(), ["Excel", "CSV"]),
        (b"PK\x03\x04 not a zip".to_vec(), ["t.dat", "cut off"]),
        ("a,b\n1,2\n".encode_utf16().flat_map(u16::to_le_bytes).collect(), ["UTF-16", "UTF-8"]),
        (noise, ["t.dat", "not text"]),
    ] {
        folder.write("t.dat", bytes);
        says(&folder.mistake("cluster t.dat --penalty 1"), &words);
    }
}
