// Package certs maintains the certificate by which API servers recognize Millwright's webhooks: from files
// that another controller renews, or one that the process creates itself, with a CA that it publishes to
// the API server.
package certs

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"slices"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// The lifetimes of created certificates. Each is renewed when a third of its life is left: a CA thus stays
// in the bundle for longer than the certificates that it signed are served.
const (
	caLife   = 2 * 365 * 24 * time.Hour
	certLife = 90 * 24 * time.Hour
	// skew is how far other clocks may be behind.
	skew = time.Hour
)

// Material is a certificate with its CAs; all PEM.
type Material struct {
	// Bundle are the CAs to trust. The first one signs, with CAKey; the others have signed certificates
	// that may still be served.
	Bundle, CAKey []byte
	// Cert and Key are to be served.
	Cert, Key []byte
}

// Renewed is m, valid for names at now: DNS names and IP addresses, at least one. Parts of m that are
// missing, unreadable, about to expire or do not match are created again, and the others stay. Clients that
// have the bundle of m trust the served certificate, if that bundle was still valid.
func (m Material) Renewed(now time.Time, names []string) (Material, error) {
	old := readSigner(m)
	signer := old
	if !old.usable(now) || due(now, old.cert) {
		made, err := newCA(now)
		if err != nil {
			return m, err
		}
		if !old.usable(now) { // nobody trusts what it signs any more
			signer = made
		}
		m.CAKey = made.keyPEM
		m.Bundle = slices.Concat(made.certPEM, living(now, m.Bundle))
	}
	if serves(now, m, names) {
		return m, nil
	}
	return m, m.issue(now, signer, names)
}

// Equal reports whether two are the same.
func (m Material) Equal(o Material) bool {
	return bytes.Equal(m.Bundle, o.Bundle) && bytes.Equal(m.CAKey, o.CAKey) && bytes.Equal(m.Cert, o.Cert) && bytes.Equal(m.Key, o.Key)
}

// signer is a CA with its key; without a certificate it is empty.
type signer struct {
	cert            *x509.Certificate
	key             crypto.Signer
	certPEM, keyPEM []byte
}

// readSigner is the CA of m that signs; empty if it is unreadable.
func readSigner(m Material) signer {
	pair, err := tls.X509KeyPair(m.Bundle, m.CAKey)
	if err != nil {
		return signer{}
	}
	c, err := x509.ParseCertificate(pair.Certificate[0])
	key, ok := pair.PrivateKey.(crypto.Signer)
	if err != nil || !ok || !c.IsCA {
		return signer{}
	}
	return signer{cert: c, key: key}
}

func (s signer) usable(now time.Time) bool {
	return s.cert != nil && !now.Before(s.cert.NotBefore) && now.Before(s.cert.NotAfter)
}

// due reports whether a third of a certificate's life is left, or less.
func due(now time.Time, c *x509.Certificate) bool {
	return now.After(c.NotAfter.Add(-c.NotAfter.Sub(c.NotBefore) / 3))
}

// living are the certificates of a bundle that have not expired.
func living(now time.Time, bundle []byte) (out []byte) {
	all, err := cert.ParseCertsPEM(bundle)
	if err != nil {
		return nil
	}
	for _, c := range all {
		if now.Before(c.NotAfter) {
			out = append(out, encode(c.Raw)...)
		}
	}
	return out
}

// serves reports whether m's certificate is valid for the names, trusted by its bundle, and not due.
func serves(now time.Time, m Material, names []string) bool {
	pair, err := tls.X509KeyPair(m.Cert, m.Key)
	if err != nil {
		return false
	}
	c, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil || due(now, c) {
		return false
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(m.Bundle)
	if _, err := c.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}); err != nil {
		return false
	}
	return !slices.ContainsFunc(names, func(n string) bool { return c.VerifyHostname(n) != nil })
}

// issue creates a certificate for the names.
func (m *Material) issue(now time.Time, by signer, names []string) error {
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: names[0]},
		NotBefore:   now.Add(-skew),
		NotAfter:    earlier(now.Add(certLife), by.cert.NotAfter),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, n := range names {
		if ip := net.ParseIP(n); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, n)
		}
	}
	made, err := sign(template, &by)
	if err != nil {
		return fmt.Errorf("make a certificate: %w", err)
	}
	m.Cert, m.Key = made.certPEM, made.keyPEM
	return nil
}

func newCA(now time.Time) (signer, error) {
	made, err := sign(&x509.Certificate{
		Subject:               pkix.Name{CommonName: fmt.Sprintf("millwright-webhook-ca-%d", now.Unix())},
		NotBefore:             now.Add(-skew),
		NotAfter:              now.Add(caLife),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true, IsCA: true, MaxPathLenZero: true,
	}, nil)
	if err != nil {
		return made, fmt.Errorf("make a CA: %w", err)
	}
	return made, nil
}

// sign creates a key and a certificate for it, signed by a CA; nil: self-signed.
func sign(template *x509.Certificate, by *signer) (made signer, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return made, err
	}
	made.key = key
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
		return made, err
	}
	parent, parentKey := template, made.key
	if by != nil {
		parent, parentKey = by.cert, by.key
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), parentKey)
	if err != nil {
		return made, err
	}
	if made.cert, err = x509.ParseCertificate(raw); err != nil {
		return made, err
	}
	made.certPEM = encode(raw)
	made.keyPEM, err = keyutil.MarshalPrivateKeyToPEM(key)
	return made, err
}

func encode(raw []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: raw})
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
