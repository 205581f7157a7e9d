package csr

import (
	"context"
	"errors"
	"strings"
	"testing"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/approval"
)

// TestMachineIsAskedPastTheCache: the cache of machines may be stale, and does not decide about a node's
// identity. A request for a machine is not granted for another machine of the same name.
func TestMachineIsAskedPastTheCache(t *testing.T) {
	tests := []struct {
		reason string
		change func(m *approval.Machine)
		gone   bool
		want   approval.Reason // empty: the request is approved
	}{
		{"the machine is as the cache shows it", func(*approval.Machine) {}, false, ""},
		{"its node has joined, and people have deleted that", func(m *approval.Machine) { m.Linked = true }, false, approval.ReasonLinked},
		{"it is being deleted", func(m *approval.Machine) { m.Deleting = true }, false, approval.ReasonDeleting},
		{"it is to join under another name", func(m *approval.Machine) { m.NodeName = "w9" }, false, approval.ReasonNoMachine},
		{"it is gone", nil, true, approval.ReasonNoMachine},
	}
	for _, tt := range tests {
		s := newScene(t, joining(t, "csr-1", "w1", "abcdef"), tokenOf("abcdef", "ns/m1"))
		s.machines = []approval.Machine{machine("m0", "w0"), machine("m1", "w1"), machine("m2", "w2")}
		s.Latest = func(_ context.Context, shown approval.Machine) (approval.Machine, bool, error) {
			if shown.Name != "m1" {
				t.Errorf("%s: asked for %s", tt.reason, shown.Name)
			}
			if !tt.gone {
				tt.change(&shown)
			}
			return shown, !tt.gone, nil
		}
		request := joining(t, "csr-1", "w1", "abcdef")
		d, err := s.decide(t.Context(), start, request)
		if err != nil {
			t.Fatal(err)
		}
		if approved := d.Verdict == approval.Approve; approved != (tt.want == "") || !approved && d.Reason != tt.want {
			t.Errorf("%s: %s, %s", tt.reason, d.Verdict, d.Reason)
		}
		if approved, _ := s.reconcile(t, "csr-1"); approved != (tt.want == "") {
			t.Errorf("%s: approved %v", tt.reason, approved)
		}
	}
}

// TestUnreadMachineGetsNoNode: as long as the machine cannot be read, no node joins for it.
func TestUnreadMachineGetsNoNode(t *testing.T) {
	s := newScene(t, joining(t, "csr-1", "w1", "abcdef"), tokenOf("abcdef", "ns/m1"))
	s.machines = []approval.Machine{machine("m1", "w1")}
	s.Latest = func(context.Context, approval.Machine) (m approval.Machine, there bool, err error) {
		return m, true, errors.New("etcd is away")
	}
	request := ctrl.Request{NamespacedName: client.ObjectKey{Name: "csr-1"}}
	if _, err := s.Reconcile(t.Context(), request); err == nil || !strings.Contains(err.Error(), "etcd is away") {
		t.Errorf("got error %v", err)
	}
	s.Latest = s.latest
	if approved, _ := s.reconcile(t, "csr-1"); !approved {
		t.Error("not approved when the machine can be read again")
	}
}
