package double

import (
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
	"net/http"
	"sync"
	"time"
)

// Proxy answers for every host. It is an HTTP proxy that sends requests for a cloud's own addresses to the simulator. A
// client uses the usual addresses with HTTPS_PROXY, and must trust [Authority.PEM] (SSL_CERT_FILE). Requests that are not
// proxy requests go to the simulator unchanged.
type Proxy struct {
	authority *Authority
	server    *http.Server
	inner     http.Handler
	secured   *queue
}

// NewProxy returns a proxy in front of handler, with certificates of the authority.
func NewProxy(handler http.Handler, authority *Authority) *Proxy {
	p := &Proxy{authority: authority, inner: handler, secured: &queue{conns: make(chan net.Conn), closed: make(chan struct{})}}
	p.server = &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go func() { _ = p.server.Serve(p.secured) }()
	return p
}

// Close closes the server behind the proxy.
func (p *Proxy) Close() error { return p.server.Close() }

// ServeHTTP implements [http.Handler].
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		p.inner.ServeHTTP(w, r)
		return
	}
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if _, err := fmt.Fprint(conn, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil || buffered.Reader.Buffered() > 0 {
		_ = conn.Close()
		return
	}
	p.secured.hand(tls.Server(conn, &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"http/1.1", "h2"}, // only clients of gRPC offer nothing but HTTP/2
		GetCertificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) {
			if h.ServerName != "" {
				host = h.ServerName
			}
			return p.authority.For(host)
		},
	}))
}

// queue is a listener that returns the connections passed to it.
type queue struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func (q *queue) hand(c net.Conn) {
	select {
	case q.conns <- c:
	case <-q.closed:
		_ = c.Close()
	}
}

func (q *queue) Accept() (net.Conn, error) {
	select {
	case c := <-q.conns:
		return c, nil
	case <-q.closed:
		return nil, net.ErrClosed
	}
}

func (q *queue) Close() error   { q.once.Do(func() { close(q.closed) }); return nil }
func (q *queue) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// Authority issues certificates for any host.
type Authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate

	mu     sync.Mutex
	issued map[string]*tls.Certificate
}

// NewAuthority creates a certificate authority, which no client trusts yet.
func NewAuthority() (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "double of a cloud"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0), KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	return &Authority{key: key, cert: cert, issued: map[string]*tls.Certificate{}}, err
}

// PEM is the certificate to trust.
func (a *Authority) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// For returns a certificate for a host, which may be an IP address.
func (a *Authority) For(host string) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c, ok := a.issued[host]; ok {
		return c, nil
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(int64(len(a.issued) + 2)), Subject: pkix.Name{CommonName: host},
		NotBefore: a.cert.NotBefore, NotAfter: a.cert.NotAfter, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &a.key.PublicKey, a.key)
	if err != nil {
		return nil, err
	}
	c := &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: a.key}
	a.issued[host] = c
	return c, nil
}
