//! Whether a PLONK proof holds. Source: A. Gabizon, Z. Williamson, O. Ciobotaru, eprint 2019/953,
//! section 8.4; the transcript is that of snarkjs 0.7.6.

use super::groth16::{Malformed, named};
use super::points::{self, PointFault, Reason};
use super::{Form, Pairing};
use crate::keccak256;
use ark_bls12_381::Bls12_381;
use ark_bn254::Bn254;
use ark_ec::pairing::Pairing as Engine;
use ark_ec::short_weierstrass::{Affine, Projective, SWCurveConfig};
use ark_ec::{AffineRepr, CurveGroup, VariableBaseMSM};
use ark_ff::{AdditiveGroup, BigInteger, PrimeField, Zero};

/// A verifying key. Points and scalars canonical.
#[derive(Clone, Copy, Debug)]
pub struct PlonkKey<'a> {
    /// The curve.
    pub curve: Pairing,
    /// Number of public signals.
    pub public: usize,
    /// Binary logarithm of the domain's size.
    pub power: u32,
    /// k1 and k2, and the domain's root of unity.
    pub scalars: &'a [u8],
    /// G1: commitments to Qm, Ql, Qr, Qo, Qc, S1, S2, S3.
    pub points: &'a [u8],
    /// tau in G2.
    pub x2: &'a [u8],
}

/// A proof. Points and scalars canonical.
#[derive(Clone, Copy, Debug)]
pub struct PlonkProof<'a> {
    /// G1: A, B, C, Z, T1, T2, T3, Wxi, Wxiw.
    pub points: &'a [u8],
    /// a, b, c, s1, s2 at xi, and z at xi w.
    pub evaluations: &'a [u8],
}

/// Whether the proof holds for these public signals (canonical scalars) under the key.
///
/// # Errors
/// A point, a scalar or a signal that is none, or a key for another number of signals.
pub fn verify_plonk(
    key: &PlonkKey<'_>,
    public: &[u8],
    proof: &PlonkProof<'_>,
) -> Result<bool, Malformed> {
    match key.curve {
        Pairing::Bn254 => {
            decide::<Bn254, ark_bn254::g1::Config, ark_bn254::g2::Config>(key, public, proof)
        }
        Pairing::Bls12381 => {
            decide::<Bls12_381, ark_bls12_381::g1::Config, ark_bls12_381::g2::Config>(
                key, public, proof,
            )
        }
    }
}

/// The names of points and scalars in errors, as snarkjs's JSON has them.
const KEY_POINTS: [&str; 8] = ["Qm", "Ql", "Qr", "Qo", "Qc", "S1", "S2", "S3"];
const PROOF_POINTS: [&str; 9] = ["A", "B", "C", "Z", "T1", "T2", "T3", "Wxi", "Wxiw"];

/// The messages so far: numbers big-endian, one after the other.
struct Transcript {
    bytes: Vec<u8>,
    width: usize,
}

impl Transcript {
    fn new(curve: Pairing) -> Self {
        Self {
            bytes: Vec::new(),
            width: curve.base_bytes(),
        }
    }

    /// Canonical little-endian numbers, `width` bytes each.
    fn numbers(mut self, bytes: &[u8], width: usize) -> Self {
        for number in bytes.chunks(width) {
            self.bytes.extend(number.iter().rev());
        }
        self
    }

    fn points(self, bytes: &[u8]) -> Self {
        let width = self.width;
        self.numbers(bytes, width)
    }

    fn scalars<F: PrimeField>(self, scalars: &[F]) -> Self {
        scalars.iter().fold(self, |to, scalar| {
            let bytes = scalar.into_bigint().to_bytes_le();
            to.numbers(&bytes, bytes.len())
        })
    }

    fn challenge<F: PrimeField>(self) -> F {
        F::from_be_bytes_mod_order(&keccak256(&self.bytes))
    }
}

struct Challenges<F> {
    beta: F,
    gamma: F,
    alpha: F,
    xi: F,
    v: F,
    u: F,
}

/// Bytes of points `from` to before `to`.
fn some(bytes: &[u8], size: usize, from: usize, to: usize) -> &[u8] {
    bytes.get(from * size..to * size).unwrap_or(&[])
}

fn challenges<F: PrimeField>(
    key: &PlonkKey<'_>,
    public: &[F],
    proof: &PlonkProof<'_>,
    evaluations: &[F],
) -> Challenges<F> {
    let new = || Transcript::new(key.curve);
    let size = key.curve.g1_bytes();
    let own = |from, to| some(proof.points, size, from, to);
    let first = new().points(key.points).scalars(public).points(own(0, 3));
    let beta: F = first.challenge();
    let gamma: F = new().scalars(&[beta]).challenge();
    let alpha: F = new().scalars(&[beta, gamma]).points(own(3, 4)).challenge();
    let xi: F = new().scalars(&[alpha]).points(own(4, 7)).challenge();
    let v = new().scalars(&[xi]).scalars(evaluations).challenge();
    let u = new().points(own(7, 9)).challenge();
    Challenges {
        beta,
        gamma,
        alpha,
        xi,
        v,
        u,
    }
}

/// The Lagrange polynomials of the first points of the domain at xi, and xi^n; `None` where xi is
/// in the domain.
fn lagrange<F: PrimeField>(xi: F, root: F, power: u32, count: usize) -> Option<(Vec<F>, F)> {
    let mut xin = xi;
    let mut n = F::ONE;
    for _ in 0..power {
        xin.square_in_place();
        n.double_in_place();
    }
    let (zh, mut w) = (xin - F::ONE, F::ONE);
    let mut values = Vec::with_capacity(count);
    for _ in 0..count {
        values.push(w * zh * (n * (xi - w)).inverse()?);
        w *= root;
    }
    Some((values, xin))
}

fn scalars<F: PrimeField>(what: &'static str, bytes: &[u8]) -> Result<Vec<F>, Malformed> {
    let size = points::scalar_bytes::<F>();
    let one = |bytes| points::scalar::<F>(bytes).ok_or(Malformed::Scalar { what });
    bytes.chunks(size).map(one).collect()
}

fn all<P: SWCurveConfig>(
    names: &[&'static str],
    bytes: &[u8],
    size: usize,
) -> Result<Vec<Affine<P>>, Malformed> {
    let one = |(at, name): (usize, &&'static str)| {
        let point = some(bytes, size, at, at + 1);
        named(name, points::one::<P>(point, Form::Canonical))
    };
    if bytes.len() != names.len() * size {
        let fault = PointFault {
            index: 0,
            reason: Reason::Length,
        };
        return named(names.last().copied().unwrap_or_default(), Err(fault));
    }
    names.iter().enumerate().map(one).collect()
}

fn signals_of<F: PrimeField>(key: &PlonkKey<'_>, public: &[u8]) -> Result<Vec<F>, Malformed> {
    let size = points::scalar_bytes::<F>();
    let (expected, got) = (key.public, public.len() / size);
    if got != expected {
        return Err(Malformed::Count { expected, got });
    }
    let signal = |(index, bytes)| points::scalar(bytes).ok_or(Malformed::Signal { index });
    public.chunks(size).enumerate().map(signal).collect()
}

/// Checks that a number is a root of unity of order 2^power, and of no smaller one.
fn check_root<F: PrimeField>(root: F, power: u32) -> Result<(), Malformed> {
    let is_one = |power: u32| root.pow([1u64 << power]) == F::ONE;
    if power <= F::TWO_ADICITY
        && is_one(power)
        && power.checked_sub(1).is_none_or(|smaller| !is_one(smaller))
    {
        return Ok(());
    }
    Err(Malformed::Root { power })
}

fn decide<E, P1, P2>(
    key: &PlonkKey<'_>,
    public: &[u8],
    proof: &PlonkProof<'_>,
) -> Result<bool, Malformed>
where
    P1: SWCurveConfig<ScalarField = E::ScalarField>,
    P2: SWCurveConfig<ScalarField = E::ScalarField>,
    E: Engine<G1Affine = Affine<P1>, G2Affine = Affine<P2>>,
{
    let size = key.curve.g1_bytes();
    let own = all::<P1>(&KEY_POINTS, key.points, size)?;
    let given = all::<P1>(&PROOF_POINTS, proof.points, size)?;
    let x2 = named("X_2", points::one::<P2>(key.x2, Form::Canonical))?;
    if x2.is_zero() {
        return Err(Malformed::Infinite { what: "X_2" });
    }
    let numbers = scalars::<E::ScalarField>("k1, k2 and w", key.scalars)?;
    let evaluations = scalars::<E::ScalarField>("an evaluation", proof.evaluations)?;
    let signals = signals_of::<E::ScalarField>(key, public)?;
    let (&[k1, k2, root], &[_, _, _, _, _, _]) = (numbers.as_slice(), evaluations.as_slice())
    else {
        return Err(Malformed::Scalar {
            what: "a key or a proof",
        });
    };
    check_root(root, key.power)?;
    let drawn = challenges(key, &signals, proof, &evaluations);
    let count = signals.len().max(1);
    let Some((values, xin)) = lagrange(drawn.xi, root, key.power, count) else {
        return Ok(false);
    };
    let l1 = values.first().copied().unwrap_or_default();
    let pi = signals
        .iter()
        .zip(&values)
        .fold(E::ScalarField::ZERO, |sum, (signal, value)| {
            sum - *signal * value
        });
    let statement = Statement {
        drawn,
        evaluations: &evaluations,
        shifts: [k1, k2],
        l1,
        pi,
        xin,
    };
    let factors = statement.factors();
    let generator = E::G1Affine::generator();
    let bases = [own.as_slice(), given.as_slice(), &[generator]].concat();
    // The sum of E's terms and of F's, and what the openings at xi and xi w add.
    let Statement { drawn, .. } = &statement;
    let mut right = factors.to_vec();
    if let [.., wxi, wxiw, _] = right.as_mut_slice() {
        *wxi += drawn.xi;
        *wxiw += drawn.u * drawn.xi * root;
    }
    let right = Projective::<P1>::msm_unchecked(&bases, &right);
    let left = match given.as_slice() {
        [.., wxi, wxiw] => wxi.into_group() + *wxiw * drawn.u,
        _ => Projective::zero(),
    };
    let sides = [(-left).into_affine(), right.into_affine()];
    Ok(E::multi_pairing(sides, [x2, E::G2Affine::generator()]).is_zero())
}

/// The scalars of the equation.
struct Statement<'a, F> {
    drawn: Challenges<F>,
    evaluations: &'a [F],
    shifts: [F; 2],
    l1: F,
    pi: F,
    xin: F,
}

impl<F: PrimeField> Statement<'_, F> {
    /// The factors in F - E of the key's points, the proof's, and the generator.
    fn factors(&self) -> [F; 18] {
        let Challenges {
            beta,
            gamma,
            alpha,
            xi,
            v,
            u,
        } = self.drawn;
        let at = |index: usize| self.evaluations.get(index).copied().unwrap_or_default();
        let [a, b, c, s1, s2, zw] = [0, 1, 2, 3, 4, 5].map(at);
        let [k1, k2] = self.shifts;
        let alpha2 = alpha.square();
        let permuted = (a + beta * s1 + gamma) * (b + beta * s2 + gamma) * alpha * zw;
        let r0 = self.pi - self.l1 * alpha2 - permuted * (c + gamma);
        let plain = (a + beta * xi + gamma)
            * (b + beta * k1 * xi + gamma)
            * (c + beta * k2 * xi + gamma)
            * alpha;
        let zh = self.xin - F::ONE;
        let [v2, v3, v4] = [v.pow([2]), v.pow([3]), v.pow([4])];
        let v5 = v4 * v;
        let e = v * a + v2 * b + v3 * c + v4 * s1 + v5 * s2 + u * zw - r0;
        [
            a * b,
            a,
            b,
            c,
            F::ONE,
            v4,
            v5,
            -permuted * beta,
            v,
            v2,
            v3,
            plain + self.l1 * alpha2 + u,
            -zh,
            -zh * self.xin,
            -zh * self.xin.square(),
            F::ZERO,
            F::ZERO,
            -e,
        ]
    }
}
