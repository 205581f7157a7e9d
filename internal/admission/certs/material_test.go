package certs

import (
	"crypto/tls"
	"crypto/x509"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var epoch = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

const service = "w.ns.svc"

// trusted is why a client that trusts the bundle refuses the certificate of m for a name; nil: it does not.
func trusted(bundle []byte, m Material, now time.Time, name string) error {
	pair, err := tls.X509KeyPair(m.Cert, m.Key)
	if err != nil {
		return err
	}
	c, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	_, err = c.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now, DNSName: name})
	return err
}

func renewed(t *testing.T, m Material, now time.Time, names ...string) Material {
	t.Helper()
	m, err := m.Renewed(now, names)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if err := trusted(m.Bundle, m, now, n); err != nil {
			t.Fatalf("%s at %v: %v", n, now, err)
		}
	}
	return m
}

func TestRenewed(t *testing.T) {
	const day = 24 * time.Hour
	first := renewed(t, Material{}, epoch, service)
	other := renewed(t, Material{}, epoch, service)
	without := func(edit func(*Material)) Material {
		m := first
		edit(&m)
		return m
	}
	for _, c := range []struct {
		reason       string
		m            Material
		after        time.Duration
		names        []string
		ca, cert     bool // are created again
		trustsBefore bool
	}{
		{"nothing is due", first, 30 * day, []string{service}, false, false, true},
		{"two thirds of the certificate's life are over", first, 61 * day, []string{service}, false, true, true},
		{"the certificate has expired", first, 100 * day, []string{service}, false, true, true},
		{"two thirds of the CA's life are over", first, 490 * day, []string{service}, true, true, true},
		{"the CA has expired", first, 800 * day, []string{service}, true, true, false},
		{"another name", first, day, []string{service, "127.0.0.1"}, false, true, true},
		{"a name less", renewed(t, Material{}, epoch, service, "v.ns.svc"), day, []string{service}, false, false, true},
		{"before it begins: a clock went back", first, -2 * day, []string{service}, true, true, false},
		{"the key of the CA is another's", without(func(m *Material) { m.CAKey = other.CAKey }), day, []string{service}, true, false, true},
		{"the certificate is another CA's", without(func(m *Material) { m.Cert, m.Key = other.Cert, other.Key }), day, []string{service}, false, true, true},
		{"the key is another's", without(func(m *Material) { m.Key = other.Key }), day, []string{service}, false, true, true},
		{"the certificate is garbage", without(func(m *Material) { m.Cert = []byte("x") }), day, []string{service}, false, true, true},
		{"the bundle is garbage", without(func(m *Material) { m.Bundle = []byte("x") }), day, []string{service}, true, true, false},
	} {
		t.Run(c.reason, func(t *testing.T) {
			now := epoch.Add(c.after)
			m := renewed(t, c.m, now, c.names...)
			if ca := string(m.CAKey) != string(c.m.CAKey); ca != c.ca {
				t.Errorf("%s: the CA is made anew: %v", c.reason, ca)
			}
			if cert := string(m.Cert) != string(c.m.Cert); cert != c.cert {
				t.Errorf("%s: the certificate is made anew: %v", c.reason, cert)
			}
			if err := trusted(c.m.Bundle, m, now, service); (err == nil) != c.trustsBefore {
				t.Errorf("%s: who has not heard of a new CA yet: %v", c.reason, err)
			}
			if again := renewed(t, m, now, c.names...); !again.Equal(m) {
				t.Errorf("%s: what was just renewed is renewed again", c.reason)
			}
		})
	}
}

// TestRotationIsNotNoticed: if the certificate is checked once a month or more often, for years, every
// client that has the present bundle or the one before trusts it.
func TestRotationIsNotNoticed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now, m := epoch, Material{}
		var before []byte
		for range 40 {
			next, err := m.Renewed(now, []string{service})
			if err != nil {
				t.Fatal(err)
			}
			for _, bundle := range [][]byte{before, next.Bundle} {
				if bundle == nil {
					continue
				}
				if err := trusted(bundle, next, now, service); err != nil {
					t.Fatalf("at %v: %v", now, err)
				}
			}
			if len(next.Bundle) > 4000 {
				t.Fatalf("the bundle has %d bytes", len(next.Bundle))
			}
			before, m = next.Bundle, next
			now = now.Add(time.Duration(rapid.IntRange(10*24, 29*24).Draw(t, "hours")) * time.Hour)
		}
	})
}
