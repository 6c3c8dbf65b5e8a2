//! Everything that is neither a product nor attention: against f64, and bit for bit.

use crate::common;

use common::{Random, machines, same};
use recinto_kernels::{
    Angles, Form, Gate, Kernels, Level, Machine, Pairs, Prepared, Stop, first_non_finite,
};

/// What an operation does to one slot, with another beside it.
type Run = fn(&Machine, &mut [f32], &[f32]);

const SIZE: usize = 48;

fn angles(pairs: usize, n: usize) -> Angles {
    let frequencies: Vec<f64> = (0..pairs).map(|i| 10000f64.powf(-(i as f64) / 24.0)).collect();
    let mut angles = Angles::default();
    angles.fill(&frequencies, 1.0, 77, n);
    angles
}

const RUNS: &[(&str, Run)] = &[
    ("add", |m, x, y| m.add(&Stop::never(), x, y).unwrap()),
    ("mul", |m, x, y| m.mul(&Stop::never(), x, y).unwrap()),
    ("scale", |m, x, _| m.scale(&Stop::never(), x, 0.37).unwrap()),
    ("softcap", |m, x, _| m.softcap(&Stop::never(), x, 3.0).unwrap()),
    ("silu", |m, x, _| m.silu(&Stop::never(), x).unwrap()),
    ("gelu", |m, x, _| m.gelu(&Stop::never(), x).unwrap()),
    ("gelu, exact", |m, x, _| m.gelu_erf(&Stop::never(), x).unwrap()),
    ("relu", |m, x, _| m.relu(&Stop::never(), x).unwrap()),
    ("sigmoid", |m, x, _| m.sigmoid(&Stop::never(), x).unwrap()),
    ("tanh", |m, x, _| m.tanh(&Stop::never(), x).unwrap()),
    ("swiglu", |m, x, y| m.gated(&Stop::never(), x, y, Gate::Silu).unwrap()),
    ("geglu", |m, x, y| m.gated(&Stop::never(), x, y, Gate::Gelu).unwrap()),
    ("geglu, exact", |m, x, y| m.gated(&Stop::never(), x, y, Gate::GeluErf).unwrap()),
    ("rms norm", |m, x, y| m.rms_norm(&Stop::never(), x, SIZE, Some(&y[..SIZE]), 1e-5).unwrap()),
    ("rms norm of odd groups", |m, x, _| {
        let len = x.len() / 9 * 9;
        m.rms_norm(&Stop::never(), &mut x[..len], 9, None, 1e-5).unwrap();
    }),
    ("layer norm", |m, x, y| {
        let (w, b) = (Some(&y[..SIZE]), Some(&y[SIZE..2 * SIZE]));
        m.layer_norm(&Stop::never(), x, SIZE, w, b, 1e-5).unwrap();
    }),
    ("layer norm without bias", |m, x, y| {
        m.layer_norm(&Stop::never(), x, SIZE, Some(&y[..SIZE]), None, 1e-5).unwrap();
    }),
    ("rope, halves", |m, x, _| {
        let angles = angles(24, x.len() / (2 * SIZE));
        m.rope(&Stop::never(), x, 2 * SIZE, SIZE, Pairs::Half, &angles).unwrap();
    }),
    ("rope, adjacent, in part", |m, x, _| {
        let angles = angles(10, x.len() / (2 * SIZE));
        m.rope(&Stop::never(), x, 2 * SIZE, SIZE, Pairs::Adjacent, &angles).unwrap();
    }),
];

fn inputs(kind: &str, len: usize, random: &mut Random) -> Vec<f32> {
    let mut x = random.values(len);
    match kind {
        "ordinary" => {}
        "large" => x.iter_mut().for_each(|x| *x *= 300.0),
        "huge" => x.iter_mut().for_each(|x| *x *= 3e37),
        "tiny" => x.iter_mut().for_each(|x| *x *= 1e-42),
        "special" => {
            let odd = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, 88.37, -87.33, 88.38];
            for (i, special) in odd.iter().cycle().take(len).enumerate().step_by(3) {
                x[i] = *special;
            }
        }
        other => panic!("no kind {other}"),
    }
    x
}

#[test]
fn same_bits_everywhere() {
    let slow = Machine::new(Kernels::at(Level::Portable).unwrap(), 1);
    let machines = machines();
    let mut random = Random(21);
    for (what, run) in RUNS {
        for kind in ["ordinary", "large", "huge", "tiny", "special"] {
            for len in [2 * SIZE, 6 * SIZE, 1000 * SIZE] {
                let (x, y) = (inputs(kind, len, &mut random), random.values(len));
                let mut want = x.clone();
                run(&slow, &mut want, &y);
                for (name, machine) in &machines {
                    let mut got = x.clone();
                    run(machine, &mut got, &y);
                    same(&got, &want).unwrap_or_else(|e| panic!("{name}, {what}, {kind}: {e}"));
                }
            }
        }
    }
}

#[test]
fn agrees_with_f64() {
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    let gelu = |x: f64| {
        let c = (2.0 / std::f64::consts::PI).sqrt();
        0.5 * x * (1.0 + (c * (x + 0.044715 * x * x * x)).tanh())
    };
    type Want<'a> = Box<dyn Fn(&[f64], &[f64]) -> Vec<f64> + 'a>;
    fn each<'a>(f: impl Fn(f64) -> f64 + 'a) -> Want<'a> {
        Box::new(move |x, _| x.iter().map(|x| f(*x)).collect())
    }
    fn both<'a>(f: impl Fn(f64, f64) -> f64 + 'a) -> Want<'a> {
        Box::new(move |x, y| x.iter().zip(y).map(|(x, y)| f(*x, *y)).collect())
    }
    let norm = |x: &[f64], y: &[f64], layer: bool| -> Vec<f64> {
        let mut out = Vec::new();
        for x in x.chunks(SIZE) {
            let mean = if layer { x.iter().sum::<f64>() / SIZE as f64 } else { 0.0 };
            let var = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / SIZE as f64;
            for (i, x) in x.iter().enumerate() {
                let b = if layer { y[SIZE + i] } else { 0.0 };
                out.push((x - mean) / (var + 1e-5).sqrt() * y[i] + b);
            }
        }
        out
    };
    let rope = |x: &[f64], pairs: usize, half: bool| -> Vec<f64> {
        let mut out = x.to_vec();
        for (h, head) in out.chunks_mut(SIZE).enumerate() {
            let position = (77 + h / 2) as f64;
            for i in 0..pairs {
                let (a, b) = if half { (i, i + pairs) } else { (2 * i, 2 * i + 1) };
                let angle = position * 10000f64.powf(-(i as f64) / 24.0);
                let (s, c) = angle.sin_cos();
                (head[a], head[b]) = (head[a] * c - head[b] * s, head[a] * s + head[b] * c);
            }
        }
        out
    };
    let wants: Vec<(&str, Want<'_>)> = vec![
        ("add", both(|x, y| x + y)),
        ("mul", both(|x, y| x * y)),
        ("scale", each(|x| x * 0.37)),
        ("softcap", each(|x| 3.0 * (x / 3.0).tanh())),
        ("silu", each(move |x| x * sigmoid(x))),
        ("gelu", each(gelu)),
        ("relu", each(|x| x.max(0.0))),
        ("sigmoid", each(sigmoid)),
        ("tanh", each(f64::tanh)),
        ("swiglu", both(move |x, y| x * sigmoid(x) * y)),
        ("geglu", both(move |x, y| gelu(x) * y)),
        ("rms norm", Box::new(|x, y| norm(x, y, false))),
        ("layer norm", Box::new(|x, y| norm(x, y, true))),
        ("rope, halves", Box::new(|x, _| rope(x, 24, true))),
        ("rope, adjacent, in part", Box::new(|x, _| rope(x, 10, false))),
    ];
    let mut random = Random(22);
    let (x, y) = (random.values(20 * SIZE), random.values(20 * SIZE));
    let wide = |x: &[f32]| x.iter().map(|x| f64::from(*x)).collect::<Vec<_>>();
    for (what, want) in &wants {
        let run = RUNS.iter().find(|row| row.0 == *what).unwrap().1;
        let want = want(&wide(&x), &wide(&y));
        for (name, machine) in machines() {
            let mut got = x.clone();
            run(&machine, &mut got, &y);
            for (got, want) in got.iter().zip(&want) {
                let error = (f64::from(*got) - want).abs() / (1.0 + want.abs());
                assert!(error < 2e-6, "{name}, {what}: {got} for {want}");
            }
        }
    }
}

/// One product with a weight of 1 in one column shows an activation as it was stored.
fn through(machine: &Machine, x: &[f32], form: Form) -> Vec<f32> {
    use recinto_kernels::{DType, Job, Rows};
    let cols = x.len();
    let stop = Stop::never();
    let mut prepared = Prepared::new();
    machine.prepare(&stop, x, cols, &[form], &mut prepared).unwrap();
    assert_eq!(form, Form::A32);
    let mut one = vec![0.0f32; cols * cols];
    (0..cols).for_each(|i| one[i * cols + i] = 127.0);
    let mut bytes = vec![0; DType::Q8_0.bytes_for(one.len() as u64).unwrap() as usize];
    recinto_quant::pack(DType::Q8_0, &one, &mut bytes).unwrap();
    let weights = Rows::new(&bytes, DType::Q8_0, cols, cols).unwrap();
    let mut out = vec![0.0; cols];
    let mut jobs = [Job { weights, bias: None, out: &mut out }];
    machine.linear(&stop, x, cols, &prepared, &mut jobs).unwrap();
    out.iter().map(|x| x / 127.0).collect()
}

#[test]
fn activations_keep_what_the_contract_says() {
    let block = |f: &dyn Fn(usize) -> f32| (0..32).map(f).collect::<Vec<f32>>();
    let tiny = 2f32.powi(-101);
    let cases: Vec<(&str, Vec<f32>, Vec<f32>)> = vec![
        ("zeros", vec![0.0; 32], vec![0.0; 32]),
        ("whole numbers", block(&|i| i as f32 * 4.0 + 3.0), block(&|i| i as f32 * 4.0 + 3.0)),
        ("ends", block(&|i| if i % 2 == 0 { 127.0 } else { -127.0 }), {
            block(&|i| if i % 2 == 0 { 127.0 } else { -127.0 })
        }),
        ("half to even", block(&|i| if i == 0 { 127.0 } else { i as f32 + 0.5 }), {
            block(&|i| if i == 0 { 127.0 } else { (i + i % 2) as f32 })
        }),
        ("below the least", vec![tiny; 32], vec![0.0; 32]),
        ("nan", block(&|i| if i == 5 { f32::NAN } else { 1.0 }), vec![f32::NAN; 32]),
        ("infinite", block(&|i| if i == 5 { f32::INFINITY } else { 1.0 }), vec![f32::NAN; 32]),
    ];
    for (case, x, want) in &cases {
        for (name, machine) in machines() {
            let got = through(&machine, x, Form::A32);
            same(&got, want).unwrap_or_else(|e| panic!("{name}, {case}: {e}"));
        }
    }
}

#[test]
fn the_first_bad_value_is_found() {
    let mut x = vec![1.0; 1000];
    assert_eq!(first_non_finite(&x), None);
    for at in [0, 63, 64, 65, 998, 999] {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            x[at] = bad;
            assert_eq!(first_non_finite(&x), Some(at));
            x[at] = f32::MAX;
        }
    }
    assert_eq!(first_non_finite(&[]), None);
}

/// `x · Φ(x)` of the exact form, from the error function of a C library in f64.
const GELU_ERF: &[(f32, f64)] = &[
    (0.001, 5.003_989_422_139e-4),
    (-0.001, -4.996_010_577_861e-4),
    (0.1, 5.398_278_372_770e-2),
    (-0.1, -4.601_721_627_230e-2),
    (0.5, 3.457_312_306_370e-1),
    (-0.5, -1.542_687_693_630e-1),
    (1.0, 8.413_447_460_685e-1),
    (-1.0, -1.586_552_539_315e-1),
    (1.5, 1.399_789_198_097),
    (-2.0, -4.550_026_389_636e-2),
    (2.5, 2.484_475_836_686),
    (3.0, 2.995_950_305_905),
    (-3.0, -4.049_694_094_890e-3),
    (4.0, 3.999_873_315_033),
    (-4.0, -1.266_849_673_325e-4),
    (5.5, 5.499_999_895_557),
    (-6.0, -5.919_525_870_226e-9),
    (8.0, 8.0),
    (-9.0, -1.015_729_565_358e-18),
    (12.0, 12.0),
    (-13.5, 0.0),
    (30.0, 30.0),
    (-1e30, 0.0),
    (3e38, 3e38),
    (0.0, 0.0),
];

#[test]
fn the_exact_gelu_is_exact() {
    let machine = Machine::new(Kernels::at(Level::Portable).unwrap(), 1);
    for (x, want) in GELU_ERF {
        let mut got = [*x];
        machine.gelu_erf(&Stop::never(), &mut got).unwrap();
        let far = (f64::from(got[0]) - want).abs();
        // Two units of the last place, also of the small results of negative inputs.
        assert!(far <= 2.5e-7 * want.abs().max(1e-30), "{x}: {} for {want}", got[0]);
    }
    let mut signs = [-0.0, f32::INFINITY, f32::NEG_INFINITY];
    machine.gelu_erf(&Stop::never(), &mut signs).unwrap();
    assert!(signs[0] == 0.0 && signs[1] == f32::INFINITY && signs[2] == 0.0, "{signs:?}");
}
