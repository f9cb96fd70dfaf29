//! One file per command.

pub mod fetch;
pub mod index;
pub mod listen;
pub mod make;
pub mod search;
pub mod library;
pub mod models;
pub mod world;
pub mod convert;
pub mod show;
pub mod summarise;
pub mod dataset;
pub mod train;
pub mod calibrate;
pub mod eval_world;
pub mod eval_data;
pub mod eval_encoder;
pub mod eval_reading;
pub mod eval_speech;
pub mod eval;
pub mod doctor;
pub mod self_check;
pub mod shell;
pub mod serve;
pub mod mcp;
pub mod study;
