package approval

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
)

// forgedRSA is a request with an invented RSA key of so many bits, and a signature of the right length.
func forgedRSA(t *testing.T, bits int) []byte {
	t.Helper()
	marshal := func(v any) []byte {
		der, err := asn1.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	n, signature := make([]byte, bits/8), make([]byte, bits/8)
	_, _ = rand.Read(n)
	_, _ = rand.Read(signature)
	n[0] |= 0x80
	n[len(n)-1] |= 1
	signature[0] &= 0x7f
	null := asn1.RawValue{Tag: asn1.TagNull}
	key := marshal(struct{ N, E *big.Int }{new(big.Int).SetBytes(n), big.NewInt(1<<31 - 1)})
	subject := marshal(pkix.Name{CommonName: "system:node:x", Organization: []string{"system:nodes"}}.ToRDNSequence())
	type publicKey struct {
		Algorithm pkix.AlgorithmIdentifier
		Key       asn1.BitString
	}
	type content struct {
		Version    int
		Subject    asn1.RawValue
		Key        publicKey
		Attributes []asn1.RawValue `asn1:"tag:0"`
	}
	der := marshal(struct {
		Content   content
		Algorithm pkix.AlgorithmIdentifier
		Signature asn1.BitString
	}{
		content{
			Subject: asn1.RawValue{FullBytes: subject}, Attributes: []asn1.RawValue{},
			Key: publicKey{pkix.AlgorithmIdentifier{Algorithm: asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 1}, Parameters: null}, asn1.BitString{Bytes: key, BitLength: len(key) * 8}},
		},
		pkix.AlgorithmIdentifier{Algorithm: asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 11}, Parameters: null},
		asn1.BitString{Bytes: signature, BitLength: len(signature) * 8},
	})
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}

// Any node and any bootstrap token may send a request: with any content, an invalid one is refused quickly.
func TestHostileRequestsCostLittle(t *testing.T) {
	cases := []struct {
		reason, says string
		request      []byte
	}{
		{"a key that is just short enough is only a wrong one", "signature", forgedRSA(t, 8192)},
		{"a key that is too long", "16384 bits", forgedRSA(t, 16384)},
		{"a key of 32768 bits", "32768 bits", forgedRSA(t, 32768)},
		{"89 KB with a key of 262144 bits", "bytes, the limit is", forgedRSA(t, 262144)},
		{"355 KB with a key of a million bits", "bytes, the limit is", forgedRSA(t, 1<<20)},
		{"a long text that is no PEM", "bytes, the limit is", []byte(strings.Repeat("-----BEGIN ", 100_000))},
		{"many headers", "not PEM", []byte("-----BEGIN CERTIFICATE REQUEST-----\n" + strings.Repeat("a:b\n", 4000))},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			at := time.Now()
			_, err := Parse(c.request)
			if took := time.Since(at); took > time.Second {
				t.Errorf("took %v for %d bytes", took, len(c.request))
			}
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("got %v, want one that says %q", err, c.says)
			}
			s := byToken()
			s.facts.Request, s.facts.ParseErr = s.csr, err
			if d := Decide(now, s.facts, s.policy); d.Verdict != Refuse || d.Reason != ReasonMalformed {
				t.Errorf("got %s (%s), want it refused, and left alone", d.Verdict, d.Reason)
			}
		})
	}
}

func TestKeysOfKubeletsAreRead(t *testing.T) {
	long, err := rsa.GenerateKey(rand.Reader, 3072)
	if err != nil {
		t.Fatal(err)
	}
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for reason, key := range map[string]any{"RSA with 3072 bits": long, "Ed25519": edwards} {
		der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Parse(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})); err != nil {
			t.Errorf("%s: %v", reason, err)
		}
	}
}

// The sender is judged before the content: the rest of the request is not read.
func TestSendersAreJudgedFirst(t *testing.T) {
	unread := func(s *scene) {
		s.facts.Request, s.facts.Certificate, s.facts.ParseErr = s.csr, nil, errors.New("no PEM")
	}
	cases := []struct {
		reason string
		base   func() *scene
		edit   func(*scene)
		want   Reason
		heard  bool
	}{
		{"a stranger who asks as a new node", byToken, func(s *scene) { s.csr.Spec.Groups = nil }, ReasonUntrusted, false},
		{"a node that renews", byAccount, func(s *scene) { s.csr.Spec.Username = "system:node:w1" }, ReasonRenewal, false},
		{"a switch that is off", byAccount, func(s *scene) { s.policy.ClientDisabled = true }, ReasonClientDisabled, false},
		{"a crowd", byToken, func(s *scene) { s.facts.Pending = 1000 }, ReasonTooMany, false},
		{"a stranger who asks as a server", byNode, func(s *scene) { s.csr.Spec.Username = "admin" }, ReasonUntrusted, false},
		{"a node that is in no group", byNode, func(s *scene) { s.csr.Spec.Groups = nil }, ReasonUntrusted, false},
		{"one that is decided", byNode, func(s *scene) { s.settle(certificatesv1.CertificateDenied) }, ReasonSettled, false},
		{"a signer of others", byNode, func(s *scene) { s.csr.Spec.SignerName = "x.io/y" }, ReasonForeign, false},
		{"a new node", byToken, nothing, ReasonMalformed, true},
		{"a new node with a token that is gone: who knows what it sent", byToken, func(s *scene) { s.facts.TokenKnown = false }, ReasonMalformed, true},
		{"the bootstrapper", byAccount, nothing, ReasonMalformed, true},
		{"a node", byNode, nothing, ReasonMalformed, true},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			s := c.base()
			c.edit(s)
			unread(s)
			if d := Decide(now, s.facts, s.policy); d.Reason != c.want {
				t.Errorf("got %s, want %s", d.Reason, c.want)
			}
			if heard := WorthReading(now, s.facts, s.policy); heard != c.heard {
				t.Errorf("heard is %v", heard)
			}
		})
	}
}
