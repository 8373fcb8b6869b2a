// Files of Lattigo: in a folder with a module that requires github.com/tuneinsight/lattigo/v6
// v6.1.1, go run lattigo_files.go > tests/vectors/files_lattigo.json.  With a folder as its
// argument it decrypts y.ct there, with secret.key, and prints the first slots.
// Toy parameters: the secret key is in the file.
package main

import (
	"encoding"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"

	"github.com/tuneinsight/lattigo/v6/core/rlwe"
	"github.com/tuneinsight/lattigo/v6/schemes/ckks"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func text(object encoding.BinaryMarshaler) string {
	data, err := object.MarshalBinary()
	check(err)
	return base64.StdEncoding.EncodeToString(data)
}

func parameters(logP []int) ckks.Parameters {
	made, err := ckks.NewParametersFromLiteral(ckks.ParametersLiteral{
		LogN: 6, LogQ: []int{45, 30, 30}, LogP: logP, LogDefaultScale: 30,
	})
	check(err)
	return made
}

func made(logP []int) map[string]any {
	own := parameters(logP)
	generator := rlwe.NewKeyGenerator(own)
	secret, public := generator.GenKeyPairNew()
	relin := generator.GenRelinearizationKeyNew(secret)
	galois := generator.GenGaloisKeyNew(own.GaloisElement(1), secret)
	values := make([]float64, own.MaxSlots())
	for i := range values {
		values[i] = float64(i%7) - 3
	}
	plain := ckks.NewPlaintext(own, own.MaxLevel())
	check(ckks.NewEncoder(own).Encode(values, plain))
	x, err := rlwe.NewEncryptor(own, public).EncryptNew(plain)
	check(err)
	low := x.CopyNew()
	low.Resize(1, 1)
	return map[string]any{
		"values": values, "parameters": text(own), "secret": text(secret), "public": text(public),
		"relin": text(relin), "galois": text(galois), "ciphertext": text(x), "lower": text(low),
	}
}

func opened(folder string) {
	own, secret, x := parameters([]int{45}), new(rlwe.SecretKey), new(rlwe.Ciphertext)
	data, err := os.ReadFile(folder + "/secret.key")
	check(err)
	check(secret.UnmarshalBinary(data))
	data, err = os.ReadFile(folder + "/y.ct")
	check(err)
	check(x.UnmarshalBinary(data))
	values := make([]float64, own.MaxSlots())
	plain := rlwe.NewDecryptor(own, secret).DecryptNew(x)
	check(ckks.NewEncoder(own).Decode(plain, values))
	fmt.Println(values[:7])
	relin, galois, public := new(rlwe.RelinearizationKey), new(rlwe.GaloisKey), new(rlwe.PublicKey)
	for name, object := range map[string]encoding.BinaryUnmarshaler{
		"relin": relin, "galois": galois, "public": public,
	} {
		data, err = os.ReadFile(folder + "/" + name + ".key")
		check(err)
		check(object.UnmarshalBinary(data))
	}
	fresh := ckks.NewPlaintext(own, own.MaxLevel())
	check(ckks.NewEncoder(own).Encode([]float64{1, 2, 3}, fresh))
	z, err := rlwe.NewEncryptor(own, public).EncryptNew(fresh)
	check(err)
	evaluator := ckks.NewEvaluator(own, rlwe.NewMemEvaluationKeySet(relin, galois))
	z, err = evaluator.MulRelinNew(z, z)
	check(err)
	check(evaluator.Rescale(z, z))
	z, err = evaluator.RotateNew(z, 1)
	check(err)
	check(ckks.NewEncoder(own).Decode(rlwe.NewDecryptor(own, secret).DecryptNew(z), values))
	fmt.Println(values[:3])
}

func main() {
	if len(os.Args) > 1 {
		opened(os.Args[1])
		return
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetIndent("", " ")
	check(encoder.Encode(struct {
		Source string           `json:"source"`
		URL    string           `json:"url"`
		By     string           `json:"generated_by"`
		Cases  []map[string]any `json:"cases"`
	}{
		"Lattigo v6.1.1", "https://pkg.go.dev/github.com/tuneinsight/lattigo/v6",
		"scripts/vectors/lattigo_files.go",
		[]map[string]any{made([]int{45}), made([]int{45, 45})},
	}))
}
