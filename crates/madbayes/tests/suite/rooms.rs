//! Every room imports only from those before it.

use std::path::{Path, PathBuf};

/// The rooms in order; those of one line are blind to each other.
const ORDER: &[&[&str]] = &[
    &["error", "counts", "data", "special", "watch", "parallel", "random", "linalg", "prepare"],
    &["structure"],
    &["metrics"],
    &["prior", "likelihood", "separator"],
    &["simulate"],
    &["scan", "sweep"],
    &["hard", "gibbs"],
    &["select"],
    &["model"],
    &["overview"],
];

fn level(room: &str) -> Option<usize> {
    ORDER.iter().position(|rooms| rooms.contains(&room))
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files(&path, found),
            false if path.extension().is_some_and(|e| e == "rs") => found.push(path),
            false => {}
        }
    }
}

/// Rooms named after `crate::` in a file, each with the line it stands on; the part below `#[cfg(test)]` may use any.
fn imports(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let production = text.split("#[cfg(test)]\nmod tests").next().unwrap_or(text);
    // An import over several lines is read as one.
    let mut joined = String::new();
    let mut inside = false;
    for line in production.lines() {
        inside |= line.contains("crate::{") && !line.trim_start().starts_with("//");
        inside &= !line.contains(';');
        joined.push_str(line.trim_end());
        joined.push(if inside { ' ' } else { '\n' });
    }
    for (number, line) in joined.lines().enumerate() {
        if line.trim_start().starts_with("//") {
            continue;
        }
        let mut rest = line;
        while let Some(at) = rest.find("crate::") {
            rest = &rest[at + "crate::".len()..];
            let word: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            match rest.strip_prefix('{') {
                Some(list) => {
                    let names = list.split([',', '}']).map(|n| n.trim().split("::").next().unwrap_or("").to_string());
                    found.extend(names.filter(|n| level(n).is_some()).map(|n| (number + 1, n)));
                }
                None => found.push((number + 1, word)),
            }
        }
    }
    found
}

fn violations(room: &str, text: &str) -> Vec<String> {
    let own = level(room).unwrap_or_else(|| panic!("room {room} has no place in ORDER"));
    imports(text)
        .into_iter()
        .filter(|(_, target)| {
            let Some(other) = level(target) else { return false };
            let foundation = own == 0 && other == 0;
            target != room && !(other < own || foundation)
        })
        .map(|(line, target)| format!("{room}, line {line}, imports {target}"))
        .collect()
}

#[test]
fn no_room_imports_from_a_later_one_or_a_neighbour() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut all = Vec::new();
    files(&source, &mut all);
    assert!(all.len() > 30, "the rooms were found");
    let mut wrong = Vec::new();
    for path in all {
        let inside = path.strip_prefix(&source).unwrap();
        let room = inside.components().next().unwrap().as_os_str().to_string_lossy().replace(".rs", "");
        // Laws are tests, and lib.rs lists the rooms.
        if room == "lib" || inside.ends_with("laws.rs") {
            continue;
        }
        wrong.extend(violations(&room, &std::fs::read_to_string(&path).unwrap()));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_wrong_direction_is_seen() {
    assert_eq!(violations("hard", "use crate::gibbs::Chain;").len(), 1);
    assert_eq!(violations("prior", "fn f() { crate::likelihood::x() }").len(), 1);
    assert_eq!(violations("scan", "use crate::{data::Data, hard::Goal};").len(), 1);
    assert_eq!(violations("scan", "use crate::{\n    data::Data,\n    hard::Goal,\n};").len(), 1);
    assert_eq!(violations("hard", "use crate::scan::assign;\n// crate::gibbs\n").len(), 0);
    assert_eq!(violations("structure", "#[cfg(test)]\nmod tests { use crate::model::X; }").len(), 0);
}
