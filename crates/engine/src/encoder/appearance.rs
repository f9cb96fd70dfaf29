//! Appearance: what a picture looks like in a few numbers, by which two clips are told to be of one place.
//! Features for texts are trained to forget that.

use stitch_core::features::Features;
use stitch_core::random::SplitMix64;

/// The length of a row.
pub const DIM: usize = 128;

/// The appearance of an encoder that tells no more than its features: these themselves in [`DIM`] numbers, with
/// zeros behind shorter ones. Longer ones go through a subsampled randomised Hadamard transform, an orthogonal
/// projection that keeps cosines on average and is the same for every library.
pub fn reduced(features: &Features) -> Features {
    let mut out = Features::empty(DIM);
    let length = features.dim().next_power_of_two();
    let mut random = SplitMix64::new(features.dim() as u64);
    let signs: Vec<f32> =
        (0..length).map(|_| if random.chance(0.5) { 1.0 } else { -1.0 }).collect();
    let mut columns: Vec<usize> = (0..length).collect();
    random.shuffle(&mut columns);
    for row in features.rows() {
        let mut all = row.to_vec();
        all.resize(length.max(DIM), 0.0);
        if features.dim() > DIM {
            all.iter_mut().zip(&signs).for_each(|(x, sign)| *x *= sign);
            hadamard(&mut all);
            all = columns[..DIM].iter().map(|column| all[*column]).collect();
        }
        out.push(&all);
    }
    out
}

/// The Walsh-Hadamard transform, without its scale, of a power of two of numbers.
fn hadamard(row: &mut [f32]) {
    let mut half = 1;
    while half < row.len() {
        for block in row.chunks_exact_mut(2 * half) {
            let (low, high) = block.split_at_mut(half);
            for (a, b) in low.iter_mut().zip(high) {
                (*a, *b) = (*a + *b, *a - *b);
            }
        }
        half *= 2;
    }
}

#[cfg(test)]
mod tests {
    use stitch_core::features::similarity;

    use super::*;

    fn rows(dim: usize, count: usize) -> Features {
        let mut random = SplitMix64::new(7);
        let data = (0..dim * count).map(|_| random.range(-1.0, 1.0)).collect();
        Features::new(dim, data).unwrap()
    }

    #[test]
    fn short_rows_stay_and_long_ones_keep_their_cosines_about() {
        let short = rows(5, 2);
        let found = reduced(&short);
        assert_eq!(found.row(1)[..5], *short.row(1));
        assert!(found.row(1)[5..].iter().all(|x| *x == 0.0));
        let long = rows(700, 40);
        let found = reduced(&long);
        assert_eq!((found.dim(), found.len()), (DIM, 40));
        assert_eq!(found, reduced(&long));
        let mixed: Vec<f32> = long.row(0).iter().zip(long.row(1)).map(|(a, b)| a + b).collect();
        let near = reduced(&Features::new(700, mixed).unwrap());
        let cosine = similarity(near.row(0), found.row(0));
        assert!((0.55..0.85).contains(&cosine), "0.71 before: {cosine}");
        let others = (1..40).map(|row| similarity(found.row(0), found.row(row)).abs());
        assert!(others.sum::<f32>() / 39.0 < 0.12);
    }

    #[test]
    fn nothing_stays_nothing() {
        for dim in [3, 128, 300] {
            let nothing = reduced(&Features::new(dim, vec![0.0; dim]).unwrap());
            assert!(nothing.row(0).iter().all(|x| *x == 0.0));
        }
    }
}
