//! Disjoint parts of one output for the tiles of a region: the one place where several threads
//! write into one slice.
//!
//! An output is a table of `n` positions, each `width` values. A tile is a rectangle of it, and
//! the tiles of a grid never overlap because they are counted off, not given by the caller.

use std::marker::PhantomData;
use std::ops::Range;

use crate::pool::Pool;

/// An output and how it is cut.
pub(crate) struct Grid<'a, T = f32> {
    out: *mut T,
    width: usize,
    n: usize,
    tile: (usize, usize),
    borrow: PhantomData<&'a mut [T]>,
}

// SAFETY: a shared grid hands out rectangles only through `cut`, see there.
unsafe impl<T: Send> Sync for Grid<'_, T> {}

impl<'a, T> Grid<'a, T> {
    /// Cuts `out` (positions of `width` values) in tiles of `columns` by `positions`.
    pub fn new(out: &'a mut [T], width: usize, columns: usize, positions: usize) -> Grid<'a, T> {
        let n = out.len().checked_div(width).unwrap_or(0);
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
    unsafe fn cut(&self, index: usize) -> Part<'_, T> {
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

impl<T> Grid<'_, T> {
    /// All columns of one position.
    ///
    /// # Safety
    /// No two borrows of one position may live at the same time.
    #[allow(clippy::mut_from_ref)]
    unsafe fn row(&self, position: usize) -> &mut [T] {
        assert!(position < self.n);
        // SAFETY: inside the output; the caller keeps borrows of a position apart.
        unsafe { std::slice::from_raw_parts_mut(self.out.add(position * self.width), self.width) }
    }
}

/// A rectangle of an output.
pub(crate) struct Part<'a, T = f32> {
    out: *mut T,
    width: usize,
    /// Columns of the output.
    pub columns: Range<usize>,
    /// Positions of the output.
    pub positions: Range<usize>,
    borrow: PhantomData<&'a mut [T]>,
}

impl<T> Part<'_, T> {
    /// This part's columns of one position.
    pub fn at(&mut self, position: usize) -> &mut [T] {
        assert!(self.positions.contains(&position));
        let start = position * self.width + self.columns.start;
        // SAFETY: inside the output, for the part lies in it and the position in the part; no
        // other part has these values, and `&mut self` keeps this one from lending them twice.
        unsafe { std::slice::from_raw_parts_mut(self.out.add(start), self.columns.len()) }
    }
}

/// Runs all tiles of all `grids` in one region: `task(thread, grid, part)`.
pub(crate) fn run(pool: &Pool, grids: &[Grid<'_>], task: &(dyn Fn(usize, usize, Part<'_>) + Sync)) {
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

/// What is done with one position of three tables.
type Task3<'a, A, B, C> = dyn Fn(usize, &mut [A], &mut [B], &mut [C]) + Sync + 'a;

/// Runs `task(position, a, b, c)` for every position of three tables at once, `many` positions a
/// tile; a table may be empty, and its part is then empty too.
pub(crate) fn positions<A: Send, B: Send, C: Send>(
    pool: &Pool,
    n: usize,
    many: usize,
    (a, b, c): (&mut [A], &mut [B], &mut [C]),
    task: &Task3<'_, A, B, C>,
) {
    fn whole<T>(x: &mut [T], n: usize, many: usize) -> Grid<'_, T> {
        let width = x.len() / n;
        assert_eq!(width * n, x.len());
        // Not `new`: a table without columns has positions here.
        let tile = (width.max(1), many);
        Grid { out: x.as_mut_ptr(), width, n, tile, borrow: PhantomData }
    }
    if n == 0 {
        return;
    }
    let (a, b, c) = (whole(a, n, many), whole(b, n, many), whole(c, n, many));
    pool.run_with(n.div_ceil(many), &|_, tile| {
        for position in tile * many..n.min((tile + 1) * many) {
            // SAFETY: a region runs every tile once, and no two tiles have a position in common.
            let (a, b, c) = unsafe { (a.row(position), b.row(position), c.row(position)) };
            task(position, a, b, c);
        }
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
