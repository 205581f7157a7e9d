package live

import (
	"context"
	"fmt"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/plugin/collect"
)

// watches answers lists as a cache does: without copies.
type watches struct {
	client.Reader
	machines, sets, nodes []runtime.Object
}

func (w *watches) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	switch list.(type) {
	case *machinev1.MachineList:
		return meta.SetList(list, w.machines)
	case *machinev1.MachineSetList:
		return meta.SetList(list, w.sets)
	case *corev1.NodeList:
		return meta.SetList(list, w.nodes)
	}
	return nil
}

func (w *watches) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return nil
}

// BenchmarkLook is one look at ten thousand machines in ten sets, each with its node.
func BenchmarkLook(b *testing.B) {
	w := &watches{}
	at := metav1.NewTime(time.Now().Add(-time.Hour))
	for i := range 10 {
		name := fmt.Sprint("set-", i)
		labels := map[string]string{"set": name}
		w.sets = append(w.sets, &machinev1.MachineSet{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: name, UID: types.UID(name)}, Spec: machinev1.MachineSetSpec{
			Replicas: ptr.To[int32](1000), Selector: metav1.LabelSelector{MatchLabels: labels}, Template: machinev1.MachineTemplateSpec{ObjectMeta: machinev1.ObjectMeta{Labels: labels}},
		}, Status: machinev1.MachineSetStatus{Replicas: 1000, ReadyReplicas: 1000, AvailableReplicas: 1000}})
	}
	for i := range 10000 {
		name, set := fmt.Sprint("mill-", i), fmt.Sprint("set-", i%10)
		w.nodes = append(w.nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: at}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}})
		w.machines = append(w.machines, &machinev1.Machine{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "blue", Name: name, UID: types.UID(name), CreationTimestamp: at, Finalizers: []string{machinev1.MachineFinalizer},
				Labels: map[string]string{"set": set, machinev1.MachineClusterIDLabel: "blue"}, OwnerReferences: []metav1.OwnerReference{{Kind: "MachineSet", Name: set, UID: types.UID(set), Controller: ptr.To(true)}},
			},
			Spec:   machinev1.MachineSpec{ProviderID: ptr.To("aws:///b/i-" + name), ProviderSpec: machinev1.ProviderSpec{Value: &runtime.RawExtension{Raw: []byte(`{"kind":"X"}`)}}},
			Status: machinev1.MachineStatus{Phase: ptr.To("Running"), NodeRef: &corev1.ObjectReference{Name: name}},
		})
	}
	f := newFeed(collect.Clusters{Control: w, Target: w}, collect.Question{}, clock.RealClock{})
	f.leasesRead = time.Now().Add(time.Hour)
	for b.Loop() {
		f.look(b.Context())
	}
	if len(f.rows) != 10010 {
		b.Fatal(len(f.rows))
	}
}
