//! Rows as they lie in the file against one position, once for every level: the loops and the
//! float steps are here, numbers and integer sums in the module that expands this.
//!
//! Four blocks of a row are worked on at a time: the four accumulators of the contract are the
//! lanes of one vector, and what is left over goes to lanes one by one.

/// How far ahead of the block in hand memory is asked for.
pub(super) const AHEAD: usize = 1024;

/// Declares products of rows. Closures take a block, its activations (and, of 256, their sums).
macro_rules! row_dots {
    // 32-blocks: bytes of a block, its eight partial sums, how those of four blocks are summed,
    // log2 of the numbers' offset, what gives the scales of four blocks and of one, where a
    // minimum stands.
    ($features:literal, 32: $(
        $name:ident = $bytes:literal, $product:expr, $fold:ident, $offset:expr,
        [$scales:ident, $scale:ident], $minimum:expr;
    )*) => {$(
        #[target_feature(enable = $features)]
        pub(super) fn $name(rows: &[u8], stride: usize, a: &Acts<'_>, out: &mut [f32]) {
            const OFFSET: Option<u32> = $offset;
            const MINIMUM: Option<usize> = $minimum;
            let (q4s, q_rest) = a.q.as_chunks::<32>().0.as_chunks::<4>();
            let (d4s, d_rest) = a.d.as_chunks::<4>();
            let (s4s, s_rest) = a.s.as_chunks::<4>();
            for r in 0..out.len() {
                let (row, out) = (&rows[r * stride..][..stride], &mut out[r]);
                let (fours, rest) = row.as_chunks::<$bytes>().0.as_chunks::<4>();
                let mut acc = _mm_setzero_ps();
                // By index: the library's zip is not inlined here.
                for b in 0..fours.len() {
                    let (blocks, q, d, s) = (&fours[b], &q4s[b], &d4s[b], &s4s[b]);
                    ahead(&blocks[0], AHEAD);
                    let of = |i: usize| $product(&blocks[i], &q[i]);
                    let mut isum = $fold([of(0), of(1), of(2), of(3)]);
                    let (d, s) = (load4(d), load4_i32(s));
                    if let Some(offset) = OFFSET {
                        let by = _mm_cvtsi32_si128(offset as i32);
                        isum = _mm_sub_epi32(isum, _mm_sll_epi32(s, by));
                    }
                    let scale = _mm_mul_ps($scales(blocks, 0), d);
                    acc = _mm_fmadd_ps(_mm_cvtepi32_ps(isum), scale, acc);
                    if let Some(at) = MINIMUM {
                        let scale = _mm_mul_ps($scales(blocks, at), d);
                        acc = _mm_fmadd_ps(_mm_cvtepi32_ps(s), scale, acc);
                    }
                }
                let mut acc = array4(acc);
                for (i, block) in rest.iter().enumerate() {
                    let mut isum = sum($product(block, &q_rest[i]));
                    if let Some(offset) = OFFSET {
                        isum -= s_rest[i] << offset;
                    }
                    acc[i] = (isum as f32).mul_add($scale(block, 0) * d_rest[i], acc[i]);
                    if let Some(at) = MINIMUM {
                        let scale = $scale(block, at) * d_rest[i];
                        acc[i] = (s_rest[i] as f32).mul_add(scale, acc[i]);
                    }
                }
                *out = (acc[0] + acc[1]) + (acc[2] + acc[3]);
            }
        }
    )*};
    // 256-blocks: bytes of a block, lines of memory to ask for, its eight partial sums, what
    // gives the scales of four blocks and of one, where a scale stands; where there are minima,
    // their four partial sums and where theirs stands. The sums are written at one place only,
    // so that the compiler puts them there, however long they are.
    ($features:literal, 256: $(
        $name:ident = $bytes:literal, $lines:literal, $sums:expr, [$halves:ident, $half:ident],
        $at:literal $(, less $minima:expr, $minimum:literal)?;
    )*) => {$(
        #[target_feature(enable = $features)]
        pub(super) fn $name(rows: &[u8], stride: usize, a: &Acts<'_>, out: &mut [f32]) {
            let count = stride / $bytes;
            let (q, d) = (&a.q.as_chunks::<256>().0[..count], &a.d[..count]);
            let s = &a.sums.as_chunks::<SUMS>().0[..count];
            for r in 0..out.len() {
                let blocks = &rows[r * stride..][..stride].as_chunks::<$bytes>().0[..count];
                let mut acc = _mm_setzero_ps();
                // Of numbers, of minima.
                let mut parts = ([_mm256_setzero_si256(); 4], [_mm_setzero_si128(); 4]);
                for b in 0..count {
                    let (block, i) = (&blocks[b], b % 4);
                    for line in 0..$lines {
                        ahead(block, AHEAD + 64 * line);
                    }
                    parts.0[i] = $sums(block, &q[b], &s[b]);
                    $(parts.1[i] = $minima(block, &s[b]);)?
                    if i == 3 {
                        let blocks = blocks[b - 3..].first_chunk().expect("four blocks");
                        let d = load4(d[b - 3..].first_chunk().expect("four blocks"));
                        let scale = _mm_mul_ps($halves(blocks, $at), d);
                        acc = _mm_fmadd_ps(_mm_cvtepi32_ps(sums(parts.0)), scale, acc);
                        $(
                            let scale = _mm_mul_ps($halves(blocks, $minimum), d);
                            acc = _mm_fnmadd_ps(_mm_cvtepi32_ps(sums4(parts.1)), scale, acc);
                        )?
                    }
                }
                let (mut acc, whole) = (array4(acc), count - count % 4);
                for i in 0..count - whole {
                    let (block, d) = (&blocks[whole + i], d[whole + i]);
                    acc[i] = (sum(parts.0[i]) as f32).mul_add($half(block, $at) * d, acc[i]);
                    $(
                        let msum = -(sum4(parts.1[i]) as f32);
                        acc[i] = msum.mul_add($half(block, $minimum) * d, acc[i]);
                    )?
                }
                out[r] = (acc[0] + acc[1]) + (acc[2] + acc[3]);
            }
        }
    )*};
}
pub(super) use row_dots;
