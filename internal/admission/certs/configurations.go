package certs

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Annotations on a webhook configuration that request a CA from another controller: OpenShift's service CA,
// and cert-manager with the several spellings that begin so.
const (
	serviceCA   = "service.beta.openshift.io/inject-cabundle"
	certManager = "cert-manager.io/inject-"
)

// configuration is a webhook configuration of either kind, with the client configuration of each of its
// webhooks.
type configuration struct {
	object client.Object
	calls  []*admissionregistrationv1.WebhookClientConfig
}

// configurations are the existing ones among the names.
func configurations(ctx context.Context, r client.Reader, names []string) (out []configuration, err error) {
	for _, name := range names {
		key := client.ObjectKey{Name: name}
		mutating, validating := &admissionregistrationv1.MutatingWebhookConfiguration{}, &admissionregistrationv1.ValidatingWebhookConfiguration{}
		for _, o := range []client.Object{mutating, validating} {
			err := r.Get(ctx, key, o)
			if apierrors.IsNotFound(err) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("read the webhook configuration %s: %w", name, err)
			}
			c := configuration{object: o}
			switch o := o.(type) {
			case *admissionregistrationv1.MutatingWebhookConfiguration:
				for i := range o.Webhooks {
					c.calls = append(c.calls, &o.Webhooks[i].ClientConfig)
				}
			case *admissionregistrationv1.ValidatingWebhookConfiguration:
				for i := range o.Webhooks {
					c.calls = append(c.calls, &o.Webhooks[i].ClientConfig)
				}
			}
			out = append(out, c)
		}
	}
	return out, nil
}

// theirs reports whether another controller writes the CA into it.
func (c configuration) theirs() bool {
	for key := range c.object.GetAnnotations() {
		if key == serviceCA || strings.HasPrefix(key, certManager) {
			return true
		}
	}
	return false
}

// hosts are the names by which API servers call the webhooks, sorted.
func hosts(all []configuration) (out []string) {
	for _, c := range all {
		for _, call := range c.calls {
			switch {
			case call.Service != nil:
				out = append(out, call.Service.Name+"."+call.Service.Namespace+".svc")
			case call.URL != nil:
				if u, err := url.Parse(*call.URL); err == nil && u.Hostname() != "" {
					out = append(out, u.Hostname())
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// trust writes the bundle into every webhook, and reports whether any lacked it.
func (c configuration) trust(bundle []byte) (changed bool) {
	for _, call := range c.calls {
		if !bytes.Equal(call.CABundle, bundle) {
			call.CABundle, changed = bundle, true
		}
	}
	return changed
}
