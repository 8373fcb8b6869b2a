"""Binary forms of Groth16 keys, proofs and public signals: those of gnark and of arkworks."""
