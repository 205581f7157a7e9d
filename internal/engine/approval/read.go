package approval

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// Bounds of a request. Whoever has a bootstrap token, or a node's identity, may
// send one, and checking a signature takes the longer the longer the key is.
const (
	// mostBytes is the most that a request may have. A kubelet's has one or two
	// thousand.
	mostBytes = 16 << 10
	// mostBits is the longest RSA key; kubelets have 2048 bits, or none.
	mostBits = 8192
)

// Read decodes the PEM block of a request. It takes well below a millisecond,
// whatever the request holds, and does not ask whose it is: see [Verify].
func Read(request []byte) (*x509.CertificateRequest, error) {
	if len(request) > mostBytes {
		return nil, fmt.Errorf("spec.request: has %d bytes, more than %d", len(request), mostBytes)
	}
	block, rest := pem.Decode(request)
	switch {
	case block == nil:
		return nil, errors.New("spec.request: not PEM")
	case block.Type != "CERTIFICATE REQUEST":
		return nil, fmt.Errorf("spec.request: PEM type %q, not CERTIFICATE REQUEST", block.Type)
	case len(rest) > 0:
		return nil, errors.New("spec.request: more than one PEM block")
	}
	c, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("spec.request: %w", err)
	}
	switch key := c.PublicKey.(type) {
	case *rsa.PublicKey:
		if bits := key.N.BitLen(); bits > mostBits {
			return nil, fmt.Errorf("spec.request: an RSA key of %d bits, more than %d", bits, mostBits)
		}
	case *ecdsa.PublicKey, ed25519.PublicKey:
	default:
		return nil, fmt.Errorf("spec.request: public key algorithm %v is not one of kubelets", c.PublicKeyAlgorithm)
	}
	return c, nil
}

// Verify checks that the sender of a request has the key that it asks a
// certificate for.
func Verify(c *x509.CertificateRequest) error {
	if err := c.CheckSignature(); err != nil {
		return fmt.Errorf("spec.request: signature: %w", err)
	}
	return nil
}

// Parse reads a request and verifies it.
func Parse(request []byte) (*x509.CertificateRequest, error) {
	c, err := Read(request)
	if err == nil {
		err = Verify(c)
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}
