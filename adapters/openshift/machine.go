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

// clusterLabel is the label that actuators require.
const clusterLabel = "machine.openshift.io/cluster-api-cluster"

// machine is the Machine object of ref from the API server; there reports whether it exists. If it does not
// exist, or its name belongs to another machine, machine is the remembered object, or else a minimal one.
func (w *executor) machine(ctx context.Context, ref provider.Ref) (m *machinev1.Machine, there bool, err error) {
	was := w.memory.of(ref.UID).machine
	if ref.UID == "" || ref.Namespace == "" { // ref names no machine, or one that was deleted long ago
		return w.minimalMachine(ref), false, nil
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
	return w.minimalMachine(ref), false, nil
}

// complete sets the spec of the class in the machine, whose own spec may lack defaults of its cluster, or be
// replaced by a fallback. An actuator's patches do not contain it, since they are computed from the given
// object.
func (w *executor) complete(m *machinev1.Machine) {
	if len(w.class.Spec) > 0 && (m.Spec.ProviderSpec.Value == nil || !sameJSON(m.Spec.ProviderSpec.Value.Raw, w.class.Spec)) {
		m.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: bytes.Clone(w.class.Spec)}
	}
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// minimalMachine is a machine of which only the name, the provider ID and the class are known.
func (w *executor) minimalMachine(ref provider.Ref) *machinev1.Machine {
	m := &machinev1.Machine{ObjectMeta: metav1.ObjectMeta{
		Namespace: ref.Namespace, Name: ref.Name, UID: types.UID(ref.UID), Labels: map[string]string{clusterLabel: w.class.Cluster},
	}}
	w.complete(m)
	if ref.ProviderID != "" {
		m.Spec.ProviderID = ptr.To(ref.ProviderID)
	}
	return m
}

// records reports whether the machine's status has an instance.
func records(m *machinev1.Machine) bool {
	return ptr.Deref(m.Spec.ProviderID, "") != "" || len(m.Status.Addresses) > 0
}
