package openshift

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/provider"
)

// clusterLabel is the one without which actuators refuse machines.
const clusterLabel = "machine.openshift.io/cluster-api-cluster"

// machine is ref's object, from the API server; there says whether it is. Where it is gone, or another has its name, it is what is
// remembered of it, or else as much as can be told.
func (w *work) machine(ctx context.Context, ref provider.Ref) (m *machinev1.Machine, there bool, err error) {
	was := w.memory.of(ref.UID).machine
	if ref.UID == "" || ref.Namespace == "" { // it stands for no machine, or for one that is long gone
		return w.stranger(ref), false, nil
	}
	m = &machinev1.Machine{}
	err = w.config.Machines.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, m)
	switch {
	case err != nil && !apierrors.IsNotFound(err):
		return nil, false, fmt.Errorf("read the machine for the actuator: %w", err)
	case err == nil && string(m.UID) == ref.UID:
		w.complete(m)
		return m, true, nil
	}
	if was != nil {
		return was.DeepCopy(), false, nil
	}
	return w.stranger(ref), false, nil
}

// complete puts the spec of the class into the machine, which may have less of its own: what its cluster says, or what stands in for what
// is exhausted. An actuator's patches do not carry it, since they are made against what it was given.
func (w *work) complete(m *machinev1.Machine) {
	if len(w.class.Spec) > 0 && (m.Spec.ProviderSpec.Value == nil || !sameJSON(m.Spec.ProviderSpec.Value.Raw, w.class.Spec)) {
		m.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: bytes.Clone(w.class.Spec)}
	}
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// stranger is a machine of which nothing is known but its name, its provider ID and its class.
func (w *work) stranger(ref provider.Ref) *machinev1.Machine {
	m := &machinev1.Machine{ObjectMeta: metav1.ObjectMeta{
		Namespace: ref.Namespace, Name: ref.Name, UID: types.UID(ref.UID), Labels: map[string]string{clusterLabel: w.class.Cluster},
	}}
	w.complete(m)
	if ref.ProviderID != "" {
		m.Spec.ProviderID = ptr.To(ref.ProviderID)
	}
	return m
}

// records reports whether the machine says something of an instance.
func records(m *machinev1.Machine) bool {
	return ptr.Deref(m.Spec.ProviderID, "") != "" || len(m.Status.Addresses) > 0
}
