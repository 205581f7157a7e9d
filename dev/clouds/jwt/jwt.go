// Package jwt checks JSON Web Tokens (RFC 7519) that service accounts have signed with RSA keys, and creates such keys, as
// clouds do.
package jwt

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"strings"
)

// Token is a decoded token. Its signature has not been checked.
type Token struct {
	// Algorithm is "RS256" or "PS256", KeyID the ID of the key that is said to have signed it.
	Algorithm string `json:"alg"`
	KeyID     string `json:"kid"`

	sum, signature []byte
}

var errMalformed = errors.New("the token is malformed")

// Parse decodes a token, and its claims.
func Parse(text string, claims any) (t Token, err error) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return t, errMalformed
	}
	t.signature, err = base64.RawURLEncoding.DecodeString(parts[2])
	if decode(parts[0], &t) != nil || decode(parts[1], claims) != nil || err != nil {
		return t, errMalformed
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	t.sum = sum[:]
	return t, nil
}

func decode(part string, into any) error {
	raw, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, into)
}

// SignedBy reports whether the private key of a public key in PEM format has signed the token.
func (t Token) SignedBy(public string) bool {
	block, _ := pem.Decode([]byte(public))
	if block == nil {
		return false
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	key, ok := parsed.(*rsa.PublicKey)
	if err != nil || !ok {
		return false
	}
	switch t.Algorithm {
	case "RS256":
		return rsa.VerifyPKCS1v15(key, crypto.SHA256, t.sum, t.signature) == nil
	case "PS256":
		return rsa.VerifyPSS(key, crypto.SHA256, t.sum, t.signature, &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash, Hash: crypto.SHA256}) == nil
	}
	return false
}

// NewKey creates a key. Both parts are in PEM format: PKCS #8 and PKIX.
func NewKey() (private, public string, err error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return "", "", err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return "", "", err
	}
	shown, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return "", "", err
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})), string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: shown})), nil
}
