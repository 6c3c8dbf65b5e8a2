//! A picture in memory with our own glyphs, so that nothing looks for fonts on the machine.

use std::{convert::Infallible, fmt};

use plotters::style::{
    FontTransform,
    text_anchor::{HPos, VPos},
};
use plotters_backend::{
    BackendColor, BackendCoord, BackendTextStyle, DrawingBackend, DrawingErrorKind,
};

use super::glyphs::{self, HEIGHT, WIDTH};

/// Red, green and blue of each pixel, rows from the top.
pub(super) struct Pixels {
    size: (u32, u32),
    rgb: Vec<u8>,
}

impl fmt::Debug for Pixels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} pixels", self.size)
    }
}

impl Pixels {
    pub(super) fn new(size: (u32, u32)) -> Pixels {
        Pixels { size, rgb: vec![255; size.0 as usize * size.1 as usize * 3] }
    }

    /// The picture as a PNG file.
    pub(super) fn png(&self) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        let mut encoder = png::Encoder::new(&mut out, self.size.0, self.size.1);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header().ok()?;
        writer.write_image_data(&self.rgb).ok()?;
        writer.finish().ok()?;
        Some(out)
    }
}

/// How many pixels a glyph's pixel takes, for a font size.
fn scale(size: f64) -> i32 {
    if size >= 17.0 { 2 } else { 1 }
}

/// Width and height of a line of text.
fn extent(text: &str, scale: i32) -> (i32, i32) {
    let columns = text.chars().count() as i32 * (WIDTH + 1) - 1;
    (columns.max(0) * scale, 7 * scale)
}

impl DrawingBackend for &mut Pixels {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        self.size
    }

    fn ensure_prepared(&mut self) -> Result<(), DrawingErrorKind<Infallible>> {
        Ok(())
    }

    fn present(&mut self) -> Result<(), DrawingErrorKind<Infallible>> {
        Ok(())
    }

    fn draw_pixel(
        &mut self,
        (x, y): BackendCoord,
        color: BackendColor,
    ) -> Result<(), DrawingErrorKind<Infallible>> {
        let inside = |v: i32, end: u32| u32::try_from(v).ok().filter(|v| *v < end);
        if let (Some(x), Some(y)) = (inside(x, self.size.0), inside(y, self.size.1)) {
            let at = (y as usize * self.size.0 as usize + x as usize) * 3;
            let (r, g, b) = color.rgb;
            for (old, new) in self.rgb[at..at + 3].iter_mut().zip([r, g, b]) {
                let mixed = f64::from(*old) * (1.0 - color.alpha) + f64::from(new) * color.alpha;
                *old = mixed.round() as u8;
            }
        }
        Ok(())
    }

    fn draw_text<S: BackendTextStyle>(
        &mut self,
        text: &str,
        style: &S,
        (x, y): BackendCoord,
    ) -> Result<(), DrawingErrorKind<Infallible>> {
        let scale = scale(style.size());
        let (width, height) = extent(text, scale);
        let dx = match style.anchor().h_pos {
            HPos::Left => 0,
            HPos::Center => -width / 2,
            HPos::Right => -width,
        };
        let dy = match style.anchor().v_pos {
            VPos::Top => 0,
            VPos::Center => -height / 2,
            VPos::Bottom => -height,
        };
        for (at, c) in text.chars().enumerate() {
            let left = dx + at as i32 * (WIDTH + 1) * scale;
            for (row, bits) in glyphs::glyph(c).into_iter().enumerate() {
                for column in (0..WIDTH).filter(|column| bits >> (WIDTH - 1 - column) & 1 == 1) {
                    for part in 0..scale * scale {
                        let px = left + column * scale + part % scale;
                        let py = dy + row as i32 * scale + part / scale;
                        let (px, py) = match style.transform() {
                            FontTransform::None => (px, py),
                            FontTransform::Rotate90 => (-py, px),
                            FontTransform::Rotate180 => (-px, -py),
                            FontTransform::Rotate270 => (py, -px),
                        };
                        self.draw_pixel((x + px, y + py), style.color())?;
                    }
                }
            }
        }
        Ok(())
    }

    fn estimate_text_size<S: BackendTextStyle>(
        &self,
        text: &str,
        style: &S,
    ) -> Result<(u32, u32), DrawingErrorKind<Infallible>> {
        let scale = scale(style.size());
        let (width, _) = extent(text, scale);
        Ok((width.unsigned_abs(), (HEIGHT * scale).unsigned_abs()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_reads_back() {
        let mut pixels = Pixels::new((7, 5));
        let red = BackendColor { alpha: 1.0, rgb: (255, 0, 0) };
        for at in [(6, 4), (7, 4), (0, 5), (-1, 0), (i32::MAX, i32::MIN)] {
            (&mut pixels).draw_pixel(at, red).unwrap();
        }
        let file = pixels.png().unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(file)).read_info().unwrap();
        let mut rgb = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut rgb).unwrap();
        assert_eq!((info.width, info.height), (7, 5));
        assert_eq!(rgb, pixels.rgb);
        let last = rgb.len() - 3;
        assert!(rgb[..last].iter().all(|v| *v == 255), "outside is nowhere");
        assert_eq!(rgb[last..], [255, 0, 0]);
    }
}
