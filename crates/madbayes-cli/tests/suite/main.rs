//! The program as its users see it. One binary, so that it links once.

mod bad_input;
mod cluster;
mod common;
mod draw_and_demo;
mod features;
mod formats;
mod interrupts;
mod mixture;
mod mixture_resume;
mod models;
mod path;
mod report;
mod shapes;
mod states;
