//! The library as a whole, one file for each claim's subject. One binary: the library's generic code is compiled once.

mod automatic;
mod brute_force;
mod chains;
mod common;
mod discriminative;
mod discriminative_joint;
mod discriminative_states;
mod feature_path;
mod features;
mod hard;
mod hidden_states;
mod ibp_sampler;
mod path;
mod real_data;
mod real_features;
mod rooms;
mod sampler;
