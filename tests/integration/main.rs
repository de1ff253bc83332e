//! The one integration binary: the program as a user runs it.

mod afar;
mod architecture;
mod audit;
mod bad_input;
mod compare;
mod crash;
mod durability;
mod each;
mod engine;
mod guests;
mod images;
mod import;
mod lab;
mod lab_guard;
mod lab_kills;
mod lab_runs;
mod nested;
mod page;
mod place;
mod rig;
mod spdk;
mod sshd;
mod sweep;
mod systems;
mod verify;
mod whole;
