// Files of SEAL itself, in WebAssembly: npm install node-seal@7.0.0, then with Node.js 22 or later
// node scripts/vectors/seal_files.mjs.  Toy parameters: the secret key is in the file.
import fs from "fs";
import initialize from "node-seal/throws";

const seal = await initialize();
const { none, zlib, zstd } = seal.ComprModeType;
const text = (object, mode) => object.saveToBase64(mode);

function made(scheme, degree, sizes, bits) {
  const parameters = new seal.EncryptionParameters(scheme);
  parameters.setPolyModulusDegree(degree);
  parameters.setCoeffModulus(seal.CoeffModulus.Create(degree, Int32Array.from(sizes)));
  if (bits) parameters.setPlainModulus(seal.PlainModulus.Batching(degree, bits));
  const context = new seal.SEALContext(parameters, true, seal.SecLevelType.none);
  const generator = new seal.KeyGenerator(context);
  const secret = generator.secretKey();
  const open = generator.createPublicKey();
  const encryptor = new seal.Encryptor(context, open, secret);
  const evaluator = new seal.Evaluator(context);
  const plain = new seal.Plaintext();
  const values = Array.from({ length: bits ? degree : degree / 2 }, (_, i) => (i % 7) - 3);
  if (bits) new seal.BatchEncoder(context).encode(BigInt64Array.from(values, BigInt), plain);
  else new seal.CKKSEncoder(context).encode(Float64Array.from(values), 2 ** 30, plain);
  const x = new seal.Ciphertext();
  encryptor.encrypt(plain, x);
  const low = new seal.Ciphertext();
  evaluator.cipherModSwitchToNext(x, low);
  return {
    scheme: bits ? "bgv" : "ckks",
    values,
    parameters: text(parameters, none),
    secret: text(secret, zstd),
    public: text(open, none),
    seeded_public: text(generator.createPublicKeySerializable(), zlib),
    relin: text(generator.createRelinKeysSerializable(), zlib),
    galois: text(generator.createGaloisKeysSerializableWithSteps(Int32Array.from([1])), zlib),
    ciphertext: text(x, none),
    lower: text(low, none),
    seeded: text(encryptor.encryptSymmetricSerializable(plain), none),
  };
}

const file = {
  source: "Microsoft SEAL 4 in WebAssembly, node-seal 7.0.0",
  url: "https://www.npmjs.com/package/node-seal",
  generated_by: "scripts/vectors/seal_files.mjs",
  cases: [
    made(seal.SchemeType.ckks, 64, [45, 30, 45]),
    made(seal.SchemeType.bgv, 64, [40, 40, 45], 16),
  ],
};
fs.writeFileSync("tests/vectors/files_seal.json", JSON.stringify(file, null, 1) + "\n");
