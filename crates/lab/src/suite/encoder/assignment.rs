//! Assignment of texts to pictures: greedily in order, and optimally as a whole.

/// Sums of similarities that differ by less are equal: f32 has seven digits.
const EPSILON: f64 = 1e-6;

/// Whether every row gets its own column when the rows, first to last, take the largest entry among
/// the columns that are still free. A tie is no preference.
pub fn greedy_is_in_order(table: &[Vec<f64>]) -> bool {
    let own = |(i, row): (usize, &Vec<f64>)| row[i + 1..].iter().all(|other| *other < row[i]);
    // As long as all rows before it took their own, the columns from i on are free.
    table.iter().enumerate().all(own)
}

/// Whether giving every row its own column makes a larger sum than any other one-to-one
/// assignment.
pub fn best_is_in_order(table: &[Vec<f64>]) -> bool {
    let in_order: f64 = (0..table.len()).map(|i| table[i][i]).sum();
    // Any other assignment leaves the diagonal somewhere: forbid one entry of it at a time.
    (0..table.len()).all(|forbidden| {
        let mut other = table.to_vec();
        other[forbidden][forbidden] = -1e6;
        let best = best(&other);
        // One row alone has no other column to go to.
        best[forbidden] == forbidden || total(table, &best) < in_order - EPSILON
    })
}

fn total(table: &[Vec<f64>], columns: &[usize]) -> f64 {
    columns.iter().enumerate().map(|(row, column)| table[row][*column]).sum()
}

/// The one-to-one assignment with the largest sum: for each row of a square table its column. The
/// Hungarian method with potentials, one row added at a time.
fn best(table: &[Vec<f64>]) -> Vec<usize> {
    let n = table.len();
    // Row 0 and column 0 stand for "none yet"; the rest counts from 1.
    let (mut of_rows, mut of_columns) = (vec![0.0; n + 1], vec![0.0; n + 1]);
    let mut row_of = vec![0; n + 1];
    for row in 1..=n {
        row_of[0] = row;
        let (mut slack, mut before, mut done) =
            (vec![f64::INFINITY; n + 1], vec![0; n + 1], vec![false; n + 1]);
        let mut column = 0;
        while row_of[column] != 0 {
            done[column] = true;
            let current = row_of[column];
            let (mut step, mut next) = (f64::INFINITY, 0);
            for j in (1..=n).filter(|j| !done[*j]) {
                let reduced = -table[current - 1][j - 1] - of_rows[current] - of_columns[j];
                if reduced < slack[j] {
                    (slack[j], before[j]) = (reduced, column);
                }
                if slack[j] < step {
                    (step, next) = (slack[j], j);
                }
            }
            for j in 0..=n {
                if done[j] {
                    of_rows[row_of[j]] += step;
                    of_columns[j] -= step;
                } else {
                    slack[j] -= step;
                }
            }
            column = next;
        }
        while column != 0 {
            row_of[column] = row_of[before[column]];
            column = before[column];
        }
    }
    let mut columns = vec![0; n];
    (1..=n).for_each(|column| columns[row_of[column] - 1] = column - 1);
    columns
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// All orders of 0..n.
    fn orders(n: usize) -> Vec<Vec<usize>> {
        let Some(last) = n.checked_sub(1) else { return vec![vec![]] };
        let insert = |order: Vec<usize>| {
            (0..n).map(move |at| {
                let mut longer = order.clone();
                longer.insert(at, last);
                longer
            })
        };
        orders(last).into_iter().flat_map(insert).collect()
    }

    fn tables() -> impl Strategy<Value = Vec<Vec<f64>>> {
        (1..=6_usize).prop_flat_map(|n| {
            let row = proptest::collection::vec((-20..=20).prop_map(|x| f64::from(x) / 20.0), n);
            proptest::collection::vec(row, n)
        })
    }

    proptest! {
        #[test]
        fn no_order_is_better_than_the_best(table in tables()) {
            let all = orders(table.len());
            let largest = all.iter().map(|order| total(&table, order)).fold(f64::MIN, f64::max);
            prop_assert!((total(&table, &best(&table)) - largest).abs() < 1e-9);
            let own: Vec<usize> = (0..table.len()).collect();
            let mut others = all.iter().filter(|order| **order != own);
            let in_order = others.all(|order| total(&table, order) < total(&table, &own) - EPSILON);
            prop_assert_eq!(best_is_in_order(&table), in_order);
        }
    }

    #[test]
    fn greedy_takes_what_is_left() {
        let table = |rows: [[f64; 3]; 3]| rows.map(Vec::from).to_vec();
        assert!(greedy_is_in_order(&table([[0.9, 0.1, 0.2], [0.8, 0.7, 0.1], [0.9, 0.9, 0.3]])));
        assert!(!greedy_is_in_order(&table([[0.5, 0.6, 0.2], [0.1, 0.7, 0.1], [0.1, 0.1, 0.3]])));
        assert!(!greedy_is_in_order(&table([[0.5, 0.5, 0.2], [0.1, 0.7, 0.1], [0.1, 0.1, 0.3]])));
    }
}
