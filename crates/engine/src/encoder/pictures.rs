//! Still pictures: decoded from JPEG, PNG or WebP, and resized exactly as Pillow does, with which the
//! published models were trained.

use std::io::Cursor;

use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder, ImageReader, Limits};

use crate::media::frames::Filter;

/// Larger pictures are broken or hostile.
const MAX_SIDE: u32 = 30_000;
/// Memory for decoding one picture.
const MAX_BYTES: u64 = 1 << 30;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Never 0, as is the height.
    pub width: u32,
    pub height: u32,
    /// Rows of red, green, blue, one byte each.
    pub rgb: Vec<u8>,
}

#[derive(Debug, thiserror::Error)]
pub enum PictureError {
    #[error("not a readable picture ({0}); JPEG, PNG and WebP are read")]
    Unreadable(#[from] image::ImageError),
    #[error("not a picture of a known kind; JPEG, PNG and WebP are read")]
    Unknown,
    #[error("{bytes} bytes do not make a picture of {width} x {height}")]
    WrongLength { bytes: usize, width: u32, height: u32 },
}

impl Picture {
    pub fn new(width: u32, height: u32, rgb: Vec<u8>) -> Result<Self, PictureError> {
        let fills = rgb.len() as u64 == 3 * u64::from(width) * u64::from(height);
        match fills && width > 0 && height > 0 {
            true => Ok(Self { width, height, rgb }),
            false => Err(PictureError::WrongLength { bytes: rgb.len(), width, height }),
        }
    }

    /// Reads a JPEG, PNG or WebP, recognised by its bytes. The EXIF orientation is applied,
    /// transparency dropped.
    pub fn decode(bytes: &[u8]) -> Result<Self, PictureError> {
        let mut reader = ImageReader::new(Cursor::new(bytes))
            .with_guessed_format()
            .map_err(image::ImageError::IoError)?;
        if reader.format().is_none() {
            return Err(PictureError::Unknown);
        }
        let mut limits = Limits::default();
        limits.max_image_width = Some(MAX_SIDE);
        limits.max_image_height = Some(MAX_SIDE);
        limits.max_alloc = Some(MAX_BYTES);
        reader.limits(limits);
        let mut decoder = reader.into_decoder()?;
        // Broken EXIF data is no reason to refuse the picture.
        let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
        let mut picture = DynamicImage::from_decoder(decoder)?;
        picture.apply_orientation(orientation);
        let rgb = picture.into_rgb8();
        Self::new(rgb.width(), rgb.height(), rgb.into_raw())
    }

    pub fn resized(&self, width: u32, height: u32, filter: Filter) -> Self {
        // Each pass rounds, so their order matters. This is when Pillow 13 resizes the height first;
        // older versions never do.
        let (less_wide, less_high) =
            (i64::from(self.width) - i64::from(width), i64::from(self.height) - i64::from(height));
        match less_high > 0 && less_high > 2 * less_wide {
            true => self.with_height(height, filter).with_width(width, filter),
            false => self.with_width(width, filter).with_height(height, filter),
        }
    }

    /// The middle of the picture at the size at which it covers this one.
    pub fn cropped(&self, width: u32, height: u32, filter: Filter) -> Self {
        let strip = strip(self, width, height);
        let picture = strip.as_ref().unwrap_or(self);
        let (wide, high) = covering(picture, width, height);
        picture.resized(wide, high, filter).middle(width, height)
    }

    fn with_width(&self, width: u32, filter: Filter) -> Self {
        if width == self.width {
            return self.clone();
        }
        let rgb = resize_rows(&self.rgb, self.width, &kernel(self.width, width, filter));
        Self { width, height: self.height, rgb }
    }

    fn with_height(&self, height: u32, filter: Filter) -> Self {
        if height == self.height {
            return self.clone();
        }
        let rgb = resize_columns(&self.rgb, self.width, &kernel(self.height, height, filter));
        Self { width: self.width, height, rgb }
    }

    pub fn mirrored(&self) -> Self {
        let mut rgb = Vec::with_capacity(self.rgb.len());
        for row in self.rgb.chunks_exact(3 * self.width as usize) {
            row.chunks_exact(3).rev().for_each(|pixel| rgb.extend_from_slice(pixel));
        }
        Self { rgb, ..*self }
    }

    /// `width` and `height` are at most the picture's.
    fn middle(&self, width: u32, height: u32) -> Self {
        self.part((self.width - width) / 2, (self.height - height) / 2, width, height)
    }

    /// A rectangle inside the picture.
    pub fn part(&self, left: u32, top: u32, width: u32, height: u32) -> Self {
        let (left, top) = (left as usize, top as usize);
        let row = |y: usize| {
            let start = 3 * ((top + y) * self.width as usize + left);
            &self.rgb[start..start + 3 * width as usize]
        };
        let rgb = (0..height as usize).flat_map(row).copied().collect();
        Self { width, height, rgb }
    }
}

/// The filter's weights for each pixel of a resized line: the first pixel of the given line, and the
/// weights from there on. They are multiples of 2^-22 and each pass rounds to bytes, as in Pillow.
type Kernel = Vec<(usize, Vec<i32>)>;

/// Fractional bits of a weight.
const BITS: u32 = 22;

fn kernel(from: u32, to: u32, filter: Filter) -> Kernel {
    let scale = f64::from(from) / f64::from(to);
    // A reduction widens the filter, so that every pixel counts.
    let wide = scale.max(1.0);
    let support = filter.support() * wide;
    let at = |pixel: u32| {
        let centre = (f64::from(pixel) + 0.5) * scale;
        let first = (centre - support + 0.5).max(0.0) as usize;
        let end = ((centre + support + 0.5) as usize).min(from as usize);
        let weight = |x: usize| filter.weight((x as f64 - centre + 0.5) * (1.0 / wide));
        let weights: Vec<f64> = (first..end).map(weight).collect();
        let sum: f64 = weights.iter().sum();
        let fixed = |weight: &f64| (weight / sum * f64::from(1 << BITS)).round() as i32;
        (first, weights.iter().map(fixed).collect())
    };
    (0..to).map(at).collect()
}

impl Filter {
    fn support(self) -> f64 {
        match self {
            Self::Bilinear => 1.0,
            Self::Bicubic => 2.0,
        }
    }

    /// At this distance; the cubic has a = -1/2.
    fn weight(self, distance: f64) -> f64 {
        let x = distance.abs();
        match self {
            Self::Bilinear => (1.0 - x).max(0.0),
            Self::Bicubic if x < 1.0 => (1.5 * x - 2.5) * x * x + 1.0,
            Self::Bicubic if x < 2.0 => ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0,
            Self::Bicubic => 0.0,
        }
    }
}

fn rounded(sum: i32) -> u8 {
    (sum >> BITS).clamp(0, 255) as u8
}

fn resize_rows(rgb: &[u8], width: u32, kernel: &Kernel) -> Vec<u8> {
    let mut out = Vec::with_capacity(rgb.len() / width as usize * kernel.len());
    for row in rgb.chunks_exact(3 * width as usize) {
        for (first, weights) in kernel {
            let mut sums = [1 << (BITS - 1); 3];
            for (pixel, weight) in row[3 * first..].as_chunks::<3>().0.iter().zip(weights) {
                (0..3).for_each(|c| sums[c] += i32::from(pixel[c]) * weight);
            }
            out.extend(sums.map(rounded));
        }
    }
    out
}

fn resize_columns(rgb: &[u8], width: u32, kernel: &Kernel) -> Vec<u8> {
    let line = 3 * width as usize;
    let mut out = Vec::with_capacity(line * kernel.len());
    let mut sums = vec![0; line];
    for (first, weights) in kernel {
        sums.fill(1 << (BITS - 1));
        for (row, weight) in rgb[line * first..].chunks_exact(line).zip(weights) {
            sums.iter_mut().zip(row).for_each(|(sum, byte)| *sum += i32::from(*byte) * weight);
        }
        out.extend(sums.iter().map(|sum| rounded(*sum)));
    }
    out
}

/// The middle of a picture that is hundreds of times as long as wide, which would be enlarged to
/// gigabytes before it is cropped; none for any other.
fn strip(picture: &Picture, width: u32, height: u32) -> Option<Picture> {
    let (w, h) = (picture.width, picture.height);
    let most = |side: u32, to: u32, of: u32| {
        let most = (100 * u64::from(side) * u64::from(to)).div_ceil(u64::from(of.max(1)));
        u32::try_from(most).unwrap_or(u32::MAX).max(1)
    };
    let (wide, high) = (w.min(most(h, width, height)), h.min(most(w, height, width)));
    ((wide, high) != (w, h)).then(|| picture.middle(wide, high))
}

/// The smallest size of the picture's aspect ratio that covers this one, rounded down on the longer
/// side as by Hugging Face's image processors.
fn covering(picture: &Picture, width: u32, height: u32) -> (u32, u32) {
    let (w, h) = (u64::from(picture.width), u64::from(picture.height));
    let (width, height) = (u64::from(width), u64::from(height));
    let (wide, high) = match w * height <= h * width {
        true => (width, (width * h / w).max(height)),
        false => ((height * w / h).max(width), height),
    };
    (wide.min(u64::from(u32::MAX)) as u32, high.min(u64::from(u32::MAX)) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grey(width: u32, height: u32) -> Picture {
        Picture::new(width, height, vec![128; 3 * (width * height) as usize]).unwrap()
    }

    #[test]
    fn a_mirror_turns_rows_and_keeps_pixels() {
        let picture = Picture::new(2, 2, (0..12).collect()).unwrap();
        assert_eq!(picture.mirrored().rgb, [3, 4, 5, 0, 1, 2, 9, 10, 11, 6, 7, 8]);
        assert_eq!(picture.mirrored().mirrored(), picture);
    }

    #[test]
    fn what_covers_is_as_hugging_face_rounds_it() {
        // int(224 * long / short)
        let sizes = [
            ((640, 480), (298, 224)),
            ((480, 640), (224, 298)),
            ((451, 256), (394, 224)),
            ((224, 224), (224, 224)),
            ((1, 1000), (224, 224_000)),
            ((225, 224), (225, 224)),
        ];
        for ((w, h), expected) in sizes {
            let picture = Picture { width: w, height: h, rgb: Vec::new() };
            assert_eq!(covering(&picture, 224, 224), expected, "{w} x {h}");
        }
    }

    #[test]
    fn every_shape_is_prepared() {
        for (width, height) in [(1, 1), (7, 300), (300, 7), (33, 32), (1, 30_000), (9000, 1)] {
            let picture = grey(width, height);
            for prepared in [Picture::resized, Picture::cropped] {
                let prepared = prepared(&picture, 32, 24, Filter::Bicubic);
                assert_eq!(prepared, grey(32, 24), "{width} x {height}");
            }
        }
    }

    #[test]
    fn what_is_no_picture_is_told() {
        for bytes in [&b""[..], b"GIF89a", b"\x89PNG\r\n\x1a\nrest", &[0xff, 0xd8, 0xff, 0xe0, 0]] {
            let error = Picture::decode(bytes).unwrap_err().to_string();
            assert!(error.contains("JPEG, PNG and WebP are read"), "{error}");
        }
        assert!(Picture::new(2, 2, vec![0; 11]).is_err());
        assert!(Picture::new(0, 2, vec![]).is_err());
    }
}
