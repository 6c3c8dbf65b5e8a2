//! Cosines and sines of rotary position embedding, made once a step for all layers.

use crate::all::math;

/// Which two values of a head are turned together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairs {
    /// Values `2i` and `2i + 1`.
    Adjacent,
    /// Values `i` and `i + pairs`.
    Half,
}

/// Cosines and sines for `n` positions, `n × pairs` each.
#[derive(Clone, Debug, Default)]
pub struct Angles {
    /// Positions.
    pub n: usize,
    /// Pairs of values a head turns.
    pub pairs: usize,
    /// Cosines times the magnitude, position-major.
    pub cos: Vec<f32>,
    /// Sines times the magnitude, position-major.
    pub sin: Vec<f32>,
}

impl Angles {
    /// Makes them for positions `start..start + n`: angle = position · frequency in f64, rounded
    /// to f32 once, times `magnitude` in f32. One frequency a pair, in radians a position.
    pub fn fill(&mut self, frequencies: &[f64], magnitude: f32, start: usize, n: usize) {
        self.clear(frequencies.len());
        self.add(frequencies, magnitude, start, n);
    }

    /// No position, of heads that turn `pairs` pairs.
    pub fn clear(&mut self, pairs: usize) {
        (self.n, self.pairs) = (0, pairs);
        self.cos.clear();
        self.sin.clear();
    }

    /// Adds positions `start..start + n` behind those that are there; see [`Angles::fill`].
    pub fn add(&mut self, frequencies: &[f64], magnitude: f32, start: usize, n: usize) {
        self.add_at(frequencies, magnitude, start..start + n);
    }

    /// Adds positions in any order behind those that are there; see [`Angles::fill`].
    pub fn add_at(
        &mut self,
        frequencies: &[f64],
        magnitude: f32,
        positions: impl IntoIterator<Item = usize>,
    ) {
        assert!(frequencies.len() == self.pairs, "pairs of a rope");
        for position in positions {
            self.n += 1;
            for frequency in frequencies {
                let angle = position as f64 * frequency;
                self.cos.push(math::cos(angle) as f32 * magnitude);
                self.sin.push(math::sin(angle) as f32 * magnitude);
            }
        }
    }
}
