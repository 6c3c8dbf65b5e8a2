//! One vector for a text: which rows it is made of, and its length.

use recinto_kernels::Stop;
use recinto_tokenizer::Placed;
use serde::{Deserialize, Serialize};

use crate::{
    encoder::Encoder,
    error::{Error, Kind},
    whole::Text,
};

/// Which rows of an encoder a text's vector is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pooling {
    /// The mean of all, marks around the text included.
    Mean,
    /// The first, where models trained so have their `[CLS]`.
    Cls,
    /// The last.
    Last,
}

impl Pooling {
    /// Every choice, with its name as in settings.
    pub const ALL: [(&'static str, Pooling); 3] =
        [("mean", Pooling::Mean), ("cls", Pooling::Cls), ("last", Pooling::Last)];

    /// Its name.
    pub fn name(self) -> &'static str {
        Pooling::ALL.iter().find(|row| row.1 == self).map_or("", |row| row.0)
    }
}

/// How texts become vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// Which rows.
    pub pooling: Pooling,
    /// Whether vectors are divided by their length, so that a product of two is their cosine.
    pub normalize: bool,
}

/// A text's vector.
#[derive(Clone, Debug, PartialEq)]
pub struct Embedding {
    /// The values.
    pub vector: Vec<f32>,
    /// Tokens that were read, marks around the text included.
    pub tokens: usize,
}

impl Encoder {
    /// How the model's own makers say that vectors are made, and what of it they say: of a
    /// checkpoint the files `modules.json` and `1_Pooling/config.json` of sentence-transformers, of
    /// a GGUF file the key `pooling_type`. Where they say nothing, the mean and a length of 1.
    ///
    /// # Errors
    ///
    /// They say a way that is not known here.
    pub fn shape(&self) -> Result<Shape, Error> {
        let program = self.model().program();
        if program.output.kind != recinto_arch::OutputKind::Hidden {
            let what = format!("architecture `{}` gives no vectors of texts", program.name);
            return Err(Error::new(Kind::Architecture, what).hint("it is a judge: `recinto judge`"));
        }
        let metadata = self.model().file().metadata();
        let unknown = |what: &str| {
            Err(Error::new(Kind::Open, format!("{what} of this model is not known here"))
                .hint("`--pooling` says which of mean, cls and last to use"))
        };
        let mut pooling = Pooling::Mean;
        if let Some(kind) = metadata.u64(&format!("{}.pooling_type", program.name))? {
            pooling = match kind {
                0 | 1 => Pooling::Mean,
                2 => Pooling::Cls,
                3 => Pooling::Last,
                _ => return unknown("the pooling"),
            };
        }
        const MODES: [(&str, Pooling); 3] = [
            ("pooling.pooling_mode_mean_tokens", Pooling::Mean),
            ("pooling.pooling_mode_cls_token", Pooling::Cls),
            ("pooling.pooling_mode_lasttoken", Pooling::Last),
        ];
        let is_mode = |key: &str| key.starts_with("pooling.pooling_mode_");
        let set: Vec<&str> = metadata
            .iter()
            .filter(|(key, value)| is_mode(key) && value.as_bool() == Some(true))
            .map(|(key, _)| key)
            .collect();
        match set[..] {
            [] => {}
            [one] => match MODES.iter().find(|(key, _)| *key == one) {
                Some((_, mode)) => pooling = *mode,
                None => return unknown("the pooling"),
            },
            _ => return unknown("a mixture of poolings"),
        }
        // Modules by their classes; without the list, vectors have length 1.
        let modules: Vec<&str> = metadata
            .iter()
            .filter(|(key, _)| key.starts_with("modules.") && key.ends_with(".type"))
            .filter_map(|(_, value)| value.as_str())
            .collect();
        let last = |class: &str| class.rsplit('.').next().unwrap_or_default().to_owned();
        let known = ["Transformer", "Pooling", "Normalize"];
        if modules.iter().any(|class| !known.contains(&&*last(class))) {
            return unknown("a module");
        }
        let normalize =
            modules.is_empty() || modules.iter().any(|class| last(class) == "Normalize");
        Ok(Shape { pooling, normalize })
    }

    /// Most tokens of a text, marks around it included; `None` where the model states no end.
    pub fn room(&self) -> Option<usize> {
        let metadata = self.model().file().metadata();
        let stated = metadata.get("sentence.max_seq_length").and_then(|value| value.as_u64());
        let most = stated.into_iter().chain(self.model().program().context).min()?;
        usize::try_from(most).ok()
    }

    /// Vectors of `texts`, in their order. A text is content: marks of the model that stand in it
    /// are letters like any other. One that does not fit is an error unless `cut` says that its end
    /// may be left out.
    ///
    /// # Errors
    ///
    /// As [`Encoder::read`]; and a text that is too long, by its place.
    pub fn embed(
        &self,
        texts: &[&str],
        shape: Shape,
        cut: bool,
        stop: &Stop,
    ) -> Result<Vec<Embedding>, Error> {
        self.shape().or_else(|error| match error.kind() {
            Kind::Architecture => Err(error),
            // What the makers say is not asked for.
            _ => Ok(shape),
        })?;
        let room = self.room();
        let mut framed = Vec::with_capacity(texts.len());
        for (place, text) in texts.iter().enumerate() {
            framed.push(self.framed(text, room, cut, place)?);
        }
        let ids: Vec<(Vec<u32>, Vec<u32>)> = framed
            .iter()
            .map(|all| all.iter().map(|placed| (placed.token.id, placed.type_id)).unzip())
            .collect();
        let known = self.model().program().types.is_some();
        let read = |(ids, types): &'_ (Vec<u32>, Vec<u32>)| -> (usize, usize) {
            (ids.len(), if known { types.len() } else { 0 })
        };
        let texts: Vec<Text<'_>> = ids
            .iter()
            .map(|pair| Text { types: &pair.1[..read(pair).1], ..Text::of(&pair.0) })
            .collect();
        let rows = self.read(&texts, stop)?;
        let width = self.width();
        let vectors = rows.iter().zip(&texts).map(|(rows, text)| Embedding {
            vector: vector(rows, width, shape),
            tokens: text.ids.len(),
        });
        Ok(vectors.collect())
    }

    /// A text with what stands around it.
    fn framed(
        &self,
        text: &str,
        room: Option<usize>,
        cut: bool,
        place: usize,
    ) -> Result<recinto_os::Wiped<Placed>, Error> {
        let tokenizer = self.tokenizer();
        let tokens = tokenizer.encode_plain(text)?;
        let whole = tokenizer.frame(&tokens, None)?;
        let Some(room) = room.filter(|room| whole.len() > *room) else { return Ok(whole) };
        let around = whole.len() - tokens.len();
        if cut && around < room {
            return Ok(tokenizer.frame(&tokens[..room - around], None)?);
        }
        let needed = whole.len();
        let what = format!("text {} has {needed} tokens; the model reads {room}", place + 1);
        Err(Error::new(Kind::Overflow { needed, available: room }, what)
            .hint("shorten it, or leave out its end with `--truncate`"))
    }
}

/// The vector of a text from its rows; sums in f64 from the first row to the last.
fn vector(rows: &[f32], width: usize, shape: Shape) -> Vec<f32> {
    let mut out = vec![0f64; width];
    let mut all = rows.chunks_exact(width);
    let n = match shape.pooling {
        Pooling::Mean => {
            all.clone()
                .for_each(|row| out.iter_mut().zip(row).for_each(|(o, x)| *o += f64::from(*x)));
            all.len().max(1)
        }
        one => {
            let row = if one == Pooling::Cls { all.next() } else { all.next_back() };
            out.iter_mut().zip(row.unwrap_or_default()).for_each(|(o, x)| *o = f64::from(*x));
            1
        }
    };
    out.iter_mut().for_each(|x| *x /= n as f64);
    if shape.normalize {
        let length = out.iter().map(|x| x * x).sum::<f64>().sqrt();
        // A vector of zeros has no direction and stays as it is.
        if length > 0.0 {
            out.iter_mut().for_each(|x| *x /= length);
        }
    }
    out.into_iter().map(|x| x as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_of_rows() {
        let rows = [3.0, 4.0, 1.0, 0.0, 2.0, 2.0];
        let cases: [(&str, Pooling, bool, [f32; 2]); 5] = [
            ("mean", Pooling::Mean, false, [2.0, 2.0]),
            ("cls", Pooling::Cls, false, [3.0, 4.0]),
            ("last", Pooling::Last, false, [2.0, 2.0]),
            ("cls, of length 1", Pooling::Cls, true, [0.6, 0.8]),
            ("mean, of length 1", Pooling::Mean, true, [std::f32::consts::FRAC_1_SQRT_2; 2]),
        ];
        for (name, pooling, normalize, want) in cases {
            assert_eq!(vector(&rows, 2, Shape { pooling, normalize }), want, "{name}");
        }
        let zeros = Shape { pooling: Pooling::Mean, normalize: true };
        assert_eq!(vector(&[0.0; 4], 2, zeros), [0.0, 0.0], "no direction");
        for (name, pooling) in Pooling::ALL {
            assert_eq!(pooling.name(), name);
        }
    }
}
