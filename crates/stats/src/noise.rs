//! Random numbers for simulations, from a seed and equal in every version of iotax: a simulation
//! that failed can be run again.

use iotax_units::random::Random;

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Noise(Random);

impl Noise {
    /// Starts a stream from a seed.
    pub fn new(seed: u64) -> Noise {
        Noise(Random::from_state(Random::from_state(seed).next()))
    }

    /// Returns sixty-four random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next()
    }

    /// Returns a uniform number in 0..1.
    pub fn uniform(&mut self) -> f64 {
        (self.0.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns a normal number with mean 0 and variance 1 (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        (-2.0 * (1.0 - self.uniform()).ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Returns an exponential number with the given mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.uniform()).ln()
    }

    /// Returns a separate stream, whose seed is drawn from this one.
    pub fn fork(&mut self) -> Noise {
        Noise::new(self.bits())
    }
}
