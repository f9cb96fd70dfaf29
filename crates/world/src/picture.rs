//! Drawn pictures as PNG files.

use std::io;

use tiny_skia::Pixmap;

/// The bytes of a PNG of an opaque picture: premultiplied colours are the colours themselves.
pub fn png(picture: &Pixmap, compression: png::Compression) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, picture.width(), picture.height());
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(compression);
    let mut writer = encoder.write_header()?;
    let pixels = picture.data().chunks_exact(4);
    let rgb: Vec<u8> = pixels.flat_map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect();
    writer.write_image_data(&rgb)?;
    writer.finish()?;
    Ok(bytes)
}
