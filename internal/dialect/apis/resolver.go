package apis

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// Successor reads the machine of another API to which the instance of m was moved. live reads from the API server itself.
func Successor(ctx context.Context, live client.Reader, m lifecycle.Machine) lifecycle.Successor {
	ref, err := ParseMachineRef(m.MovedTo)
	if err != nil {
		return lifecycle.Successor{Looked: true, Err: err}
	}
	api, known := Of(ref.API)
	if !known {
		return lifecycle.Successor{Looked: true, Err: fmt.Errorf("the API %q is unknown", ref.API)}
	}
	o := api.Kinds[0].New()
	switch err := live.Get(ctx, ref.Key, o); {
	case apierrors.IsNotFound(err):
		return lifecycle.Successor{Looked: true}
	case err != nil:
		return lifecycle.Successor{Looked: true, Err: err}
	}
	s := api.Machines.View(o)
	id := m.Recorded.ProviderID
	return lifecycle.Successor{
		Looked:  true,
		Records: string(o.GetUID()) != m.UID && s.MovedTo == "" && s.Deleted.IsZero() && s.HasFinalizer && id != "" && provider.Tail(s.Recorded.ProviderID) == provider.Tail(id),
	}
}

// MachineRef names a machine of an API. Its text, "api/namespace/name", is the value of the annotation
// millwright.dev/moved-to.
type MachineRef struct {
	API string
	Key client.ObjectKey
}

// String returns the text.
func (r MachineRef) String() string { return r.API + "/" + r.Key.String() }

// ParseMachineRef parses the text.
func ParseMachineRef(text string) (MachineRef, error) {
	parts := strings.Split(text, "/")
	if len(parts) != 3 || parts[0] == "" || parts[1] == "" || parts[2] == "" {
		return MachineRef{}, fmt.Errorf("%q is not of the form api/namespace/name", text)
	}
	return MachineRef{API: parts[0], Key: client.ObjectKey{Namespace: parts[1], Name: parts[2]}}, nil
}
