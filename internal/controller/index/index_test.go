package index

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect/openshift"
)

func TestOwnerKeys(t *testing.T) {
	set := metav1.OwnerReference{Kind: "MachineSet", Name: "set", UID: "uid-set", Controller: ptr.To(true)}
	user := metav1.OwnerReference{Kind: "ConfigMap", Name: "note", UID: "uid-note"}
	for _, c := range []struct {
		reason string
		refs   []metav1.OwnerReference
		want   string
	}{
		{"nobody owns it", nil, NoOwner},
		{"an owner that is no controller", []metav1.OwnerReference{user}, NoOwner},
		{"its controller, among others", []metav1.OwnerReference{user, set}, "uid-set"},
	} {
		m := &machinev1.Machine{ObjectMeta: metav1.ObjectMeta{OwnerReferences: c.refs}}
		if got := OwnerKeys(m); !slices.Equal(got, []string{c.want}) {
			t.Errorf("%s: %q", c.reason, got)
		}
	}
}

func TestNodeKeys(t *testing.T) {
	named := metav1.ObjectMeta{Name: "m-1", UID: "uid-1"}
	for _, c := range []struct {
		reason  string
		machine machinev1.Machine
		want    []string
	}{
		{"of a machine that is new, its name and UID are all there is", machinev1.Machine{ObjectMeta: named}, []string{"machine/m-1", "uid/uid-1"}},
		{
			"its instance is found in any spelling",
			machinev1.Machine{ObjectMeta: named, Spec: machinev1.MachineSpec{ProviderID: ptr.To("aws:///eu-1a/I-7")}},
			[]string{"machine/m-1", "tail/i-7", "uid/uid-1"},
		},
		{
			"its node is found by all that may name it, each once",
			machinev1.Machine{ObjectMeta: named, Status: machinev1.MachineStatus{
				NodeRef: &corev1.ObjectReference{Name: "node-1"},
				Addresses: []corev1.NodeAddress{
					{Type: corev1.NodeInternalIP, Address: "10.0.0.1"},
					{Type: corev1.NodeExternalIP, Address: "1.2.3.4"},
					{Type: corev1.NodeHostName, Address: "node-1"},
					{Type: corev1.NodeInternalDNS, Address: "node-1.local"},
				},
			}},
			[]string{"ip/10.0.0.1", "machine/m-1", "name/node-1", "name/node-1.local", "uid/uid-1"},
		},
	} {
		if got := NodeKeys(openshift.Machines{})(&c.machine); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", c.reason, got)
		}
	}
}

func TestClaimKeys(t *testing.T) {
	if got := ClaimKeys("", "", "aws:///"); got != nil {
		t.Errorf("of an instance that says nothing: %q", got)
	}
	if got, want := ClaimKeys("u", "m", "aws:///a/i-1"), []string{"uid/u", "machine/m", "tail/i-1"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// full is a cache that has each index already.
type full struct{ asked []string }

func (f *full) IndexField(_ context.Context, _ client.Object, field string, extract client.IndexerFunc) error {
	if extract == nil {
		return errors.New("nothing computes it")
	}
	f.asked = append(f.asked, field)
	return errors.New("it is there already")
}

func TestSetupSaysWhatFailed(t *testing.T) {
	f := &full{}
	if err := SetupOwner(t.Context(), f, &machinev1.Machine{}); err == nil || !strings.Contains(err.Error(), "by owner: it is there already") {
		t.Errorf("the index by owner: %v", err)
	}
	if err := SetupNode(t.Context(), f, openshift.Machines{}); err == nil || !strings.Contains(err.Error(), "by node: it is there already") {
		t.Errorf("the index by node: %v", err)
	}
	if want := []string{Owner, Node}; !slices.Equal(f.asked, want) {
		t.Errorf("registered %q, want %q", f.asked, want)
	}
}
