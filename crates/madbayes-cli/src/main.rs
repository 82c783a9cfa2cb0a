//! The madbayes program.
#![allow(dead_code)]
mod read;
fn main() {}
