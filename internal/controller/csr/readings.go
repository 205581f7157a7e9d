package csr

import (
	"crypto/x509"
	"sync"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/internal/engine/approval"
)

// readings remembers the content of requests, which never changes. Each request is parsed once and its
// signature checked once, however often it is judged. The zero value is ready for use.
type readings struct {
	mu  sync.Mutex
	all map[string]*reading // by name
}

type reading struct {
	uid      types.UID
	c        *x509.CertificateRequest
	err      error
	verified bool
}

// mostReadings bounds the memory: if more requests wait, some are parsed again.
const mostReadings = 2000

// read is the content of a request, from any sender.
func (s *readings) read(r *certificatesv1.CertificateSigningRequest) (*x509.CertificateRequest, error) {
	m := s.of(r)
	return m.c, m.err
}

// verified is the content of a request whose sender has the key.
func (s *readings) verified(r *certificatesv1.CertificateSigningRequest) (*x509.CertificateRequest, error) {
	m := s.of(r)
	if m.err != nil || m.verified {
		return m.c, m.err
	}
	m.verified = true
	if m.err = approval.Verify(m.c); m.err != nil {
		m.c = nil
	}
	s.keep(r.Name, m)
	return m.c, m.err
}

func (s *readings) of(r *certificatesv1.CertificateSigningRequest) reading {
	s.mu.Lock()
	m, ok := s.all[r.Name]
	s.mu.Unlock()
	if ok && m.uid == r.UID {
		return *m
	}
	n := reading{uid: r.UID}
	n.c, n.err = approval.Read(r.Spec.Request)
	s.keep(r.Name, n)
	return n
}

func (s *readings) keep(name string, m reading) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[string]*reading{}
	}
	if _, ok := s.all[name]; !ok && len(s.all) >= mostReadings {
		for other := range s.all {
			delete(s.all, other)
			break
		}
	}
	s.all[name] = &m
}

func (s *readings) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, name)
}
