//! The cheapest assignment of rows to distinct columns: the Hungarian algorithm (Kuhn 1955; Munkres 1957) by shortest
//! augmenting paths (Jonker & Volgenant, "A shortest augmenting path algorithm for dense and sparse linear assignment
//! problems", Computing 38, 1987).

/// For each row of a cost matrix, given row by row, the column that it gets: no two the same, their costs as low together
/// as can be. In O(rows^2 columns), exact.
///
/// # Panics
/// When there are more rows than columns, or the matrix has another size.
pub(super) fn cheapest_assignment(costs: &[i64], n_rows: usize, n_columns: usize) -> Vec<usize> {
    assert!(n_rows <= n_columns, "{n_rows} rows cannot have {n_columns} columns one each");
    assert_eq!(costs.len(), n_rows * n_columns);
    // Prices with cost - row_price - column_price >= 0 everywhere and 0 on what is assigned: that is what makes the
    // assignment of the rows so far the cheapest.
    let mut row_prices = vec![0i64; n_rows];
    let mut column_prices = vec![0i64; n_columns];
    let mut owners: Vec<Option<usize>> = vec![None; n_columns];
    for new in 0..n_rows {
        // Dijkstra's search over columns for the cheapest way to a free one, from the new row.
        let mut reach = vec![i64::MAX; n_columns];
        let mut from: Vec<Option<usize>> = vec![None; n_columns];
        let mut settled = vec![false; n_columns];
        let mut row = new;
        let mut last = None;
        let mut travelled = 0;
        let end = loop {
            for column in (0..n_columns).filter(|c| !settled[*c]) {
                let reduced = costs[row * n_columns + column] - row_prices[row] - column_prices[column];
                if travelled + reduced < reach[column] {
                    reach[column] = travelled + reduced;
                    from[column] = last;
                }
            }
            let open = (0..n_columns).filter(|c| !settled[*c]);
            let column = open.min_by_key(|c| reach[*c]).expect("there are no fewer columns than rows");
            settled[column] = true;
            travelled = reach[column];
            last = Some(column);
            match owners[column] {
                Some(owner) => row = owner,
                None => break column,
            }
        };
        row_prices[new] += travelled;
        for column in (0..n_columns).filter(|c| settled[*c]) {
            column_prices[column] -= travelled - reach[column];
            if let Some(owner) = owners[column] {
                row_prices[owner] += travelled - reach[column];
            }
        }
        // Along the way back every column goes to the row that it was reached from.
        let mut column = end;
        while let Some(before) = from[column] {
            owners[column] = owners[before];
            column = before;
        }
        owners[column] = Some(new);
    }
    let mut columns = vec![0; n_rows];
    for (column, owner) in owners.iter().enumerate() {
        owner.iter().for_each(|&row| columns[row] = column);
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The least cost over all injections of rows into columns, tried one by one.
    fn least(costs: &[i64], n_columns: usize, row: usize, taken: &mut Vec<bool>) -> i64 {
        if row * n_columns == costs.len() {
            return 0;
        }
        let mut best = i64::MAX;
        for column in 0..n_columns {
            if !taken[column] {
                taken[column] = true;
                best = best.min(costs[row * n_columns + column] + least(costs, n_columns, row + 1, taken));
                taken[column] = false;
            }
        }
        best
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]
        #[test]
        fn it_costs_as_little_as_the_best_of_all_assignments(
            (n_rows, n_columns, costs) in (0usize..7, 0usize..3, 1i64..100).prop_flat_map(|(rows, more, top)| {
                let columns = rows + more;
                (Just(rows), Just(columns), proptest::collection::vec(-top..=top, rows * columns))
            })
        ) {
            let columns = cheapest_assignment(&costs, n_rows, n_columns);
            let distinct: std::collections::HashSet<_> = columns.iter().collect();
            prop_assert_eq!(distinct.len(), n_rows);
            let cost: i64 = columns.iter().enumerate().map(|(row, column)| costs[row * n_columns + column]).sum();
            let exact = if n_rows == 0 { 0 } else { least(&costs, n_columns, 0, &mut vec![false; n_columns]) };
            prop_assert_eq!(cost, exact);
        }
    }

    #[test]
    fn a_greedy_choice_is_taken_back_where_it_costs_more() {
        assert_eq!(cheapest_assignment(&[1, 2, 1, 100], 2, 2), [1, 0]);
        assert_eq!(cheapest_assignment(&[1, 2, 3, 2, 4, 6, 3, 6, 9], 3, 3), [2, 1, 0]);
    }

    #[test]
    fn a_shuffled_order_of_many_is_found() {
        let n = 200;
        let place = |row: usize| (row * 77 + 13) % n;
        let costs: Vec<i64> =
            (0..n * n).map(|i| if i % n == place(i / n) { 0 } else { 1 + (i * i % 7) as i64 }).collect();
        assert_eq!(cheapest_assignment(&costs, n, n), (0..n).map(place).collect::<Vec<_>>());
    }
}
