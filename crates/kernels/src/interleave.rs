//! Weights in the order that decoding likes best: sixteen rows side by side.
//!
//! Sixteen rows make a group, block by block: what one row stores as a block of `n` bytes is, for
//! sixteen rows, a unit of `16 · n` bytes, the same bytes in another order. In a unit the fields
//! of a block follow each other; of each field there are lines of 64 bytes, four neighbouring
//! bytes of every row (`[row][4]`), or one line of halves (`[row][2]`). So a vector holds one row
//! a lane and nothing is ever summed across lanes. The fifth bits of Q5_0 and Q5_1 are turned, see
//! [`turn_back`]. Rows past the last whole group stay as they are in the file.

use recinto_quant::{DType, Mismatch};

/// Rows of an interleaved group.
pub const GROUP: usize = 16;

/// A field of a block: where it begins in it, and how it is laid out.
#[derive(Clone, Copy)]
enum Field {
    /// One half-precision number.
    Half(usize),
    /// So many words of four bytes.
    Words(usize, usize),
    /// One word of 32 bits, one for each of 32 columns.
    Bits(usize),
}

use Field::{Bits, Half, Words};

/// The fields of a unit, in their order; `None`: the type keeps the file's order.
fn fields(dtype: DType) -> Option<&'static [Field]> {
    Some(match dtype {
        DType::Q4_0 => &[Half(0), Words(2, 4)],
        DType::Q4_1 => &[Half(0), Half(2), Words(4, 4)],
        DType::Q5_0 => &[Half(0), Bits(2), Words(6, 4)],
        DType::Q5_1 => &[Half(0), Half(2), Bits(4), Words(8, 4)],
        DType::Q8_0 => &[Half(0), Words(2, 8)],
        DType::Q4K => &[Half(0), Half(2), Words(4, 3), Words(16, 32)],
        DType::Q5K => &[Half(0), Half(2), Words(4, 3), Words(16, 8), Words(48, 32)],
        DType::Q6K => &[Half(208), Words(192, 4), Words(128, 16), Words(0, 32)],
        _ => return None,
    })
}

/// Whether weights of `dtype` have an interleaved order.
pub fn interleaves(dtype: DType) -> bool {
    fields(dtype).is_some()
}

/// Column `4k + c` is bit `4k + c` in the file and bit `k` of byte `c` here, so that one shift
/// serves a line of four columns. This gives the file's order back.
fn turn_back(bits: u32) -> u32 {
    let mut turned = 0;
    for i in 0..32 {
        turned |= (bits >> (8 * (i % 4) + i / 4) & 1) << i;
    }
    turned
}

/// The reverse of [`turn_back`] for each byte at each of its four places.
static TURNED: [[u32; 256]; 4] = {
    let mut table = [[0; 256]; 4];
    let mut place = 0;
    while place < 4 {
        let mut byte = 0;
        while byte < 256 {
            let mut i = 0;
            while i < 8 {
                let column = 8 * place + i;
                let bit = (byte as u32 >> i) & 1;
                table[place][byte] |= bit << (8 * (column % 4) + column / 4);
                i += 1;
            }
            byte += 1;
        }
        place += 1;
    }
    table
};

/// Writes `rows` rows of `cols` values of `dtype`, as they are in a file, to `to` in interleaved
/// order. Both have the same length.
pub fn interleave(
    dtype: DType,
    rows: usize,
    cols: usize,
    from: &[u8],
    to: &mut [u8],
) -> Result<(), Mismatch> {
    let fields = fields(dtype).ok_or(Mismatch)?;
    let stride = dtype.bytes_for(cols as u64).ok_or(Mismatch)? as usize;
    if stride == 0 || stride.checked_mul(rows) != Some(from.len()) || from.len() != to.len() {
        return Err(Mismatch);
    }
    let bytes = dtype.layout().bytes;
    let whole = rows / GROUP * GROUP * stride;
    let (groups, rest) = from.split_at(whole);
    let (to_groups, to_rest) = to.split_at_mut(whole);
    to_rest.copy_from_slice(rest);
    let sizes = GROUP * stride;
    for (group, to) in groups.chunks_exact(sizes).zip(to_groups.chunks_exact_mut(sizes)) {
        for (b, unit) in to.chunks_exact_mut(GROUP * bytes).enumerate() {
            for r in 0..GROUP {
                let block = &group[r * stride + b * bytes..][..bytes];
                put_block(fields, block, unit, r);
            }
        }
    }
    Ok(())
}

/// Puts the block of row `r` into its unit.
fn put_block(fields: &[Field], block: &[u8], unit: &mut [u8], r: usize) {
    let mut at = 0;
    for field in fields {
        match *field {
            Half(from) => {
                unit[at + 2 * r..][..2].copy_from_slice(&block[from..from + 2]);
                at += 2 * GROUP;
            }
            Words(from, count) => {
                let words = block[from..from + 4 * count].as_chunks::<4>().0;
                let lines = unit[at..at + 4 * GROUP * count].as_chunks_mut::<{ 4 * GROUP }>().0;
                for (line, word) in lines.iter_mut().zip(words) {
                    line[4 * r..4 * r + 4].copy_from_slice(word);
                }
                at += 4 * GROUP * count;
            }
            Bits(from) => {
                let mut word = 0;
                for (table, byte) in TURNED.iter().zip(&block[from..from + 4]) {
                    word |= table[*byte as usize];
                }
                unit[at + 4 * r..][..4].copy_from_slice(&word.to_le_bytes());
                at += 4 * GROUP;
            }
        }
    }
}

/// Takes the block of row `r` out of its unit.
fn take_block(fields: &[Field], unit: &[u8], block: &mut [u8], r: usize) {
    let mut at = 0;
    for field in fields {
        match *field {
            Half(to) => {
                block[to..to + 2].copy_from_slice(&unit[at + 2 * r..][..2]);
                at += 2 * GROUP;
            }
            Words(to, count) => {
                for i in 0..count {
                    let word = &unit[at + 4 * GROUP * i + 4 * r..][..4];
                    block[to + 4 * i..][..4].copy_from_slice(word);
                }
                at += 4 * GROUP * count;
            }
            Bits(to) => {
                let word = unit[at + 4 * r..].first_chunk().expect("a word of the unit");
                let word = turn_back(u32::from_le_bytes(*word));
                block[to..to + 4].copy_from_slice(&word.to_le_bytes());
                at += 4 * GROUP;
            }
        }
    }
}

/// Writes row `r` of an interleaved group as it is in a file.
pub(crate) fn take_row(dtype: DType, group: &[u8], r: usize, to: &mut [u8]) {
    let fields = fields(dtype).expect("a type that interleaves");
    let bytes = dtype.layout().bytes;
    for (unit, block) in group.chunks_exact(GROUP * bytes).zip(to.chunks_exact_mut(bytes)) {
        take_block(fields, unit, block, r);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_has_the_bytes_of_its_blocks_and_gives_them_back() {
        for row in recinto_quant::LAYOUTS {
            let Some(fields) = fields(row.dtype) else { continue };
            let all: usize = fields
                .iter()
                .map(|field| match field {
                    Half(_) => 2,
                    Words(_, count) => 4 * count,
                    Bits(_) => 4,
                })
                .sum();
            assert_eq!(all, row.bytes, "{}", row.name);
            let (rows, cols) = (35, 3 * row.values);
            let stride = 3 * row.bytes;
            let from: Vec<u8> = (0..rows * stride).map(|i| (i * 131 + i / 251) as u8).collect();
            let mut to = vec![0; from.len()];
            interleave(row.dtype, rows, cols, &from, &mut to).unwrap();
            for r in 0..32 {
                let group = &to[r / GROUP * GROUP * stride..][..GROUP * stride];
                let mut back = vec![0; stride];
                take_row(row.dtype, group, r % GROUP, &mut back);
                assert_eq!(back, from[r * stride..][..stride], "{} row {r}", row.name);
            }
            assert_eq!(to[32 * stride..], from[32 * stride..], "{}: rows left over", row.name);
        }
    }

    #[test]
    fn turned_bits_turn_back() {
        for bits in [0, 1, u32::MAX, 0x8000_0001, 0x1234_5678, 0xdead_beef] {
            let bytes = u32::to_le_bytes(bits);
            let turned = TURNED.iter().zip(bytes).fold(0, |all, (t, b)| all | t[b as usize]);
            assert_eq!(turn_back(turned), bits);
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let cases: [(&str, DType, usize, usize, usize, usize); 4] = [
            ("a type without the order", DType::F16, 16, 32, 1024, 1024),
            ("a broken block", DType::Q4_0, 16, 33, 288, 288),
            ("too few bytes", DType::Q4_0, 16, 32, 287, 288),
            ("two lengths", DType::Q4_0, 16, 32, 288, 289),
        ];
        for (name, dtype, rows, cols, from, to) in cases {
            let (from, mut to) = (vec![0; from], vec![0; to]);
            assert!(interleave(dtype, rows, cols, &from, &mut to).is_err(), "{name}");
        }
    }
}
