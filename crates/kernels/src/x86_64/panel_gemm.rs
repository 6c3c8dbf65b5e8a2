//! Products of a panel with many positions, once for every level that has sixteen rows in one
//! `Int`: the loops are here, a level's instructions in the module that expands this.
//!
//! The module says what `Int` and `Real` are (sixteen integers, sixteen floats), adds up products
//! (`products`, `scaled_products`, `pairs`, `offset`) and says by which power of two its signed
//! numbers are raised (`RAISED`; 0: they are not). All of it is exact, so that
//! only the float steps at the end of a block have an order, and that order is written here.

/// Declares matrix products: a panel is made of sixteen rows, then used for all positions, `$many`
/// of them at a time, then four, then one by one. `$lines`: lines of a block; `$positions`, with
/// the parameters after how many, computes some of them.
macro_rules! panel_products {
    ($features:literal, $many:literal, $positions:ident: $(
        $name:ident = $panel:path, $lines:expr, <$($kind:tt),*>;
    )*) => {$(
        #[target_feature(enable = $features)]
        pub(in crate::x86_64) fn $name(
            rows: &[u8],
            stride: usize,
            a: &Acts<'_>,
            work: &mut Work,
            out: &mut [f32],
        ) {
            if rows.is_empty() {
                return;
            }
            let lines = work.panel.take(a.blocks * $lines);
            $panel(rows, stride, lines);
            let (out, mut p) = (out.as_chunks_mut::<TILE>().0, 0);
            while p + $many <= a.n {
                $positions::<$many, $($kind),*>(lines, a, p, &mut out[p..]);
                p += $many;
            }
            while p + 4 <= a.n {
                $positions::<4, $($kind),*>(lines, a, p, &mut out[p..]);
                p += 4;
            }
            while p < a.n {
                $positions::<1, $($kind),*>(lines, a, p, &mut out[p..]);
                p += 1;
            }
        }
    )*};
}
pub(super) use panel_products;

/// Declares the matrix products of the quantized types. `$many`: positions that share what is
/// loaded of the panel.
macro_rules! panel_gemms {
    ($features:literal, $many:literal) => {
        /// `P` positions of 32-blocks. `STEPS`: steps of four values whose products are added in
        /// 16 bits, where a level does so; `OFFSET`: log2 of what the numbers are offset by, or
        /// −1; `SIGNED`: they are signed bytes; `MINIMUM`: there is one.
        #[inline]
        #[target_feature(enable = $features)]
        fn positions32<
            const P: usize,
            const STEPS: usize,
            const OFFSET: i32,
            const SIGNED: bool,
            const MINIMUM: bool,
        >(
            lines: &[Line],
            a: &Acts<'_>,
            first: usize,
            out: &mut [[f32; TILE]],
        ) {
            let q: [&[[[i8; 4]; 8]]; P] =
                each(a.q.as_chunks::<4>().0.as_chunks().0, first, a.blocks);
            let d: [&[f32]; P] = each(a.d, first, a.blocks);
            let s: [&[i32]; P] = each(a.s, first, a.blocks);
            let mut acc = [[zero_real(); 4]; P];
            for (b, lines) in lines.as_chunks::<LINES32>().0.iter().enumerate() {
                let mut isum = [zero(); P];
                for p in 0..P {
                    isum[p] = offset::<OFFSET, SIGNED>(s[p][b]);
                }
                products::<P, STEPS, SIGNED, 8>(&mut isum, &lines[..8], at(&q, b), 0);
                let (scales, minima) = (floats(&lines[8]), floats(&lines[9]));
                for p in 0..P {
                    let acc = &mut acc[p][b % 4];
                    *acc = add_scaled(*acc, isum[p], scales, d[p][b]);
                    if MINIMUM {
                        *acc = add_scaled(*acc, all(s[p][b]), minima, d[p][b]);
                    }
                }
            }
            for (acc, out) in acc.into_iter().zip(out) {
                put_values(acc, out);
            }
        }

        /// `P` positions of 256-blocks of `GROUPS` groups. `STEPS` and `SIGNED` as above; `SHIFT`:
        /// log2 of what the numbers are offset by, or 0; `MINIMA`: there are some; `ALL`: lines
        /// of a block.
        #[inline]
        #[target_feature(enable = $features)]
        fn positions256<
            const P: usize,
            const STEPS: usize,
            const GROUPS: usize,
            const SHIFT: i32,
            const SIGNED: bool,
            const MINIMA: bool,
            const ALL: usize,
        >(
            lines: &[Line],
            a: &Acts<'_>,
            first: usize,
            out: &mut [[f32; TILE]],
        ) {
            let q: [&[[[i8; 4]; 64]]; P] =
                each(a.q.as_chunks::<4>().0.as_chunks().0, first, a.blocks);
            let d: [&[f32]; P] = each(a.d, first, a.blocks);
            let sums: [&[[i16; SUMS]]; P] = each(a.sums.as_chunks().0, first, a.blocks);
            let mut acc = [[zero_real(); 4]; P];
            for (b, lines) in lines.as_chunks::<ALL>().0.iter().enumerate() {
                let q = at(&q, b);
                let mut isum = [zero(); P];
                let steps = 64 / GROUPS;
                for j in 0..GROUPS {
                    let group = &lines[j * steps..(j + 1) * steps];
                    let scale = &lines[64 + j];
                    scaled_products::<P, STEPS, SIGNED, 64>(&mut isum, group, q, j * steps, scale);
                }
                let mut msum = [zero(); P];
                // Sums over 32 values stand after the sixteen over 16.
                let from = if GROUPS == 8 { 16 } else { 0 };
                for i in 0..GROUPS / 2 {
                    let weights = line(&lines[64 + GROUPS + i]);
                    for p in 0..P {
                        let (low, high) = (sums[p][b][from + 2 * i], sums[p][b][from + 2 * i + 1]);
                        msum[p] = pairs(msum[p], weights, low, high);
                    }
                }
                let scales = &lines[64 + GROUPS + GROUPS / 2..];
                let (scales, minima) = (floats(&scales[0]), floats(&scales[scales.len() - 1]));
                let shift = if SIGNED { RAISED } else { SHIFT };
                for p in 0..P {
                    let acc = &mut acc[p][b % 4];
                    let isum = less_shifted(isum[p], msum[p], shift);
                    *acc = add_scaled(*acc, isum, scales, d[p][b]);
                    if MINIMA {
                        *acc = take_scaled(*acc, msum[p], minima, d[p][b]);
                    }
                }
            }
            for (acc, out) in acc.into_iter().zip(out) {
                put_values(acc, out);
            }
        }

        panel_products! { $features, $many, positions32:
            gemm_q4_0 = avx2_words::panel_q4_0, LINES32, <8, 3, false, false>;
            sixteen_q4_0 = avx2_sixteen::panel_q4_0, LINES32, <8, 3, false, false>;
            gemm_q4_1 = avx2_words::panel_q4_1, LINES32, <8, { -1 }, false, true>;
            sixteen_q4_1 = avx2_sixteen::panel_q4_1, LINES32, <8, { -1 }, false, true>;
            gemm_q5_0 = avx2_words::panel_q5_0, LINES32, <4, 4, false, false>;
            sixteen_q5_0 = avx2_sixteen::panel_q5_0, LINES32, <4, 4, false, false>;
            gemm_q5_1 = avx2_words::panel_q5_1, LINES32, <4, { -1 }, false, true>;
            sixteen_q5_1 = avx2_sixteen::panel_q5_1, LINES32, <4, { -1 }, false, true>;
            gemm_q8_0 = avx2_words::panel_q8_0, LINES32, <1, { -1 }, true, false>;
            sixteen_q8_0 = avx2_sixteen::panel_q8_0, LINES32, <1, { -1 }, true, false>;
            gemm_iq4_nl = avx2_panel_more::panel_iq4_nl, LINES32, <1, { -1 }, true, false>;
            gemm_mxfp4 = avx2_panel_more::panel_mxfp4, LINES32, <4, 4, false, false>;
            gemm_q1_0 = avx2_panel_more::panel_q1_0, LINES32, <8, 3, false, false>;
        }
        panel_products! { $features, $many, positions256:
            gemm_q4_k = avx2_words::panel_q4_k, GROUPS32,
                <8, 8, 0, false, true, GROUPS32>;
            sixteen_q4_k = avx2_sixteen::panel_q4_k, GROUPS32,
                <8, 8, 0, false, true, GROUPS32>;
            gemm_q5_k = avx2_words::panel_q5_k, GROUPS32,
                <4, 8, 0, false, true, GROUPS32>;
            sixteen_q5_k = avx2_sixteen::panel_q5_k, GROUPS32,
                <4, 8, 0, false, true, GROUPS32>;
            gemm_q6_k = avx2_words::panel_q6_k, GROUPS16,
                <2, 16, 5, false, false, GROUPS16>;
            sixteen_q6_k = avx2_sixteen::panel_q6_k, GROUPS16,
                <2, 16, 5, false, false, GROUPS16>;
            gemm_q2_k = avx2_panel_more::panel_q2_k, MINIMA16,
                <4, 16, 0, false, true, MINIMA16>;
            gemm_q3_k = avx2_panel_more::panel_q3_k, GROUPS16,
                <4, 16, 2, false, false, GROUPS16>;
            gemm_iq4_xs = avx2_panel_more::panel_iq4_xs, SIGNED32,
                <1, 8, 0, true, false, SIGNED32>;
            gemm_iq1_s = avx2_panel_codebook::panel_iq1_s, SIGNED32,
                <4, 8, 4, false, false, SIGNED32>;
            gemm_iq1_m = avx2_panel_codebook::panel_iq1_m, GROUPS16,
                <4, 16, 4, false, false, GROUPS16>;
            gemm_iq2_xxs = avx2_panel_codebook::panel_iq2_xxs, SIGNED32,
                <1, 8, 0, true, false, SIGNED32>;
            gemm_iq2_xs = avx2_panel_codebook::panel_iq2_xs, GROUPS16,
                <1, 16, 0, true, false, GROUPS16>;
            gemm_iq2_s = avx2_panel_codebook::panel_iq2_s, GROUPS16,
                <1, 16, 0, true, false, GROUPS16>;
            gemm_iq3_xxs = avx2_panel_codebook::panel_iq3_xxs, SIGNED32,
                <1, 8, 0, true, false, SIGNED32>;
            gemm_iq3_s = avx2_panel_codebook::panel_iq3_s, SIGNED32,
                <4, 8, 4, false, false, SIGNED32>;
            gemm_tq1_0 = avx2_panel_codebook::panel_tq1_0, SIGNED32,
                <8, 8, 2, false, false, SIGNED32>;
            gemm_tq2_0 = avx2_panel_codebook::panel_tq2_0, SIGNED32,
                <8, 8, 2, false, false, SIGNED32>;
        }

        /// The matrix product of interleaved groups.
        pub(super) fn sixteen(dtype: DType) -> Option<Gemm> {
            let gemm: Gemm = match dtype {
                DType::Q4_0 => sixteen_q4_0,
                DType::Q4_1 => sixteen_q4_1,
                DType::Q5_0 => sixteen_q5_0,
                DType::Q5_1 => sixteen_q5_1,
                DType::Q8_0 => sixteen_q8_0,
                DType::Q4K => sixteen_q4_k,
                DType::Q5K => sixteen_q5_k,
                DType::Q6K => sixteen_q6_k,
                _ => return None,
            };
            Some(gemm)
        }
    };
}
pub(super) use panel_gemms;
