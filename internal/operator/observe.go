package operator

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/operator/operands"
)

// cluster is the name of objects of which a cluster has one.
const cluster = "cluster"

// groups are the versions that the API server serves, by group.
type groups map[string][]string

func (o *Operator) groups() (groups, error) {
	list, err := o.Discovery.ServerGroups()
	if err != nil {
		return nil, fmt.Errorf("ask the API server what it serves: %w", err)
	}
	out := groups{}
	for _, g := range list.Groups {
		for _, v := range g.Versions {
			out[g.Name] = append(out[g.Name], v.Version)
		}
	}
	return out, nil
}

// openshift reports whether the cluster has config.openshift.io, in any version.
func (g groups) openshift() bool { return len(g[configv1.GroupName]) > 0 }

// check returns the CRDs that are missing, or have another version.
func (g groups) check(gv schema.GroupVersion) error {
	switch has := g[gv.Group]; {
	case len(has) == 0:
		return operands.Faultf("the cluster has no CRDs of %s", gv)
	case !slices.Contains(has, gv.Version):
		return operands.Faultf("the cluster has CRDs of %s as %s, and not as %s", gv.Group, strings.Join(has, ", "), gv.Version)
	}
	return nil
}

// get reads an object; there is false if the object or its kind does not exist.
func get(ctx context.Context, c client.Client, key client.ObjectKey, into client.Object) (there bool, err error) {
	err = c.Get(ctx, key, into)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %T %s: %w", into, key, err)
	}
	return true, nil
}

// observe reads all facts that operands depend on.
func (o *Operator) observe(ctx context.Context, g groups) (operands.Facts, error) {
	f := operands.Facts{Namespace: o.Namespace, Release: o.Release, TLS: operands.Intermediate(), Gates: operands.DefaultGates()}
	if err := g.check(machinev1.GroupVersion); err != nil {
		return f, err
	}
	f.ControlPlaneSets = slices.Contains(g[machinev1.GroupName], "v1")
	raw, err := os.ReadFile(o.ImagesFile)
	if err != nil {
		return f, operands.Faultf("--images-json: %v", err)
	}
	if f.Images, err = operands.ParseImages(o.ImagesFile, raw); err != nil {
		return f, err
	}
	if f.TrustedCA, err = o.trustedCA(ctx); err != nil {
		return f, err
	}
	if g.openshift() {
		if err := g.check(configv1.GroupVersion); err != nil {
			return f, err
		}
		err = o.configured(ctx, &f)
	} else {
		err = o.given(&f)
	}
	if err == nil && o.SawTLS != nil {
		o.SawTLS(f.TLS)
	}
	return f, err
}

// given are the facts of a cluster without config.openshift.io.
func (o *Operator) given(f *operands.Facts) (err error) {
	if o.Given.Platform == "" {
		return operands.Faultf("--platform: must be set in a cluster without CRDs of %s", configv1.GroupName)
	}
	if f.Platform, err = operands.PlatformOf(o.Given.Platform); err != nil {
		return operands.Faultf("--platform: %v", err)
	}
	f.Plain = &operands.Plain{ClusterID: o.Given.ClusterID}
	return nil
}

// configured are the facts in the objects of config.openshift.io.
func (o *Operator) configured(ctx context.Context, f *operands.Facts) error {
	key := client.ObjectKey{Name: cluster}
	var infrastructure configv1.Infrastructure
	there, err := get(ctx, o.Client, key, &infrastructure)
	if err != nil {
		return err
	}
	if !there {
		return operands.Faultf("Infrastructure %s is not there", cluster)
	}
	if p := infrastructure.Status.PlatformStatus; p == nil || p.Type == "" {
		return operands.Faultf("no platform provider found on install config: Infrastructure %s has no status.platformStatus.type", cluster)
	}
	if f.Platform, err = operands.PlatformOf(string(infrastructure.Status.PlatformStatus.Type)); err != nil {
		return operands.Faultf("Infrastructure %s: status.platformStatus.type: %v", cluster, err)
	}
	var proxy configv1.Proxy
	if there, err = get(ctx, o.Client, key, &proxy); err != nil {
		return err
	} else if there {
		f.Proxy = operands.ProxyOf(&proxy)
	}
	var server configv1.APIServer
	if there, err = get(ctx, o.Client, key, &server); err != nil {
		return err
	} else if there {
		f.TLS = operands.TLSOf(server.Spec)
	}
	var gates configv1.FeatureGate
	if there, err = get(ctx, o.Client, key, &gates); err == nil && there {
		f.Gates, err = operands.GatesOf(&gates, o.Release)
	}
	return err
}

// trustedCA is the hash of the bundle that programs trust besides their own; empty if it does not exist.
func (o *Operator) trustedCA(ctx context.Context) (string, error) {
	var bundle corev1.ConfigMap
	there, err := get(ctx, o.Client, client.ObjectKey{Namespace: o.Namespace, Name: operands.TrustedCAConfigMap}, &bundle)
	if err != nil || !there {
		return "", err
	}
	raw, err := json.Marshal([]any{bundle.Data, bundle.BinaryData})
	if err != nil {
		return "", fmt.Errorf("hash ConfigMap %s: %w", bundle.Name, err)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:]), nil
}
