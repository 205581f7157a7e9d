package devplane

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

const (
	caLifetime   = 10 * 365 * 24 * time.Hour
	leafLifetime = 365 * 24 * time.Hour
	// backdate makes new certificates valid on machines whose clocks are a little behind.
	backdate = 5 * time.Minute
)

// pki is the certificate authority of one control plane. Its key signs certificates of servers, clients and, through
// kube-controller-manager, nodes. It lasts as long as the folder; the components get new certificates at each start.
type pki struct {
	dir  string
	cert *x509.Certificate
	key  crypto.Signer
}

// openPKI loads the authority from the folder, or creates one.
func openPKI(dir string) (*pki, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("creating the folder of certificates: %w", err)
	}
	p := &pki{dir: dir}
	_, err := os.Stat(p.path("ca.crt"))
	if errors.Is(err, os.ErrNotExist) {
		err = p.create()
	}
	if err != nil {
		return nil, fmt.Errorf("creating the certificate authority: %w", err)
	}
	return loadPKI(dir)
}

func loadPKI(dir string) (*pki, error) {
	p := &pki{dir: dir}
	certBlock, err := readPEM(p.path("ca.crt"))
	if err != nil {
		return nil, err
	}
	if p.cert, err = x509.ParseCertificate(certBlock); err != nil {
		return nil, fmt.Errorf("parsing %s: %w", p.path("ca.crt"), err)
	}
	keyBlock, err := readPEM(p.path("ca.key"))
	if err != nil {
		return nil, err
	}
	if p.key, err = x509.ParseECPrivateKey(keyBlock); err != nil {
		return nil, fmt.Errorf("parsing %s: %w", p.path("ca.key"), err)
	}
	return p, nil
}

func (p *pki) path(name string) string { return filepath.Join(p.dir, name) }

// create writes the authority and the key for service account tokens. It writes the certificate last: its existence marks the
// rest as complete.
func (p *pki) create() error {
	if err := p.createServiceAccountKey(); err != nil {
		return err
	}
	key, err := newKey()
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "millwright-box"},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature,
	}
	cert, err := sign(template, template, key.Public(), key, caLifetime)
	if err != nil {
		return err
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return err
	}
	if err := os.WriteFile(p.path("ca.key"), keyPEM, 0o600); err != nil {
		return err
	}
	return os.WriteFile(p.path("ca.crt"), encodeCert(cert), 0o644)
}

func (p *pki) createServiceAccountKey() error {
	key, err := newKey()
	if err != nil {
		return err
	}
	private, err := encodeKey(key)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	if err := os.WriteFile(p.path("sa.key"), private, 0o600); err != nil {
		return err
	}
	return os.WriteFile(p.path("sa.pub"), pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}), 0o644)
}

// keyPair is a certificate and its key, both in PEM.
type keyPair struct{ cert, key []byte }

// client issues a certificate that identifies a user and its groups to the API server.
func (p *pki) client(user string, groups ...string) (keyPair, error) {
	return p.issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: user, Organization: groups},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

// server issues a certificate for the given DNS names and IP addresses.
func (p *pki) server(commonName string, names []string) (keyPair, error) {
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: commonName},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	return p.issue(template)
}

func (p *pki) issue(template *x509.Certificate) (keyPair, error) {
	key, err := newKey()
	if err != nil {
		return keyPair{}, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	cert, err := sign(template, p.cert, key.Public(), p.key, leafLifetime)
	if err != nil {
		return keyPair{}, fmt.Errorf("issuing a certificate for %s: %w", template.Subject.CommonName, err)
	}
	keyPEM, err := encodeKey(key)
	return keyPair{cert: encodeCert(cert), key: keyPEM}, err
}

// write stores a pair as name.crt and name.key.
func (p *pki) write(name string, pair keyPair) error {
	if err := os.WriteFile(p.path(name+".key"), pair.key, 0o600); err != nil {
		return err
	}
	return os.WriteFile(p.path(name+".crt"), pair.cert, 0o644)
}

func sign(template, parent *x509.Certificate, public crypto.PublicKey, signer crypto.Signer, lifetime time.Duration) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	template.SerialNumber = serial
	template.NotBefore = time.Now().Add(-backdate)
	template.NotAfter = template.NotBefore.Add(lifetime)
	return x509.CreateCertificate(rand.Reader, template, parent, public, signer)
}

func newKey() (*ecdsa.PrivateKey, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }

func encodeCert(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}

func readPEM(path string) ([]byte, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(content)
	if block == nil {
		return nil, fmt.Errorf("%s holds no PEM block", path)
	}
	return block.Bytes, nil
}
