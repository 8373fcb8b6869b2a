//! Files of arkworks, for tests/vectors/groth16/arkworks: a key, a proof and public signals of each
//! curve. In a crate of its own, with ark-groth16, ark-bn254, ark-bls12-381, ark-ec, ark-ff,
//! ark-relations, ark-serialize 0.5, ark-snark 0.5 and rand_chacha 0.3: cargo run --release

use ark_ec::pairing::Pairing;
use ark_ff::{PrimeField, UniformRand};
use ark_groth16::Groth16;
use ark_relations::lc;
use ark_relations::r1cs::{
    ConstraintSynthesizer, ConstraintSystemRef, SynthesisError, Variable,
};
use ark_serialize::CanonicalSerialize;
use ark_snark::SNARK;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;

/// The product and the sum of two secrets.
#[derive(Clone)]
struct Circuit<F> {
    a: F,
    b: F,
}

impl<F: PrimeField> ConstraintSynthesizer<F> for Circuit<F> {
    fn generate_constraints(self, cs: ConstraintSystemRef<F>) -> Result<(), SynthesisError> {
        let product = cs.new_input_variable(|| Ok(self.a * self.b))?;
        let sum = cs.new_input_variable(|| Ok(self.a + self.b))?;
        let a = cs.new_witness_variable(|| Ok(self.a))?;
        let b = cs.new_witness_variable(|| Ok(self.b))?;
        cs.enforce_constraint(lc!() + a, lc!() + b, lc!() + product)?;
        cs.enforce_constraint(lc!() + a + b, lc!() + Variable::One, lc!() + sum)
    }
}

fn write(path: String, value: &impl CanonicalSerialize) {
    for (form, compressed) in [("compressed", true), ("uncompressed", false)] {
        let mut bytes = Vec::new();
        if compressed {
            value.serialize_compressed(&mut bytes).unwrap();
        } else {
            value.serialize_uncompressed(&mut bytes).unwrap();
        }
        std::fs::write(format!("{path}.{form}"), bytes).unwrap();
    }
}

fn make<E: Pairing>(folder: &str) {
    std::fs::create_dir_all(folder).unwrap();
    let mut random = ChaCha20Rng::seed_from_u64(33);
    let circuit = Circuit {
        a: E::ScalarField::rand(&mut random),
        b: E::ScalarField::from(7u64),
    };
    let (pk, vk) =
        Groth16::<E>::circuit_specific_setup(circuit.clone(), &mut random).unwrap();
    let proof = Groth16::<E>::prove(&pk, circuit.clone(), &mut random).unwrap();
    let public = vec![circuit.a * circuit.b, circuit.a + circuit.b];
    assert!(Groth16::<E>::verify(&vk, &public, &proof).unwrap());
    write(format!("{folder}/vkey"), &vk);
    write(format!("{folder}/proof"), &proof);
    // Both forms of scalars are one.
    let mut bytes = Vec::new();
    public.serialize_compressed(&mut bytes).unwrap();
    std::fs::write(format!("{folder}/public"), bytes).unwrap();
}

fn main() {
    make::<ark_bn254::Bn254>("bn254");
    make::<ark_bls12_381::Bls12_381>("bls12_381");
}
