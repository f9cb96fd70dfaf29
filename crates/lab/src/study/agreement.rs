//! Agreement of raters beyond chance.

/// The ratings of each unit, as numbers of categories; a rater who gave none is left out.
pub type Units = [Vec<usize>];

/// The share of pairs of raters that agree on a unit, over all units; none where no unit has two.
pub fn pairwise(units: &Units) -> Option<f64> {
    let (mut same, mut all) = (0usize, 0usize);
    for said in units {
        for (i, one) in said.iter().enumerate() {
            same += said[i + 1..].iter().filter(|other| *other == one).count();
            all += said.len() - i - 1;
        }
    }
    (all > 0).then(|| same as f64 / all as f64)
}

/// Fleiss' κ; units may have different numbers of raters, those with fewer than two do not count. None where
/// chance agreement is 1, or no unit has two ratings.
pub fn fleiss(units: &Units) -> Option<f64> {
    let rated: Vec<&Vec<usize>> = units.iter().filter(|said| said.len() > 1).collect();
    let all: Vec<usize> = rated.iter().flat_map(|said| said.iter().copied()).collect();
    let agreement = |said: &&Vec<usize>| {
        let squares: usize = counts(said).iter().map(|n| n * n).sum();
        (squares - said.len()) as f64 / (said.len() * (said.len() - 1)) as f64
    };
    let observed = rated.iter().map(agreement).sum::<f64>() / rated.len().max(1) as f64;
    let share = |count: usize| count as f64 / all.len() as f64;
    let chance: f64 = counts(&all).into_iter().map(|count| share(count).powi(2)).sum();
    (!all.is_empty() && chance < 1.0).then(|| (observed - chance) / (1.0 - chance))
}

/// How far apart two categories are: the same or not.
pub fn nominal(a: usize, b: usize) -> f64 {
    f64::from(a != b)
}

/// How far apart two categories are: the square of the difference of their numbers.
pub fn interval(a: usize, b: usize) -> f64 {
    (a as f64 - b as f64).powi(2)
}

/// Krippendorff's α: 1 less observed over expected disagreement. None where no unit has two ratings, or all
/// ratings are the same.
pub fn krippendorff(units: &Units, distance: fn(usize, usize) -> f64) -> Option<f64> {
    let paired: Vec<&Vec<usize>> = units.iter().filter(|said| said.len() > 1).collect();
    let all: Vec<usize> = paired.iter().flat_map(|said| said.iter().copied()).collect();
    let between = |values: &[usize]| -> f64 {
        values.iter().flat_map(|a| values.iter().map(|b| distance(*a, *b))).sum()
    };
    let seen: f64 = paired.iter().map(|said| between(said) / (said.len() - 1) as f64).sum();
    let expected = between(&all) / (all.len().max(2) - 1) as f64;
    (expected > 0.0).then(|| 1.0 - seen / expected)
}

/// The number of ratings of each category.
fn counts(said: &[usize]) -> Vec<usize> {
    let mut counts = vec![0; said.iter().max().map_or(0, |most| most + 1)];
    said.iter().for_each(|category| counts[*category] += 1);
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The example of Krippendorff's textbook: three coders, fifteen units, values missing.
    fn textbook() -> Vec<Vec<usize>> {
        const CODERS: [&str; 3] = ["*****34121133*3", "1*213343*******", "**21344*21133*4"];
        let rows = CODERS.map(|row| row.chars().collect::<Vec<char>>());
        assert!(rows.iter().all(|row| row.len() == 15), "{rows:?}");
        let said = |row: &Vec<char>, i: usize| row[i].to_digit(10).map(|digit| digit as usize);
        (0..15).map(|i| rows.iter().filter_map(|row| said(row, i)).collect()).collect()
    }

    #[test]
    fn alpha_of_the_textbook() {
        let units = textbook();
        let by_name = krippendorff(&units, nominal).unwrap();
        let by_number = krippendorff(&units, interval).unwrap();
        assert_eq!(format!("{by_name:.3} {by_number:.3}"), "0.691 0.811");
    }

    #[test]
    fn kappa_of_fleiss_own_example() {
        // Fourteen raters put ten subjects into five categories.
        const TABLE: [[usize; 5]; 10] = [
            [0, 0, 0, 0, 14],
            [0, 2, 6, 4, 2],
            [0, 0, 3, 5, 6],
            [0, 3, 9, 2, 0],
            [2, 2, 8, 1, 1],
            [7, 7, 0, 0, 0],
            [3, 2, 6, 3, 0],
            [2, 5, 3, 2, 2],
            [6, 5, 2, 1, 0],
            [0, 2, 2, 3, 7],
        ];
        let unit = |row: &[usize; 5]| {
            row.iter().enumerate().flat_map(|(c, n)| std::iter::repeat_n(c, *n)).collect()
        };
        let units: Vec<Vec<usize>> = TABLE.iter().map(unit).collect();
        assert_eq!(format!("{:.3}", fleiss(&units).unwrap()), "0.210");
    }

    #[test]
    fn one_word_and_nothing_at_all() {
        let same = vec![vec![1, 1, 1], vec![1, 1]];
        assert_eq!(pairwise(&same), Some(1.0));
        assert_eq!((fleiss(&same), krippendorff(&same, nominal)), (None, None));
        let alone = vec![vec![0], vec![]];
        assert_eq!((pairwise(&alone), fleiss(&alone)), (None, None));
        let perfect = vec![vec![0, 0], vec![1, 1]];
        assert_eq!((fleiss(&perfect), krippendorff(&perfect, nominal)), (Some(1.0), Some(1.0)));
    }

    proptest! {
        #[test]
        fn agreement_is_never_above_one_and_the_order_of_raters_is_nothing(
            units in prop::collection::vec(prop::collection::vec(0usize..3, 0..5), 0..12)
        ) {
            let mut turned = units.clone();
            turned.iter_mut().for_each(|said| said.reverse());
            turned.reverse();
            for distance in [nominal, interval as fn(usize, usize) -> f64] {
                let (one, other) = (krippendorff(&units, distance), krippendorff(&turned, distance));
                prop_assert!(one.is_none_or(|alpha| alpha <= 1.0 + 1e-9));
                prop_assert_eq!(one.map(|a| (a * 1e6).round()), other.map(|a| (a * 1e6).round()));
            }
            prop_assert!(fleiss(&units).is_none_or(|kappa| kappa <= 1.0 + 1e-9));
            prop_assert!(pairwise(&units).is_none_or(|share| (0.0..=1.0).contains(&share)));
        }
    }
}
