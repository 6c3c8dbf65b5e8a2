//! Disjoint parts of one output for the tiles of a region: the one place where several threads
//! write into one slice.
//!
//! An output is a table of `n` positions, each `width` values. A tile is a rectangle of it, and
//! the tiles of a grid never overlap because they are counted off, not given by the caller.

use std::marker::PhantomData;
use std::ops::Range;

use crate::pool::Pool;

/// An output and how it is cut.
pub(crate) struct Grid<'a> {
    out: *mut f32,
    width: usize,
    n: usize,
    tile: (usize, usize),
    borrow: PhantomData<&'a mut [f32]>,
}

// SAFETY: a shared grid hands out rectangles only through `cut`, see there.
unsafe impl Sync for Grid<'_> {}

impl<'a> Grid<'a> {
    /// Cuts `out` (positions of `width` values) in tiles of `columns` by `positions`.
    pub fn new(out: &'a mut [f32], width: usize, columns: usize, positions: usize) -> Grid<'a> {
        let n = if width == 0 { 0 } else { out.len() / width };
        assert!(n * width == out.len() && columns > 0 && positions > 0);
        let tile = (columns, positions);
        Grid { out: out.as_mut_ptr(), width, n, tile, borrow: PhantomData }
    }

    /// Number of tiles.
    pub fn tiles(&self) -> usize {
        self.width.div_ceil(self.tile.0) * self.n.div_ceil(self.tile.1)
    }

    /// The rectangle of tile `index`.
    ///
    /// # Safety
    /// No two cuts of one index may live at the same time.
    unsafe fn cut(&self, index: usize) -> Part<'_> {
        assert!(index < self.tiles());
        let across = self.width.div_ceil(self.tile.0);
        let (column, position) = (index % across * self.tile.0, index / across * self.tile.1);
        Part {
            out: self.out,
            width: self.width,
            columns: column..self.width.min(column + self.tile.0),
            positions: position..self.n.min(position + self.tile.1),
            borrow: PhantomData,
        }
    }
}

/// A rectangle of an output.
pub(crate) struct Part<'a> {
    out: *mut f32,
    width: usize,
    /// Columns of the output.
    pub columns: Range<usize>,
    /// Positions of the output.
    pub positions: Range<usize>,
    borrow: PhantomData<&'a mut [f32]>,
}

impl Part<'_> {
    /// This part's columns of one position.
    pub fn at(&mut self, position: usize) -> &mut [f32] {
        assert!(self.positions.contains(&position));
        let start = position * self.width + self.columns.start;
        // SAFETY: inside the output, for the part lies in it and the position in the part; no
        // other part has these values, and `&mut self` keeps this one from lending them twice.
        unsafe { std::slice::from_raw_parts_mut(self.out.add(start), self.columns.len()) }
    }
}

/// Runs all tiles of all `grids` in one region: `task(thread, grid, part)`.
pub(crate) fn run(
    pool: &Pool,
    grids: &[Grid<'_>],
    task: &(dyn Fn(usize, usize, Part<'_>) + Sync),
) {
    let tiles = grids.iter().map(Grid::tiles).sum();
    pool.run_with(tiles, &|thread, tile| {
        let (mut grid, mut index) = (0, tile);
        while index >= grids[grid].tiles() {
            index -= grids[grid].tiles();
            grid += 1;
        }
        // SAFETY: a region runs every tile once, and every tile is another index of some grid.
        let part = unsafe { grids[grid].cut(index) };
        task(thread, grid, part);
    });
}

/// Runs `task(thread, index, chunk)` on chunks of `size` values, the last may be shorter.
pub(crate) fn chunks(
    pool: &Pool,
    data: &mut [f32],
    size: usize,
    task: &(dyn Fn(usize, usize, &mut [f32]) + Sync),
) {
    if data.is_empty() {
        return;
    }
    let len = data.len();
    let grid = Grid::new(data, len, size, 1);
    run(pool, &[grid], &|thread, _, mut part| {
        let index = part.columns.start / size;
        task(thread, index, part.at(0));
    });
}
