package departures_test

import (
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
	"github.com/millwright-dev/millwright/internal/dialect/departures"
	"github.com/millwright-dev/millwright/internal/dialect/status"
	"github.com/millwright-dev/millwright/internal/engine/postmortem"
	"github.com/millwright-dev/millwright/provider"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func owner(kind, name string) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: "v1", Kind: kind, Name: name, UID: types.UID("uid-" + name), Controller: ptr.To(true)}}
}

func meta(name string, of ...metav1.OwnerReference) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "blue", Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.NewTime(noon.Add(-time.Hour)), OwnerReferences: of}
}

// TestOf: both APIs show owner, times, place and the annotation of a machine that Millwright deletes.
func TestOf(t *testing.T) {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", CreationTimestamp: metav1.NewTime(noon.Add(-50 * time.Minute)), Labels: map[string]string{corev1.LabelTopologyZone: "eu-1b", corev1.LabelInstanceTypeStable: "large"}}}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(noon.Add(-49 * time.Minute))}}
	o := &machinev1.Machine{ObjectMeta: meta("o", owner("MachineSet", "mill")...)}
	o.DeletionTimestamp = ptr.To(metav1.NewTime(noon))
	o.Status.NodeRef = &corev1.ObjectReference{Kind: "Node", Name: "n"}
	g := &v1alpha1.Machine{ObjectMeta: meta("g", owner("MachineSet", "mill")...)}
	g.DeletionTimestamp, g.Labels = ptr.To(metav1.NewTime(noon)), map[string]string{v1alpha1.LabelKeyNode: "n"}
	for _, m := range []client.Object{o, g} {
		d := departures.Of(m, n)
		if d.Name != m.GetName() || d.Owner != "MachineSet/mill" || d.Node != "n" || d.Zone != "eu-1b" || d.Type != "large" || !d.Requested.Equal(noon) || !d.Joined.Equal(n.CreationTimestamp.Time) || !d.Ready.After(d.Joined) || d.Cause != "" {
			t.Errorf("%T: %+v", m, d)
		}
		m.SetAnnotations(map[string]string{"millwright.dev/deleted-because": "node n was deleted"})
		if d := departures.Of(m, nil); d.Cause != "Remediation" || d.Why != "node n was deleted" || d.Zone != "" {
			t.Errorf("%T: %+v", m, d)
		}
		m.SetAnnotations(map[string]string{"millwright.dev/moved-to": "machine.sapcloud.io/blue/x"})
		if d := departures.Of(m, n).Words(); d != "kubectl machine migrate requested the deletion: its instance was moved to machine machine.sapcloud.io/blue/x" {
			t.Errorf("%T: %s", m, d)
		}
	}
	if d := departures.Of(&corev1.Pod{}, nil); d != (postmortem.Departure{}) {
		t.Errorf("a pod: %+v", d)
	}
}

func event(api, kind, name, reason, message string, change ...func(*corev1.Event)) corev1.Event {
	e := corev1.Event{Reason: reason, Message: message, Type: corev1.EventTypeNormal, LastTimestamp: metav1.NewTime(noon)}
	e.InvolvedObject = corev1.ObjectReference{APIVersion: api, Kind: kind, Namespace: "blue", Name: name, UID: types.UID("uid-" + name)}
	for _, c := range change {
		c(&e)
	}
	return e
}

// TestFromEvents: which events say who deleted a machine. The name of a client is better than any other source.
func TestFromEvents(t *testing.T) {
	const o, g = provider.OpenShift + "/v1beta1", provider.Gardener + "/v1alpha1"
	related := func(e *corev1.Event) {
		e.Action, e.Related = "Delete", &corev1.ObjectReference{Kind: "Machine", Namespace: "blue", Name: "x", UID: "uid-x"}
	}
	for _, c := range []struct {
		reason                  string
		events                  []corev1.Event
		cause, by, why, deleted string
	}{
		{"a user", []corev1.Event{event(o, "Machine", "x", departures.EventRequested, departures.RequestedNote("jane"))}, "Manual", "jane", "", "0"},
		{"a user, after a set that was deleted with it", []corev1.Event{event(g, "MachineSet", "pool", "SuccessfulDelete", "Deleted machine: x (surplus)", related), event(g, "Machine", "x", departures.EventRequested, departures.RequestedNote("jane"))}, "Manual", "jane", "", "0"},
		{"a set", []corev1.Event{event(g, "MachineSet", "pool", "SuccessfulDelete", "Deleted machine: x (surplus)", related)}, "ScaleDown", "MachineSet/pool", "surplus", "0"},
		{"a health check, and the end", []corev1.Event{event(o, "Machine", "x", "Delete", "Deleted machine x"), event(o, "Machine", "x", "MachineDeleted", "Machine blue/x has been remediated")}, "Remediation", "MachineHealthCheck", "", "1"},
		{"a node that was deleted", []corev1.Event{event(g, "Machine", "x", "NodeDeleted", "The machine is deleted, because node n was deleted")}, "Remediation", "machine controller", "The machine is deleted, because node n was deleted", "0"},
		{"only the end", []corev1.Event{event(g, "Machine", "x", "Deleted", "")}, "", "", "", "1"},
		{"another API", []corev1.Event{event("v1", "Machine", "x", "Deleted", "")}, "", "", "", "0"},
		{"another object", []corev1.Event{event(o, "MachineSet", "x", "Delete", "")}, "", "", "", "0"},
	} {
		d := departures.FromEvents(c.events)["uid-x"]
		deleted := "1"
		if d.Deleted.IsZero() {
			deleted = "0"
		}
		if string(d.Cause) != c.cause || d.By != c.by || d.Why != c.why || deleted != c.deleted {
			t.Errorf("%s: %+v", c.reason, d)
		}
	}
}

// TestFromFamily: what the owners of a machine show about its deletion.
func TestFromFamily(t *testing.T) {
	d := postmortem.Departure{API: provider.OpenShift, Namespace: "blue", Name: "x", Owner: "MachineSet/mill", Requested: noon}
	set := func(wanted int32, of ...metav1.OwnerReference) *machinev1.MachineSet {
		s := &machinev1.MachineSet{ObjectMeta: meta("mill", of...), Spec: machinev1.MachineSetSpec{Replicas: &wanted}}
		s.Annotations = map[string]string{"deployment.kubernetes.io/revision": "1"}
		return s
	}
	machine := func(age time.Duration) client.Object {
		m := &machinev1.Machine{ObjectMeta: meta("y", owner("MachineSet", "mill")...)}
		m.CreationTimestamp = metav1.NewTime(noon.Add(-age))
		return m
	}
	deployment := func(revision string) *v1beta1.MachineDeployment {
		o := &v1beta1.MachineDeployment{ObjectMeta: meta("dep")}
		o.Annotations = map[string]string{"deployment.kubernetes.io/revision": revision}
		return o
	}
	leaving := set(1)
	leaving.DeletionTimestamp = ptr.To(metav1.NewTime(noon))
	for _, c := range []struct {
		reason string
		d      postmortem.Departure
		f      departures.Family
		want   string
	}{
		{"a set with as many as it wants deleted it", d, departures.Family{Set: set(1), Machines: []client.Object{machine(time.Hour)}}, "ScaleDown"},
		{"a set that lacks a machine did not delete it", d, departures.Family{Set: set(2), Machines: []client.Object{machine(time.Hour)}}, "Manual"},
		{"a set that has created a successor did not delete it", d, departures.Family{Set: set(1), Machines: []client.Object{machine(-time.Second)}}, "Manual"},
		{"the set was deleted", d, departures.Family{}, "ScaleDown"},
		{"the set is in deletion", d, departures.Family{Set: leaving}, "ScaleDown"},
		{"the deployment has a newer set", d, departures.Family{Set: set(2, owner("MachineDeployment", "dep")...), Deployment: deployment("2")}, "Rollout"},
		{"the newest set of its deployment", d, departures.Family{Set: set(2, owner("MachineDeployment", "dep")...), Deployment: deployment("1")}, "Manual"},
		{"no owner", postmortem.Departure{API: provider.OpenShift}, departures.Family{}, "Manual"},
		{"a known cause stays", postmortem.Departure{Cause: "Remediation"}, departures.Family{}, "Remediation"},
	} {
		if got := departures.FromFamily(c.d, c.f); string(got.Cause) != c.want {
			t.Errorf("%s: %q, want %q", c.reason, got.Cause, c.want)
		}
	}
}

// TestFromEvidence: evidence names its object, and a machine that failed and stays has no deletion.
func TestFromEvidence(t *testing.T) {
	stored := func(r postmortem.Record) *corev1.ConfigMap {
		raw, err := postmortem.Encode(r, postmortem.Redactor{}, postmortem.SmallestLimit)
		if err != nil {
			t.Fatal(err)
		}
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: "evidence-x"}, Data: map[string]string{status.Key: string(raw)}}
	}
	d, ok := departures.FromEvidence(stored(postmortem.Record{API: "a", Name: "x", UID: "u", Cause: postmortem.Unwell, Taken: noon, Summary: "silent", Moments: []postmortem.Moment{{What: postmortem.MomentCreated, At: noon.Add(-time.Hour)}}}))
	if !ok || d.Evidence != "configmap blue/evidence-x" || d.Why != "silent" || !d.Requested.Equal(noon) || !d.Created.Equal(noon.Add(-time.Hour)) {
		t.Errorf("%v %+v", ok, d)
	}
	if d, _ := departures.FromEvidence(stored(postmortem.Record{UID: "u", Cause: postmortem.GivenUp, Taken: noon})); !d.At().IsZero() {
		t.Errorf("a machine that exists was deleted at %v", d.At())
	}
	if _, ok := departures.FromEvidence(&corev1.ConfigMap{}); ok {
		t.Error("an empty object is evidence")
	}
}
