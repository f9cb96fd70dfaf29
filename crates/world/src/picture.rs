//! A drawn picture as a PNG file.

use std::io;

use tiny_skia::Pixmap;

/// The bytes of a PNG of an opaque picture.
pub fn png(picture: &Pixmap, care: png::Compression) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, picture.width(), picture.height());
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(care);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&rgb(picture))?;
    writer.finish()?;
    Ok(bytes)
}

/// The colours alone. The pictures are opaque, so there is nothing to divide out.
fn rgb(picture: &Pixmap) -> Vec<u8> {
    picture.data().chunks_exact(4).flat_map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect()
}
