package certs

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Keys of the secret besides those of every TLS secret.
const (
	bundleKey = "ca.crt"
	caKeyKey  = "ca.key"
)

// Names of the files in the folder.
const (
	certFile = corev1.TLSCertKey
	keyFile  = corev1.TLSPrivateKeyKey
)

// Options say where certificates come from.
type Options struct {
	// Dir is the folder that may have a certificate, as tls.crt and tls.key.
	Dir string
	// Client reads and writes secrets and webhook configurations past any cache.
	Client client.Client
	// Secret keeps the certificate that the process creates.
	Secret client.ObjectKey
	// Configurations are the names of the webhook configurations whose webhooks the process serves.
	Configurations []string
	// Period is the pause between two checks.
	Period time.Duration
	Clock  clock.Clock
	Log    logr.Logger
}

// Keeper has the certificate to serve. A certificate in the folder has precedence, and is read again when
// the file changes. If the folder has no certificate, and no other controller writes a CA into the webhook configurations,
// the process creates a certificate, keeps it in the secret, which all replicas share, and writes its CA
// into the webhook configurations.
type Keeper struct {
	Options
	files *certwatcher.CertWatcher
	// made is the certificate of the secret.
	made  atomic.Pointer[tls.Certificate]
	ready chan struct{}
	told  string
}

// New returns a keeper that has no certificate yet.
func New(o Options) *Keeper { return &Keeper{Options: o, ready: make(chan struct{})} }

// Ready is closed as soon as there is a certificate.
func (k *Keeper) Ready() <-chan struct{} { return k.ready }

// GetCertificate is for [tls.Config]. Do not call it before the keeper is ready.
func (k *Keeper) GetCertificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if c := k.made.Load(); c != nil {
		return c, nil
	}
	return k.files.GetCertificate(hello)
}

// Run keeps a certificate until ctx ends. An error is logged once, and the step is tried again.
func (k *Keeper) Run(ctx context.Context) {
	for {
		k.tell(k.pass(ctx))
		pause := k.Clock.NewTimer(k.Period)
		select {
		case <-ctx.Done():
			pause.Stop()
			return
		case <-pause.C():
		}
	}
}

// notNeededError says why no certificate is needed yet, which is no failure: a cluster may have no webhooks.
type notNeededError string

func (n notNeededError) Error() string { return string(n) }

// tell logs an error if it is new.
func (k *Keeper) tell(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text == k.told || apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || errors.Is(err, context.Canceled) {
		return
	}
	k.told = text
	if why, ok := errors.AsType[notNeededError](err); ok {
		k.Log.Info("No webhooks are served", "why", string(why))
		return
	}
	if err != nil {
		k.Log.Error(err, "Webhooks have no certificate, or not the present one; objects are written without them")
		return
	}
	k.Log.Info("Webhooks have a certificate")
}

func (k *Keeper) pass(ctx context.Context) error {
	found, err := k.read(ctx)
	if found || err != nil {
		return err
	}
	all, err := configurations(ctx, k.Client, k.Configurations)
	if apierrors.IsForbidden(err) { // the original's roles: it relies on the folder
		return notNeededError(fmt.Sprintf("%s has no %s and %s, and the process may not look for a webhook configuration: %v", k.Dir, certFile, keyFile, err))
	}
	if err != nil {
		return err
	}
	ours := slices.DeleteFunc(all, configuration.theirs)
	names := hosts(ours)
	if len(names) == 0 {
		return notNeededError(fmt.Sprintf("%s has no %s and %s, and there is no webhook configuration of ours that a CA could be written into", k.Dir, certFile, keyFile))
	}
	bundle, err := k.make(ctx, names)
	if err != nil {
		return err
	}
	for _, c := range ours {
		if !c.trust(bundle) {
			continue
		}
		if err := k.Client.Update(ctx, c.object); err != nil {
			return fmt.Errorf("write the CA into the webhook configuration %s: %w", c.object.GetName(), err)
		}
	}
	return nil
}

// read follows the files of the folder once they exist, and reports whether they do.
func (k *Keeper) read(ctx context.Context) (bool, error) {
	if k.files != nil {
		return true, nil
	}
	crt, key := filepath.Join(k.Dir, certFile), filepath.Join(k.Dir, keyFile)
	for _, file := range []string{crt, key} {
		if _, err := os.Stat(file); err != nil {
			return false, nil //nolint:nilerr // a file that cannot be read is treated as absent
		}
	}
	files, err := certwatcher.New(crt, key)
	if err != nil {
		return false, fmt.Errorf("read the certificate of %s: %w", k.Dir, err)
	}
	go func() {
		if err := files.Start(ctx); err != nil {
			k.Log.Error(err, "Cannot follow the files of the certificate", "dir", k.Dir)
		}
	}()
	k.files = files
	k.made.Store(nil)
	k.open()
	return true, nil
}

// make serves the certificate of the secret, or a new one if the secret has no certificate, and returns the CAs to trust.
func (k *Keeper) make(ctx context.Context, names []string) ([]byte, error) {
	s := &corev1.Secret{}
	s.Namespace, s.Name = k.Secret.Namespace, k.Secret.Name
	err := k.Client.Get(ctx, k.Secret, s)
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return nil, fmt.Errorf("read the secret %s: %w", k.Secret, err)
	}
	was := Material{Bundle: s.Data[bundleKey], CAKey: s.Data[caKeyKey], Cert: s.Data[corev1.TLSCertKey], Key: s.Data[corev1.TLSPrivateKeyKey]}
	m, err := was.Renewed(k.Clock.Now(), names)
	if err != nil {
		return nil, err
	}
	if !m.Equal(was) {
		if err := k.save(ctx, s, m, missing); err != nil {
			return nil, fmt.Errorf("keep the certificate in the secret %s: %w", k.Secret, err)
		}
	}
	pair, err := tls.X509KeyPair(m.Cert, m.Key)
	if err != nil {
		return nil, fmt.Errorf("read the certificate of the secret %s: %w", k.Secret, err)
	}
	k.made.Store(&pair)
	k.open()
	return m.Bundle, nil
}

func (k *Keeper) save(ctx context.Context, s *corev1.Secret, m Material, missing bool) error {
	if s.Data == nil {
		s.Data = map[string][]byte{}
	}
	s.Data[bundleKey], s.Data[caKeyKey] = m.Bundle, m.CAKey
	s.Data[corev1.TLSCertKey], s.Data[corev1.TLSPrivateKeyKey] = m.Cert, m.Key
	if missing {
		return k.Client.Create(ctx, s)
	}
	return k.Client.Update(ctx, s)
}

// open releases the callers that wait for the first certificate.
func (k *Keeper) open() {
	select {
	case <-k.ready:
	default:
		close(k.ready)
	}
}
