// Package infrastructure reads what an OpenShift cluster records about its cloud, for providers that need
// it to open a class: regions, endpoints, common tags, a bundle of certificates. Other clusters have none
// of these objects: the results are then empty.
package infrastructure

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/provider"
)

// Read returns the object Infrastructure "cluster" of config.openshift.io; nil if it does not exist.
func Read(ctx context.Context, objects provider.Objects) (*configv1.Infrastructure, error) {
	return read[configv1.Infrastructure](ctx, objects, provider.ObjectRef{
		APIVersion: configv1.GroupVersion.String(), Kind: "Infrastructure", Name: "cluster",
	})
}

// CABundle returns certificates in PEM: the value of the key in the ConfigMap; nil if either does not
// exist.
func CABundle(ctx context.Context, objects provider.Objects, namespace, name, key string) ([]byte, error) {
	m, err := read[corev1.ConfigMap](ctx, objects, provider.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: namespace, Name: name})
	if m == nil || err != nil || m.Data[key] == "" {
		return nil, err
	}
	return []byte(m.Data[key]), nil
}

// CloudCABundle is the [CABundle] that the operator of OpenShift's configuration maintains for all clouds.
func CloudCABundle(ctx context.Context, objects provider.Objects) ([]byte, error) {
	return CABundle(ctx, objects, "openshift-config-managed", "kube-cloud-config", "ca-bundle.pem")
}

// Trusted returns the certificates that the system trusts together with those of a bundle in PEM; ok is
// false if the bundle has no certificate.
func Trusted(bundle []byte) (pool *x509.CertPool, ok bool) {
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	return pool, pool.AppendCertsFromPEM(bundle)
}

func read[T any](ctx context.Context, objects provider.Objects, ref provider.ObjectRef) (*T, error) {
	if objects == nil {
		return nil, nil
	}
	raw, err := objects.Object(ctx, ref)
	if errors.Is(err, provider.ErrNoObject) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var o T
	if err := json.Unmarshal(raw, &o); err != nil {
		return nil, fmt.Errorf("read %s %s: %w", ref.Kind, ref.Name, err)
	}
	return &o, nil
}
