// Files of gnark, for tests/vectors/groth16/gnark: a key, a proof and public signals of each curve.
//
// In a folder with `go mod init files`: go get github.com/consensys/gnark@v0.14.0, then
// go run gnark_files.go
package main

import (
	"bytes"
	"io"
	"os"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark/backend/groth16"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"
)

// The product and the sum of two secrets.
type circuit struct {
	P frontend.Variable `gnark:",public"`
	S frontend.Variable `gnark:",public"`
	A frontend.Variable
	B frontend.Variable
}

func (c *circuit) Define(api frontend.API) error {
	api.AssertIsEqual(api.Mul(c.A, c.B), c.P)
	api.AssertIsEqual(api.Add(c.A, c.B), c.S)
	return nil
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func write(name string, to func(io.Writer) (int64, error)) {
	var made bytes.Buffer
	_, err := to(&made)
	must(err)
	must(os.WriteFile(name, made.Bytes(), 0o644))
}

func main() {
	for name, id := range map[string]ecc.ID{"bn254": ecc.BN254, "bls12_381": ecc.BLS12_381} {
		must(os.MkdirAll(name, 0o755))
		system, err := frontend.Compile(id.ScalarField(), r1cs.NewBuilder, &circuit{})
		must(err)
		pk, vk, err := groth16.Setup(system)
		must(err)
		given := circuit{P: 77, S: 18, A: 11, B: 7}
		witness, err := frontend.NewWitness(&given, id.ScalarField())
		must(err)
		public, err := witness.Public()
		must(err)
		proof, err := groth16.Prove(system, pk, witness)
		must(err)
		must(groth16.Verify(proof, vk, public))
		write(name+"/vkey.compressed", vk.WriteTo)
		write(name+"/vkey.uncompressed", vk.WriteRawTo)
		write(name+"/proof.compressed", proof.WriteTo)
		write(name+"/proof.uncompressed", proof.WriteRawTo)
		write(name+"/public", public.WriteTo)
	}
}
