package jwt_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"testing"

	"github.com/millwright-dev/millwright/dev/clouds/jwt"
)

func part(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}

// signed is a token that a private key signs with PKCS #1 v1.5 for RS256, and with PSS for PS256.
func signed(t *testing.T, private, algorithm string) string {
	t.Helper()
	block, _ := pem.Decode([]byte(private))
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	text := part(t, map[string]string{"alg": algorithm, "kid": "k"}) + "." + part(t, map[string]string{"iss": "me"})
	sum := sha256.Sum256([]byte(text))
	var signature []byte
	if algorithm == "PS256" {
		signature, err = rsa.SignPSS(rand.Reader, parsed.(*rsa.PrivateKey), crypto.SHA256, sum[:], &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash})
	} else {
		signature, err = rsa.SignPKCS1v15(rand.Reader, parsed.(*rsa.PrivateKey), crypto.SHA256, sum[:])
	}
	if err != nil {
		t.Fatal(err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}

func TestTokens(t *testing.T) {
	private, public, err := jwt.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	_, other, err := jwt.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	for algorithm, known := range map[string]bool{"RS256": true, "PS256": true, "none": false} {
		var is struct {
			Issuer string `json:"iss"`
		}
		token, err := jwt.Parse(signed(t, private, algorithm), &is)
		if err != nil || is.Issuer != "me" || token.KeyID != "k" || token.Algorithm != algorithm {
			t.Errorf("%s: %+v of %+v, %v", algorithm, token, is, err)
		}
		if token.SignedBy(public) != known || token.SignedBy(other) || token.SignedBy("") {
			t.Errorf("%s: its signature is accepted for the wrong key, or not for the right one", algorithm)
		}
		if algorithm == "RS256" {
			token.Algorithm = "PS256"
			if token.SignedBy(public) {
				t.Error("a signature of one algorithm is accepted for the other")
			}
		}
	}
	for _, text := range []string{"", "a.b", "a.b.c", part(t, 1) + "." + part(t, 1) + "." + part(t, 1)} {
		if _, err := jwt.Parse(text, &struct{}{}); err == nil {
			t.Errorf("%q is a token", text)
		}
	}
}
