package openshift

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func TestLink(t *testing.T) {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "w", UID: "uid-w"}}
	plain := &corev1.ObjectReference{Kind: "Node", Name: "w", UID: "uid-w"}
	wordy := &corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: "w", UID: "uid-w"}
	for _, c := range []struct {
		reason  string
		ref     *corev1.ObjectReference
		want    *corev1.ObjectReference
		changed bool
	}{
		{"there is none", nil, plain, true},
		{"it is there", plain, plain, false},
		{"somebody else says it with more words", wordy, wordy, false},
		{"the node came back under its name", &corev1.ObjectReference{Kind: "Node", Name: "w", UID: "old"}, plain, true},
		{"it names another node", &corev1.ObjectReference{Kind: "Node", Name: "w2", UID: "uid-w"}, plain, true},
		{"it has a name alone", &corev1.ObjectReference{Name: "w", UID: "uid-w"}, plain, true},
	} {
		m := &machinev1.Machine{Spec: machinev1.MachineSpec{ProviderID: ptr.To("sim:///1")}, Status: machinev1.MachineStatus{NodeRef: c.ref.DeepCopy(), Phase: ptr.To("Running")}}
		want := m.DeepCopy()
		want.Status.NodeRef = c.want
		if got := (Machines{}).Link(m, n); got != c.changed {
			t.Errorf("%s: changed %v", c.reason, got)
		}
		if diff := cmp.Diff(want, m); diff != "" {
			t.Errorf("%s (-want +got)\n%s", c.reason, diff)
		}
	}
}

func TestStamp(t *testing.T) {
	m := &machinev1.Machine{}
	if at := (Machines{}).Stamped(m); !at.IsZero() {
		t.Errorf("a machine that never was is stamped at %v", at)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC)
	Machines{}.Stamp(m, at)
	if got := (Machines{}).Stamped(m); !got.Equal(at.Truncate(time.Second)) {
		t.Errorf("stamped at %v, read back %v: the API stores whole seconds", at, got)
	}
}
