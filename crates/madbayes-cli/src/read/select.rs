//! Which columns of a file are data and which one is the label, by their names.

use std::collections::{HashMap, HashSet};

use anyhow::{Result, bail};

use super::Selection;
use super::cell::shorten;

/// The columns of a file, and the part each of them plays.
#[derive(Debug)]
pub(super) struct Plan {
    /// Every column of the file by a name of its own.
    pub names: Vec<String>,
    /// The positions of the data columns, in the order asked for.
    pub data: Vec<usize>,
    /// The position of the label column.
    pub label: Option<usize>,
}

impl Plan {
    /// Finds the columns that the selection asks for among those that `source` has.
    pub fn new(source: &str, header: &[String], selection: &Selection) -> Result<Plan> {
        let names = distinct_names(header);
        let finder = Finder::new(source, header, &names);
        let label = selection.label_column.as_ref().map(|name| finder.find("--label-column", name)).transpose()?;
        let mut excluded = HashSet::new();
        for name in &selection.exclude {
            excluded.insert(finder.find("--exclude", name)?);
        }
        let mut wanted = Vec::new();
        match &selection.columns {
            None => wanted.extend(0..names.len()),
            Some(columns) => {
                for name in columns {
                    let position = finder.find("--columns", name)?;
                    if wanted.contains(&position) {
                        bail!("--columns names {} twice: name each column once", quoted(name));
                    }
                    wanted.push(position);
                }
            }
        }
        let data: Vec<usize> = wanted.into_iter().filter(|p| !excluded.contains(p) && Some(*p) != label).collect();
        if data.is_empty() {
            bail!(
                "{source}: no data column is left after --columns, --exclude and --label-column; there {}",
                what_there_is(&names)
            );
        }
        Ok(Plan { names, data, label })
    }

    /// The names of the data columns.
    pub fn data_names(&self) -> Vec<String> {
        self.data.iter().map(|&position| self.names[position].clone()).collect()
    }

    /// The name of the label column.
    pub fn label_name(&self) -> Option<String> {
        self.label.map(|position| self.names[position].clone())
    }
}

/// The names `1`, `2`, ... of columns that have no other.
pub(super) fn numbered(count: usize) -> Vec<String> {
    (1..=count).map(|number| number.to_string()).collect()
}

/// Gives blank names their position and the second `a` the name `a.2`.
fn distinct_names(header: &[String]) -> Vec<String> {
    let mut taken: HashSet<String> = header.iter().cloned().collect();
    let mut seen: HashMap<&str, usize> = HashMap::new();
    let mut names = Vec::with_capacity(header.len());
    for (position, name) in header.iter().enumerate() {
        let count = seen.entry(name).or_default();
        *count += 1;
        if *count == 1 && !name.is_empty() {
            names.push(name.clone());
            continue;
        }
        let number = position + 1;
        let free = if name.is_empty() {
            let plain = std::iter::once(number.to_string());
            plain.chain((number..).map(|n| format!("column {n}"))).find(|c| taken.insert(c.clone()))
        } else {
            (*count..).map(|n| format!("{name}.{n}")).find(|c| taken.insert(c.clone()))
        };
        names.extend(free);
    }
    names
}

struct Finder<'a> {
    source: &'a str,
    positions: HashMap<&'a str, usize>,
    repeated: HashSet<&'a str>,
    names: &'a [String],
}

impl<'a> Finder<'a> {
    fn new(source: &'a str, header: &'a [String], names: &'a [String]) -> Finder<'a> {
        let positions = names.iter().enumerate().map(|(position, name)| (name.as_str(), position)).collect();
        let mut seen = HashSet::new();
        let repeated = header.iter().map(String::as_str).filter(|n| !n.is_empty() && !seen.insert(*n)).collect();
        Finder { source, positions, repeated, names }
    }

    fn find(&self, option: &str, name: &str) -> Result<usize> {
        if self.repeated.contains(name) {
            bail!(
                "{}: {option} {} could mean more than one column, for the name occurs again in the header: \
                 give the columns different names there",
                self.source,
                quoted(name)
            );
        }
        // A name typed with the spaces of the file around it still means the column.
        if let Some(&position) = self.positions.get(name).or_else(|| self.positions.get(name.trim())) {
            return Ok(position);
        }
        let suggestion = match closest(name, self.names) {
            Some(near) => format!("did you mean {}? There", quoted(near)),
            None => "there".to_owned(),
        };
        bail!(
            "{}: {option} names {}, which is not a column; {suggestion} {}",
            self.source,
            quoted(name),
            what_there_is(self.names)
        );
    }
}

/// The nearest name, when it is near enough to be a slip of the finger.
fn closest<'a>(name: &str, names: &'a [String]) -> Option<&'a str> {
    const MOST_COMPARED: usize = 10_000;
    let wanted = name.trim().to_lowercase();
    let tolerance = 1 + wanted.chars().count() / 4;
    let distances = names.iter().take(MOST_COMPARED).filter(|near| near.len() < 200 && wanted.len() < 200);
    let (distance, near) =
        distances.map(|near| (edits(&wanted, &near.to_lowercase()), near)).min_by_key(|&(distance, _)| distance)?;
    (distance <= tolerance && distance < wanted.chars().count().max(1)).then_some(near)
}

/// How many letters must be put in, taken out or replaced to make one word of the other.
fn edits(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &b) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

/// "are 12 columns: a, b, c, ..." for a message.
fn what_there_is(names: &[String]) -> String {
    const MOST_LISTED: usize = 12;
    if let [only] = names {
        return format!("is one column: {}", shorten(only));
    }
    let mut listed: Vec<String> = names.iter().take(MOST_LISTED).map(|name| shorten(name)).collect();
    if names.len() > MOST_LISTED {
        listed.push("...".to_owned());
    }
    format!("are {} columns: {}", names.len(), listed.join(", "))
}

/// A name in quotes for a message.
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", shorten(name))
}

/// Names as the value of an option, quoted for the shell where they must be.
pub fn option_value(names: &[&str]) -> String {
    let joined = names.join(",");
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ',' | '+' | ':' | '/' | '%' | '@');
    if !joined.is_empty() && joined.chars().all(plain) {
        joined
    } else {
        format!("'{}'", joined.replace('\'', "'\\''"))
    }
}

/// The complaint about columns that hold text where numbers were wanted.
pub(super) fn text_columns_message(source: &str, texts: &[&str], any_left: bool) -> String {
    const MOST_LISTED: usize = 12;
    let mut listed: Vec<String> = texts.iter().take(MOST_LISTED).map(|name| quoted(name)).collect();
    if texts.len() > MOST_LISTED {
        listed.push("...".to_owned());
    }
    let subject = match listed.as_slice() {
        [only] => format!("column {only} is text"),
        _ => format!("columns {} are text", listed.join(", ")),
    };
    if !any_left {
        return format!("{source}: {subject}, and no column of numbers is left to cluster");
    }
    let (them, label) = match texts {
        [only] => ("it", format!("use it as --label-column {}", option_value(&[only]))),
        [first, ..] => ("them", format!("use one as the labels, e.g. --label-column {}", option_value(&[first]))),
        [] => ("it", String::new()),
    };
    format!("{source}: {subject}, not numbers: leave {them} out with --exclude {}, or {label}", option_value(texts))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    fn message(names: &[&str], selection: &Selection) -> String {
        Plan::new("a.csv", &header(names), selection).unwrap_err().to_string()
    }

    #[test]
    fn columns_keep_the_order_asked_for() {
        let selection = Selection { columns: Some(header(&["c", "a"])), ..Selection::default() };
        let plan = Plan::new("a.csv", &header(&["a", "b", "c"]), &selection).unwrap();
        assert_eq!(plan.data, [2, 0]);
        assert_eq!(plan.data_names(), ["c", "a"]);
    }

    #[test]
    fn excluded_and_label_columns_are_not_data() {
        let selection =
            Selection { exclude: header(&["b"]), label_column: Some("c".to_owned()), ..Selection::default() };
        let plan = Plan::new("a.csv", &header(&["a", "b", "c"]), &selection).unwrap();
        assert_eq!((plan.data, plan.label), (vec![0], Some(2)));
    }

    #[test]
    fn unknown_name_is_answered_with_the_names_and_the_closest() {
        let selection = Selection { exclude: header(&["waitng"]), ..Selection::default() };
        let text = message(&["eruptions", "waiting"], &selection);
        assert!(text.contains("--exclude names \"waitng\""), "{text}");
        assert!(text.contains("did you mean \"waiting\"?"), "{text}");
        assert!(text.contains("eruptions, waiting"), "{text}");
        let selection = Selection { label_column: Some("zzz".to_owned()), ..Selection::default() };
        let text = message(&["eruptions", "waiting"], &selection);
        assert!(!text.contains("did you mean"), "{text}");
    }

    #[test]
    fn long_lists_of_names_are_shortened() {
        let names = numbered(500);
        let selection = Selection { exclude: header(&["nothing"]), ..Selection::default() };
        let text = Plan::new("a.csv", &names, &selection).unwrap_err().to_string();
        assert!(text.contains("500 columns") && text.len() < 250, "{text}");
    }

    #[test]
    fn repeated_names_are_numbered_unless_asked_for() {
        let plan = Plan::new("a.csv", &header(&["a", "b", "a", "a.2", "a"]), &Selection::default()).unwrap();
        assert_eq!(plan.names, ["a", "b", "a.3", "a.2", "a.4"]);
        let plan = Plan::new("a.csv", &header(&["a", "a"]), &Selection::default()).unwrap();
        assert_eq!(plan.names, ["a", "a.2"]);
        let selection = Selection { columns: Some(header(&["a"])), ..Selection::default() };
        assert!(message(&["a", "b", "a"], &selection).contains("more than one column"));
        let selection = Selection { exclude: header(&["a.2"]), ..Selection::default() };
        assert_eq!(Plan::new("a.csv", &header(&["a", "b", "a"]), &selection).unwrap().data, [0, 1]);
    }

    #[test]
    fn blank_names_become_their_position() {
        let plan = Plan::new("a.csv", &header(&["", "x", ""]), &Selection::default()).unwrap();
        assert_eq!(plan.names, ["1", "x", "3"]);
        let plan = Plan::new("a.csv", &header(&["", "1"]), &Selection::default()).unwrap();
        assert_eq!(plan.names, ["column 1", "1"]);
    }

    #[test]
    fn no_column_left_is_an_error() {
        let selection = Selection { exclude: header(&["a"]), ..Selection::default() };
        assert!(message(&["a"], &selection).contains("no data column is left"));
    }

    #[test]
    fn a_column_named_twice_is_an_error() {
        let selection = Selection { columns: Some(header(&["a", "a"])), ..Selection::default() };
        assert!(message(&["a", "b"], &selection).contains("twice"));
    }

    #[test]
    fn option_values_are_quoted_for_the_shell() {
        assert_eq!(option_value(&["a", "b"]), "a,b");
        assert_eq!(option_value(&["a", "Serving Size"]), "'a,Serving Size'");
        assert_eq!(option_value(&["it's"]), "'it'\\''s'");
    }
}
