//! The keywords of JSON Schema, draft 2020-12, and what becomes of each: one row a word.

/// What becomes of a keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// It holds for every answer.
    Kept,
    /// It says nothing about what is valid.
    Annotation,
    /// A schema with it is refused, and the error names it.
    Refused,
}

impl Treatment {
    /// Its word.
    pub fn name(self) -> &'static str {
        match self {
            Treatment::Kept => "kept",
            Treatment::Annotation => "annotation",
            Treatment::Refused => "refused",
        }
    }
}

/// A keyword.
#[derive(Clone, Copy, Debug)]
pub struct Keyword {
    /// The word.
    pub name: &'static str,
    /// What becomes of it.
    pub treatment: Treatment,
    /// What is narrower than the standard, or when it is refused all the same.
    pub note: &'static str,
}

macro_rules! keywords {
    ($($treatment:ident $name:literal $note:literal;)*) => {
        &[$(Keyword { name: $name, treatment: Treatment::$treatment, note: $note },)*]
    };
}

/// Every keyword that is known. Another one is refused too, unless it begins with `x-`.
pub const KEYWORDS: &[Keyword] = keywords! {
    Kept "type" "whole numbers are written without a fraction";
    Kept "enum" "numbers up to 2^53, texts without control characters but `\\n \\r \\t \\b \\f`";
    Kept "const" "as `enum`";
    Kept "properties" "members are written in the order of the schema";
    Kept "patternProperties" "patterns must exclude one another";
    Kept "additionalProperties" "additional members come last; one name may come twice";
    Kept "required" "";
    Kept "minProperties" "refused beside optional properties, or for two more than are required";
    Kept "maxProperties" "refused beside optional properties";
    Kept "items" "a list of schemas is of older drafts: refused";
    Kept "prefixItems" "";
    Kept "minItems" "";
    Kept "maxItems" "";
    Kept "minLength" "";
    Kept "maxLength" "";
    Kept "pattern" "refused with look-around, back-references, word boundaries, inner anchors";
    Kept "format" "those of the table below are asserted; others are refused";
    Kept "minimum" "numbers up to 2^53";
    Kept "maximum" "numbers up to 2^53";
    Kept "exclusiveMinimum" "as `minimum`; refused as a whole number less than 1 from another bound";
    Kept "exclusiveMaximum" "as `minimum`; refused as a whole number less than 1 from another bound";
    Kept "multipleOf" "65535 without its point, four decimals; with decimals not every multiple";
    Kept "allOf" "";
    Kept "anyOf" "";
    Kept "oneOf" "options exclude one another by type, or by other constants of one required member";
    Kept "$ref" "`#`, `#/a/pointer`, `#anchor`; refused in a circle with other words beside";
    Kept "$defs" "";
    Kept "definitions" "as `$defs`";
    Kept "$anchor" "";
    Kept "$schema" "of draft 2020-12 only";
    Kept "$id" "at the root only";
    Annotation "$comment" "";
    Annotation "title" "";
    Annotation "description" "";
    Annotation "default" "";
    Annotation "examples" "";
    Annotation "deprecated" "";
    Annotation "readOnly" "";
    Annotation "writeOnly" "";
    Annotation "contentEncoding" "";
    Annotation "contentMediaType" "";
    Annotation "contentSchema" "";
    Refused "not" "";
    Refused "if" "";
    Refused "then" "";
    Refused "else" "";
    Refused "contains" "";
    Refused "minContains" "";
    Refused "maxContains" "";
    Refused "uniqueItems" "kept where it is `false`";
    Refused "propertyNames" "";
    Refused "dependentRequired" "";
    Refused "dependentSchemas" "";
    Refused "dependencies" "";
    Refused "unevaluatedItems" "";
    Refused "unevaluatedProperties" "";
    Refused "additionalItems" "";
    Refused "$dynamicRef" "";
    Refused "$dynamicAnchor" "";
    Refused "$recursiveRef" "";
    Refused "$recursiveAnchor" "";
    Refused "$vocabulary" "";
};
