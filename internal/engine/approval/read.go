package approval

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// These limits bound a request. Any holder of a bootstrap token or a node's identity can send one, and the
// time to check a signature grows with the length of the key.
const (
	// mostBytes is the size limit of a request. A kubelet's request has one or two thousand bytes.
	mostBytes = 16 << 10
	// mostBits is the longest RSA key. A kubelet's RSA key has 2048 bits.
	mostBits = 8192
)

// Read decodes the PEM block of a request. For any content it takes well below a millisecond. It does not
// check who signed the request: see [Verify].
func Read(request []byte) (*x509.CertificateRequest, error) {
	if len(request) > mostBytes {
		return nil, fmt.Errorf("spec.request: has %d bytes, the limit is %d", len(request), mostBytes)
	}
	block, rest := pem.Decode(request)
	switch {
	case block == nil:
		return nil, errors.New("spec.request: not PEM")
	case block.Type != "CERTIFICATE REQUEST":
		return nil, fmt.Errorf("spec.request: PEM type %q, not CERTIFICATE REQUEST", block.Type)
	case len(bytes.TrimSpace(rest)) > 0:
		return nil, errors.New("spec.request: has data after the PEM block")
	}
	c, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("spec.request: %w", err)
	}
	switch key := c.PublicKey.(type) {
	case *rsa.PublicKey:
		if bits := key.N.BitLen(); bits > mostBits {
			return nil, fmt.Errorf("spec.request: RSA key has %d bits, the limit is %d", bits, mostBits)
		}
	case *ecdsa.PublicKey, ed25519.PublicKey:
	default:
		return nil, fmt.Errorf("spec.request: public key algorithm %v is not used by kubelets", c.PublicKeyAlgorithm)
	}
	return c, nil
}

// Verify checks that the sender of a request has the private key for the requested certificate.
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
