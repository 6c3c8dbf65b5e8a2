//! One file a storage type: how its bytes become values.

macro_rules! modules { ($($name:ident)*) => { $(pub(crate) mod $name;)* }; }
modules!(f32 f16 bf16 q4_0 q4_1 q5_0 q5_1 q8_0 q2_k q3_k q4_k q5_k q6_k iq4_nl iq4_xs mxfp4);
modules!(nvfp4 q1_0);

macro_rules! whole_modules {
    ($($name:ident)*) => {
        modules!($($name)*);
        /// The same for blocks that are read as whole numbers.
        pub mod whole { $(pub use super::$name::whole as $name;)* }
    };
}
whole_modules!(iq1_s iq1_m iq2_xxs iq2_xs iq2_s iq3_xxs iq3_s tq1_0 tq2_0);
