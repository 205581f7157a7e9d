package infrastructure_test

import (
	"context"
	"errors"
	"testing"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/infrastructure"
)

// objects has one object, or an error.
type objects struct {
	ref provider.ObjectRef
	raw string
	err error
}

func (o objects) Object(_ context.Context, ref provider.ObjectRef) ([]byte, error) {
	if o.err != nil {
		return nil, o.err
	}
	if ref != o.ref {
		return nil, provider.ErrNoObject
	}
	return []byte(o.raw), nil
}

func TestRead(t *testing.T) {
	ref := provider.ObjectRef{APIVersion: "config.openshift.io/v1", Kind: "Infrastructure", Name: "cluster"}
	i, err := infrastructure.Read(t.Context(), objects{ref: ref, raw: `{"status":{"infrastructureName":"mill-x7"}}`})
	if err != nil || i == nil || i.Status.InfrastructureName != "mill-x7" {
		t.Errorf("read %v, %v", i, err)
	}
	for reason, none := range map[string]provider.Objects{"no objects at all": nil, "no such object": objects{}} {
		if i, err := infrastructure.Read(t.Context(), none); i != nil || err != nil {
			t.Errorf("%s: read %v, %v", reason, i, err)
		}
	}
	denied := provider.Errorf(provider.Denied, "no")
	if _, err := infrastructure.Read(t.Context(), objects{err: denied}); !errors.Is(err, denied) {
		t.Errorf("an answer that is denied is not that there is nothing: %v", err)
	}
	if _, err := infrastructure.Read(t.Context(), objects{ref: ref, raw: `[]`}); err == nil {
		t.Error("a list was read as an object")
	}
}

func TestCloudCABundle(t *testing.T) {
	ref := provider.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "openshift-config-managed", Name: "kube-cloud-config"}
	for raw, want := range map[string]string{`{"data":{"ca-bundle.pem":"PEM"}}`: "PEM", `{"data":{}}`: "", `{}`: ""} {
		t.Run(raw, func(t *testing.T) {
			if got, err := infrastructure.CloudCABundle(t.Context(), objects{ref: ref, raw: raw}); string(got) != want || err != nil {
				t.Errorf("%s: %q, %v", raw, got, err)
			}
		})
	}
}
