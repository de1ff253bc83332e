//! What is copied into guests and to hosts: the end of the wire, the generator and the steps, and
//! nothing else.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    iotax_steps::agent::main()
}
