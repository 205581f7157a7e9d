package remote_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/internal/demo/devplane/ports"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/providertest"
	"github.com/millwright-dev/millwright/provider/remote"
	"github.com/millwright-dev/millwright/provider/remote/wire"
)

var class = provider.Class{
	API: provider.Gardener, Cluster: "prod", Spec: []byte(`{"size":"small","zone":"a"}`), Credentials: map[string][]byte{"password": []byte("sesame")},
}

// TestProviderThatRestarts: a controller may start first, loses only calls in progress, and continues with the next process.
func TestProviderThatRestarts(t *testing.T) {
	path := socket(t)
	c := dial(t, "example", path)
	_, err := c.Open(t.Context(), class)
	fails(t, err, provider.Transient)
	if text := err.Error(); !strings.Contains(text, "example") || !strings.Contains(text, path) {
		t.Errorf("%q does not say which provider is missing where", text)
	}
	cloud := providertest.NewCloud(clock.RealClock{})
	var last provider.Session
	for range 3 {
		p := served(t, path, remote.Served{Provider: cloud.Provider(), Identities: exampleIDs})
		s := opened(t, c)
		if made, err := s.Create(t.Context(), mine, provider.Want{}); err != nil || made.UID != mine.UID {
			t.Errorf("made %+v, %v", made, err)
		}
		p.grpc.Stop()
		_, err := s.Find(t.Context(), mine)
		fails(t, err, provider.Transient)
		last = s
	}
	served(t, path, remote.Served{Provider: cloud.Provider(), Identities: exampleIDs})
	opened(t, c)
	if found, err := last.Find(t.Context(), mine); err != nil || len(found) != 1 {
		t.Errorf("a session of another process's time finds %+v, %v", found, err)
	}
}

// opened opens the class as soon as the provider answers.
func opened(t *testing.T, c *remote.Client) provider.Session {
	t.Helper()
	for begun := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		s, err := c.Open(t.Context(), class)
		if err == nil {
			return s
		}
		if time.Since(begun) > time.Minute {
			t.Fatal(err)
		}
	}
}

// TestEachConnectionIsGreeted: the process at the socket may have been replaced by another version or provider.
func TestEachConnectionIsGreeted(t *testing.T) {
	path := socket(t)
	l := &liar{}
	begin := func() *process {
		return start(t, path, func(g *grpc.Server) { wire.RegisterProviderServer(g, l) })
	}
	p := begin()
	c := dial(t, "liar", path)
	s := opened(t, c)
	greeted := l.greeted
	opened(t, c)
	if l.greeted != greeted {
		t.Errorf("greeted %d times, and then %d times on one connection", greeted, l.greeted)
	}
	p.grpc.Stop()
	l.hello = &wire.HelloReply{Version: 1, Name: "other"}
	begin()
	for begun := time.Now(); time.Since(begun) < time.Minute; time.Sleep(50 * time.Millisecond) {
		_, err := c.Open(t.Context(), class)
		if err == nil {
			t.Fatal("another provider is taken for this one")
		}
		if !strings.Contains(err.Error(), `calls itself "other"`) {
			continue
		}
		l.find = &wire.FindReply{Complete: true}
		if found, err := s.Find(t.Context(), mine); err == nil {
			t.Errorf("another provider finds %v, and is believed", found)
		}
		return
	}
	t.Error("nobody noticed that it is another provider")
}

// TestServerRefusesAnotherVersion: a caller that greeted another process greets again.
func TestServerRefusesAnotherVersion(t *testing.T) {
	s := remote.NewServer(remote.Served{Provider: providertest.NewCloud(clock.RealClock{}).Provider(), Clock: clock.RealClock{}, Identities: exampleIDs})
	_, err := s.Find(t.Context(), &wire.FindRequest{Version: 2, Class: &wire.Class{Cluster: "prod"}})
	if status.Code(err) != codes.FailedPrecondition {
		t.Errorf("got %v", err)
	}
	if _, err = s.Refers(t.Context(), &wire.RefersRequest{Version: 2}); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("got %v", err)
	}
	a, err := s.Hello(t.Context(), &wire.HelloRequest{Versions: []uint32{0, 1, 2}})
	if err != nil || a.GetVersion() != 1 || a.GetName() != "example" {
		t.Errorf("of 0, 1 and 2: %v, %v", a, err)
	}
	if a, err = s.Hello(t.Context(), &wire.HelloRequest{Versions: []uint32{2}}); err != nil || a.GetVersion() != 0 || len(a.GetVersions()) != 1 {
		t.Errorf("of 2: %v, %v", a, err)
	}
}

// stubborn is a provider whose creations continue when they are canceled.
type stubborn struct {
	provider.Provider
	provider.Session
	mu     sync.Mutex
	begun  chan struct{}
	goOn   chan struct{}
	landed []string
}

func (*stubborn) Name() string { return "stubborn" }

func (*stubborn) Traits() provider.Traits { return provider.Traits{} }

func (*stubborn) Account(context.Context) (string, error) { return "", provider.ErrNoAccount }

func (p *stubborn) Open(context.Context, provider.Class) (provider.Session, error) { return p, nil }

func (p *stubborn) Create(_ context.Context, ref provider.Ref, _ provider.Want) (provider.Instance, error) {
	close(p.begun)
	<-p.goOn
	p.land("create")
	return provider.Instance{ID: "i-1", UID: ref.UID, State: provider.Running}, nil
}

func (p *stubborn) Delete(context.Context, provider.Ref, []provider.Instance) (bool, error) {
	p.land("delete")
	return true, nil
}

func (p *stubborn) land(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.landed = append(p.landed, what)
}

// TestCreationDoesNotLandBehindADeletion: a caller that canceled a creation, and its successor on another
// connection, delete nothing while the creation may take effect.
func TestCreationDoesNotLandBehindADeletion(t *testing.T) {
	path := socket(t)
	p := &stubborn{begun: make(chan struct{}), goOn: make(chan struct{})}
	served(t, path, remote.Served{Provider: p})
	first := opened(t, dial(t, "stubborn", path))
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-p.begun; cancel() }()
	_, err := first.Create(ctx, mine, provider.Want{})
	fails(t, err, provider.Transient)

	next := opened(t, dial(t, "stubborn", path))
	done, err := next.Delete(t.Context(), mine, nil)
	if kind := provider.KindOf(err); done || kind != provider.Conflict && kind != provider.Transient {
		t.Errorf("a deletion overtakes a creation: %v, %v", done, err)
	}
	if done, err := next.Delete(t.Context(), provider.Ref{UID: "uid-2"}, nil); !done || err != nil {
		t.Errorf("another machine is held up: %v, %v", done, err)
	}
	close(p.goOn)
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		if done, err = next.Delete(t.Context(), mine, nil); done || time.Since(begun) > time.Minute {
			break
		}
	}
	if got := strings.Join(p.landed, ", "); !done || err != nil || got != "delete, create, delete" {
		t.Errorf("landed %q, then %v, %v", got, done, err)
	}
}

// opener is a provider that reads a ConfigMap to open a class.
type opener struct {
	provider.Provider
	provider.Session
	objects provider.Objects
}

var region = provider.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "cloud", Name: "region"}

func (*opener) Name() string { return "opener" }

func (p *opener) Open(ctx context.Context, _ provider.Class) (provider.Session, error) {
	raw, err := p.objects.Object(ctx, region)
	switch {
	case errors.Is(err, provider.ErrNoObject):
		return sourced{opener: p, source: "none"}, nil
	case err != nil:
		return nil, err
	}
	return sourced{opener: p, source: provider.ClientKey(raw)}, nil
}

func (p *opener) Find(context.Context, provider.Ref) ([]provider.Instance, error) { return nil, nil }

type sourced struct {
	provider.Base
	*opener
	source provider.ClientKey
}

func (s sourced) Traits() provider.Traits { return provider.Traits{Source: s.source} }

type object func(provider.ObjectRef) ([]byte, error)

func (o object) Object(_ context.Context, ref provider.ObjectRef) ([]byte, error) { return o(ref) }

// TestObjectsComeWithTheClass: a provider needs no permissions in the cluster that holds the machines.
func TestObjectsComeWithTheClass(t *testing.T) {
	path := socket(t)
	served(t, path, remote.Served{Provider: &opener{objects: remote.Objects{}}})
	for reason, c := range map[string]struct {
		answer object
		source provider.ClientKey
		kind   provider.Kind
	}{
		"it is there":         {func(provider.ObjectRef) ([]byte, error) { return []byte("eu"), nil }, "eu", ""},
		"it is not there":     {func(provider.ObjectRef) ([]byte, error) { return nil, provider.ErrNoObject }, "none", ""},
		"it may not be read":  {func(provider.ObjectRef) ([]byte, error) { return nil, provider.Errorf(provider.Denied, "no") }, "", provider.Denied},
		"nobody answers":      {func(provider.ObjectRef) ([]byte, error) { return nil, errors.New("timeout") }, "", provider.Transient},
		"nothing may be read": {nil, "", provider.Denied},
	} {
		t.Run(reason, func(t *testing.T) {
			client := dial(t, "opener", path, func(config *remote.Config) {
				if config.Allowed = []provider.ObjectRef{region}; c.answer != nil {
					config.Objects = c.answer
				}
			})
			s, err := client.Open(t.Context(), class)
			if provider.KindOf(err) != c.kind {
				t.Fatalf("open: %v", err)
			}
			if err != nil {
				return
			}
			if from := s.Traits().Source; from != c.source {
				t.Errorf("opened from %q, want %q", from, c.source)
			}
			if found, err := s.Find(t.Context(), mine); err != nil || len(found) > 0 {
				t.Errorf("later calls come with it as well: %v, %v", found, err)
			}
		})
	}
}

// referring is a provider that reads secrets from specs.
type referring struct{ provider.Provider }

func (referring) ReadSpec(api string, spec []byte) (provider.SpecNames, error) {
	if len(spec) == 0 {
		return provider.SpecNames{}, provider.InvalidField("secret", "is missing")
	}
	return provider.SpecNames{UserData: provider.SecretRef{Namespace: api, Name: string(spec)}, Credentials: provider.SecretRef{Name: "credentials"}}, nil
}

// TestSpecReader: while a provider does not answer, it is unknown whether it reads secrets from specs, and
// then no other reader replaces it.
func TestSpecReader(t *testing.T) {
	path := socket(t)
	c := dial(t, "example", path)
	refers := func(spec string) (provider.SpecNames, error) {
		r, ok := provider.As[provider.SpecReader](c)
		if !ok {
			t.Fatal("it is no SpecReader")
		}
		return r.ReadSpec("api", []byte(spec))
	}
	_, err := refers("x")
	fails(t, err, provider.Transient)
	cloud := providertest.NewCloud(clock.RealClock{})
	p := served(t, path, remote.Served{Provider: referring{cloud.Provider()}, Identities: exampleIDs})
	opened(t, c)
	names, err := refers("x")
	if err != nil || names.UserData != (provider.SecretRef{Namespace: "api", Name: "x"}) || names.Credentials != (provider.SecretRef{Name: "credentials"}) {
		t.Errorf("it names %+v, %v", names, err)
	}
	_, err = refers("")
	if e, _ := errors.AsType[*provider.Error](err); e == nil || e.Kind != provider.Invalid || e.Field != "secret" {
		t.Errorf("a spec without one is %v", err)
	}
	p.grpc.Stop()
	served(t, path, remote.Served{Provider: cloud.Provider(), Identities: exampleIDs})
	opened(t, c)
	if _, ok := provider.As[provider.SpecReader](c); ok {
		t.Error("the next process is none, and is taken for one")
	}
}

// TestIdentifierNeedsPatterns: provider IDs that only code can read cannot be compared while that code is unreachable.
func TestIdentifierNeedsPatterns(t *testing.T) {
	path := socket(t)
	served(t, path, remote.Served{Provider: providertest.NewCloud(clock.RealClock{}).Provider()})
	_, err := dial(t, "example", path).Open(t.Context(), class)
	if fails(t, err, provider.Transient); !strings.Contains(err.Error(), "Served.Identities") {
		t.Errorf("opened with %v", err)
	}
}

// TestProviderThatPanics: a panic ends one call, and no other.
func TestProviderThatPanics(t *testing.T) {
	path := socket(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	p := &opener{objects: remote.Objects{}} // whose List and Delete have no session
	go func() {
		ended <- remote.Serve(ctx, remote.Listening{Address: "unix://" + path}, remote.Served{Provider: p, Clock: clock.RealClock{}})
	}()
	open := func(config *remote.Config) {
		config.Allowed, config.Objects = []provider.ObjectRef{region}, object(func(provider.ObjectRef) ([]byte, error) { return nil, provider.ErrNoObject })
	}
	s := opened(t, dial(t, "opener", path, open))
	_, err := s.Delete(t.Context(), mine, nil)
	fails(t, err, provider.Transient)
	_, err = collect(t.Context(), s)
	fails(t, err, provider.Transient)
	if found, err := s.Find(t.Context(), mine); err != nil || len(found) > 0 {
		t.Errorf("find: %v, %v", found, err)
	}
	again := remote.Serve(ctx, remote.Listening{Address: "unix://" + path}, remote.Served{Provider: p, Clock: clock.RealClock{}})
	if again == nil || !strings.Contains(again.Error(), "another process listens there") {
		t.Errorf("two processes at one socket: %v", again)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o660 {
		t.Errorf("the socket is %v, %v", info, err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestMutualTLS: each side has to trust the other, and a renewed certificate applies from the next
// connection on.
func TestMutualTLS(t *testing.T) {
	ours, theirs := newCA(t), newCA(t)
	server := ours.issue(t, "provider.example")
	address, err := ports.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- remote.Serve(ctx, remote.Listening{Address: address, TLS: server}, remote.Served{
			Provider: providertest.NewCloud(clock.RealClock{}).Provider(), Clock: clock.RealClock{}, Identities: exampleIDs,
		})
	}()
	at := func(files *remote.TLS, name string) *remote.Client {
		files.ServerName = name
		return dial(t, "example", "", func(c *remote.Config) { c.Address, c.TLS, c.Timeouts.Read = address, files, 10*time.Second })
	}
	opened(t, at(ours.issue(t, "controller"), "provider.example"))
	strange := ours.issue(t, "controller")
	foreign := theirs.issue(t, "controller")
	strange.Cert, strange.Key = foreign.Cert, foreign.Key
	for reason, c := range map[string]*remote.Client{
		"a server for another name":         at(ours.issue(t, "controller"), "other.example"),
		"a server of a CA that is not ours": at(theirs.issue(t, "controller"), "provider.example"),
		"a client of a CA that is not ours": at(strange, "provider.example"),
	} {
		_, err := c.Open(t.Context(), class)
		if fails(t, err, provider.Transient); err == nil {
			t.Error(reason)
		}
	}
	renew(t, strange, ours.issue(t, "controller"))
	opened(t, at(strange, "provider.example"))
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestAddresses: credentials are never sent in plain text, and errors are reported before anything starts.
func TestAddresses(t *testing.T) {
	for reason, c := range map[string]struct {
		name, address string
		tls           *remote.TLS
		says          string
	}{
		"plain TCP":           {"a", "127.0.0.1:1", nil, "TLS on both sides"},
		"a relative path":     {"a", "unix://run/a.sock", nil, "begins with a slash"},
		"a path alone":        {"a", "/run/a.sock", nil, "neither unix:///path nor host:port"},
		"TLS at a socket":     {"a", "unix:///run/a.sock", &remote.TLS{}, "leave out certificate"},
		"no such certificate": {"a", "host:1", &remote.TLS{Cert: "/none", Key: "/none", CA: "/none"}, "read the certificate"},
		"no name":             {"", "unix:///run/a.sock", nil, "no name of a provider"},
		"a name for people":   {"My cloud", "unix:///run/a.sock", nil, "no name of a provider"},
	} {
		if _, err := remote.Dial(remote.Config{Name: c.name, Address: c.address, TLS: c.tls}); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", reason, err, c.says)
		}
		if c.name != "a" {
			continue
		}
		if err := remote.Serve(t.Context(), remote.Listening{Address: c.address, TLS: c.tls}, remote.Served{}); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s, to listen: %v, want %q", reason, err, c.says)
		}
	}
}

// authority is a CA of a test.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	file string
}

func newCA(t *testing.T) *authority {
	t.Helper()
	a := &authority{key: newKey(t), cert: &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}}
	der, err := x509.CreateCertificate(rand.Reader, a.cert, a.cert, &a.key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	a.file = write(t, "CERTIFICATE", der)
	return a
}

// issue writes a certificate for a name, which both sides may use.
func (a *authority) issue(t *testing.T, name string) *remote.TLS {
	t.Helper()
	key := newKey(t)
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a.cert, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return &remote.TLS{Cert: write(t, "CERTIFICATE", der), Key: write(t, "PRIVATE KEY", raw), CA: a.file}
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func write(t *testing.T, kind string, der []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// renew replaces the files of in by those of from.
func renew(t *testing.T, in, from *remote.TLS) {
	t.Helper()
	for to, of := range map[string]string{in.Cert: from.Cert, in.Key: from.Key} {
		raw, err := os.ReadFile(of)
		if err == nil {
			err = os.WriteFile(to, raw, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
