package period_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/status"
	"github.com/millwright-dev/millwright/internal/engine/postmortem"
	"github.com/millwright-dev/millwright/internal/plugin/collect"
	"github.com/millwright-dev/millwright/internal/plugin/period"
	"github.com/millwright-dev/millwright/internal/runtime/run"
	"github.com/millwright-dev/millwright/provider"
)

var now = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }

func event(name, kind, of, reason, message string, change ...func(*corev1.Event)) *corev1.Event {
	e := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: name}, Reason: reason, Message: message, Type: corev1.EventTypeNormal, LastTimestamp: ago(time.Hour),
		InvolvedObject: corev1.ObjectReference{APIVersion: "machine.sapcloud.io/v1alpha1", Kind: kind, Namespace: "blue", Name: of, UID: types.UID("uid-" + of)},
	}
	for _, c := range change {
		c(e)
	}
	return e
}

// fleet returns a cluster with objects of both APIs and events of one day. The cluster refuses to list the kind
// refused.
func fleet(t *testing.T, refused string) collect.Clusters {
	t.Helper()
	leaving := &machinev1.Machine{ObjectMeta: metav1.ObjectMeta{
		Namespace: "blue", Name: "mill-a", UID: "uid-mill-a", CreationTimestamp: ago(48 * time.Hour), DeletionTimestamp: ptr.To(ago(time.Hour)), Finalizers: []string{machinev1.MachineFinalizer},
		Annotations:     map[string]string{dialect.DeletedBecauseAnnotation: "node n-1 was not ready"},
		OwnerReferences: []metav1.OwnerReference{{Kind: "MachineSet", Name: "mill", UID: "s", Controller: ptr.To(true)}},
	}}
	leaving.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: []byte(`{}`)}
	fresh := &v1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: "pool-new", UID: "uid-new", CreationTimestamp: ago(2 * time.Hour)}}
	raw, err := postmortem.Encode(postmortem.Record{API: provider.Gardener, Namespace: "blue", Name: "pool-dead", UID: "uid-dead", Cause: postmortem.Unwell, Taken: now.Add(-3 * time.Hour), Summary: "it was silent"}, postmortem.Redactor{}, postmortem.SmallestLimit)
	if err != nil {
		t.Fatal(err)
	}
	kept := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: "evidence", Labels: map[string]string{status.Label: status.LabelValue}}, Data: map[string]string{status.Key: string(raw)}}
	related := func(e *corev1.Event) {
		e.Action, e.Related = "Delete", &corev1.ObjectReference{Kind: "Machine", Namespace: "blue", Name: "pool-old", UID: "uid-old"}
	}
	c := fake.NewClientBuilder().WithScheme(run.Scheme()).WithObjects(leaving, fresh, kept,
		event("1", "MachineSet", "pool", "SuccessfulDelete", "Deleted machine: pool-old (surplus)", related),
		event("2", "Machine", "pool-x", "Deleted", "Machine and instance are deleted"),
		event("3", "MachineDeployment", "pool", "RolloutStopped", "3 machines did not become ready"),
		event("6", "MachineDeployment", "pool", "ScalingMachineSet", "Scaled up machine set pool-2 to 1 from 0", func(e *corev1.Event) { e.Action = "Scale" }),
		event("4", "Pod", "web", "Deleted", "", func(e *corev1.Event) { e.InvolvedObject.APIVersion = "v1" }),
		event("5", "Machine", "early", "Deleted", "", func(e *corev1.Event) { e.LastTimestamp = ago(30 * time.Hour) }),
	).WithIndex(&corev1.Event{}, "involvedObject.uid", func(o client.Object) []string { return []string{string(o.(*corev1.Event).InvolvedObject.UID)} }).
		WithIndex(&corev1.Event{}, "reason", func(o client.Object) []string { return []string{o.(*corev1.Event).Reason} }).Build()
	refusing := interceptor.NewClient(c, interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
		switch l.(type) {
		case *corev1.EventList:
			if refused == "events" {
				return errors.New("you may not")
			}
		case *corev1.ConfigMapList:
			if refused == "configmaps" {
				return errors.New("you may not")
			}
		}
		return c.List(ctx, l, opts...)
	}})
	return collect.Clusters{Control: refusing, Target: refusing}
}

// TestRead: the digest has objects, events and evidence, and ignores events about other objects.
func TestRead(t *testing.T) {
	d, err := period.Read(t.Context(), now, 24*time.Hour, fleet(t, ""), collect.Question{Namespace: "blue"})
	if err != nil {
		t.Fatal(err)
	}
	var deleted, prevented []string
	for _, x := range d.Deleted {
		deleted = append(deleted, x.Name+": "+x.Why)
	}
	for _, x := range d.Prevented {
		prevented = append(prevented, x.Kind+" "+x.Name+" "+x.Reason)
	}
	if got := strings.Join(deleted, "; "); got != "pool-dead: it was silent; mill-a: node n-1 was not ready; pool-old: Deleted machine: pool-old (surplus); pool-x: " {
		t.Errorf("deleted: %s", got)
	}
	if got := strings.Join(prevented, "; "); got != "MachineDeployment pool RolloutStopped" {
		t.Errorf("prevented: %s", got)
	}
	if len(d.Scaled) != 1 || d.Scaled[0].Message != "Scaled up machine set pool-2 to 1 from 0" {
		t.Errorf("scaled: %+v", d.Scaled)
	}
	if len(d.Created) != 1 || d.Created[0].Machines[0] != "pool-new" || d.Place != "namespace blue" {
		t.Errorf("created: %+v in %s", d.Created, d.Place)
	}
	if d, _ := period.Read(t.Context(), now, 24*time.Hour, fleet(t, ""), collect.Question{Namespace: "blue", API: provider.OpenShift}); len(d.Deleted) != 1 || len(d.Prevented) != 0 {
		t.Errorf("with only machine.openshift.io: %+v", d)
	}
}

// TestUnread: the digest names the kinds that the user may not read, and has the other facts.
func TestUnread(t *testing.T) {
	for refused, want := range map[string]string{"events": "events: you may not", "configmaps": "evidence (configmaps): you may not"} {
		d, err := period.Read(t.Context(), now, 24*time.Hour, fleet(t, refused), collect.Question{})
		if err != nil || !strings.Contains(strings.Join(d.Gaps, "; "), want) || len(d.Created) != 1 {
			t.Errorf("%s refused: error %v, gaps %q, created %v", refused, err, d.Gaps, d.Created)
		}
	}
}
