package start

import (
	"bytes"
	"crypto/tls"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/util/cert"

	"github.com/millwright-dev/millwright/internal/operator/operands"
)

// TestCertificateMayComeLater: section 8, the certificate of the metrics' port is that of the folder, whenever it comes there, and follows its
// changes. Until then, and while there is half of one, what was served before is.
func TestCertificateMayComeLater(t *testing.T) {
	o := options{port: 8443, certDir: t.TempDir()}
	var profile atomic.Pointer[operands.TLS]
	profile.Store(&operands.TLS{MinVersion: "VersionTLS12"})
	own := []byte("made by the process")
	c := &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{own}}}}
	for _, set := range o.metrics(&profile).TLSOpts {
		set(c)
	}
	served := func() []byte {
		t.Helper()
		each, err := c.GetConfigForClient(nil)
		if err != nil {
			t.Fatal(err)
		}
		return each.Certificates[0].Certificate[0]
	}
	written := time.Unix(1000, 0)
	write := func(name string, content []byte) {
		t.Helper()
		written = written.Add(time.Second)
		file := filepath.Join(o.certDir, name)
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, written, written); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(reason string, was []byte, same bool) []byte {
		t.Helper()
		is := served()
		if bytes.Equal(is, was) != same {
			t.Errorf("%s: another certificate is served: %v, want %v", reason, !bytes.Equal(is, was), !same)
		}
		return is
	}
	expect("the folder is empty", own, true)
	for _, round := range []string{"it is mounted", "it is renewed"} {
		before := served()
		crt, key, err := cert.GenerateSelfSignedCertKey("localhost", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		write("tls.crt", crt)
		expect("half of it is there", before, true)
		write("tls.key", key)
		expect(round, before, false)
		expect("nothing has changed", served(), true)
	}
	last := served()
	if err := os.Remove(filepath.Join(o.certDir, "tls.key")); err != nil {
		t.Fatal(err)
	}
	expect("it is taken away", last, true)
}
