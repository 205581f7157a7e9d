package status_test

import (
	"strings"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
	"github.com/millwright-dev/millwright/internal/dialect/status"
	"github.com/millwright-dev/millwright/internal/engine/postmortem"
	"github.com/millwright-dev/millwright/provider"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestBy(t *testing.T) {
	at := metav1.NewTime(start)
	for _, test := range []struct {
		name   string
		object client.Object
		want   []postmortem.Statement
	}{
		{"machine that was given up", &machinev1.Machine{Status: machinev1.MachineStatus{
			ErrorReason: ptr.To(machinev1.InvalidConfigurationMachineError), ErrorMessage: ptr.To("spec.zone: unknown"),
			Conditions: []machinev1.Condition{{Type: "InstanceExists", Status: "False", Reason: "InstanceNotCreated", Message: "no", LastTransitionTime: at}},
		}}, []postmortem.Statement{
			{About: "status.errorMessage", Status: "Failed", Reason: "InvalidConfiguration", Message: "spec.zone: unknown"},
			{About: "condition InstanceExists", Status: "False", Reason: "InstanceNotCreated", Message: "no", Since: start},
		}},
		{"operation with a code", &v1alpha1.Machine{Status: v1alpha1.MachineStatus{LastOperation: v1alpha1.LastOperation{
			Type: "Create", State: "Failed", ErrorCode: "ResourceExhausted", LastUpdateTime: at,
			Description: "Cloud provider message - machine codes error: code = [ResourceExhausted] message = [no (more) room]",
		}}}, []postmortem.Statement{{About: "status.lastOperation", Status: "Failed", Reason: "ResourceExhausted", Message: "no (more) room", Since: start}}},
		{"operation in plain words", &v1alpha1.Machine{Status: v1alpha1.MachineStatus{LastOperation: v1alpha1.LastOperation{
			Type: "HealthCheck", State: "Processing", Description: "Machine m is unhealthy",
		}}}, []postmortem.Statement{{About: "status.lastOperation", Status: "Processing", Reason: "HealthCheck", Message: "Machine m is unhealthy"}}},
		{"operation of which half is left", &v1alpha1.Machine{Status: v1alpha1.MachineStatus{LastOperation: v1alpha1.LastOperation{
			Type: "Create", State: "Failed", Description: "machine codes error: code = [X] message = [cut",
		}}}, []postmortem.Statement{{About: "status.lastOperation", Status: "Failed", Reason: "Create", Message: "machine codes error: code = [X] message = [cut"}}},
		{"new machine", &v1alpha1.Machine{}, nil},
		{
			"set", &v1alpha1.MachineSet{Status: v1alpha1.MachineSetStatus{Conditions: []v1alpha1.MachineSetCondition{{Type: "Frozen", Status: "True", Reason: "OverShootingReplicaCount", Message: "too many"}}}},
			[]postmortem.Statement{{About: "condition Frozen", Status: "True", Reason: "OverShootingReplicaCount", Message: "too many"}},
		},
		{
			"deployment", &v1beta1.MachineDeployment{Status: v1beta1.MachineDeploymentStatus{Conditions: []metav1.Condition{{Type: "Progressing", Status: "False", Reason: "RolloutStopped", Message: "m", LastTransitionTime: at}}}},
			[]postmortem.Statement{{About: "condition Progressing", Status: "False", Reason: "RolloutStopped", Message: "m", Since: start}},
		},
		{"something else", &corev1.Pod{}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := status.By(test.object)
			if len(got) != len(test.want) {
				t.Fatalf("got %+v, want %+v", got, test.want)
			}
			for i := range got {
				if got[i] != test.want[i] {
					t.Errorf("got %+v, want %+v", got[i], test.want[i])
				}
			}
		})
	}
}

// TestFailure: what a lens records of an error, it reads back, with the kind that its
// API keeps.
func TestFailure(t *testing.T) {
	of := func(state v1alpha1.MachineState, code, text string) client.Object {
		return &v1alpha1.Machine{Status: v1alpha1.MachineStatus{LastOperation: v1alpha1.LastOperation{State: state, ErrorCode: code, Description: text}}}
	}
	says := func(kind machinev1.ConditionType, text string) client.Object {
		return &machinev1.Machine{Status: machinev1.MachineStatus{Conditions: []machinev1.Condition{{Type: kind, Message: text}}}}
	}
	for _, test := range []struct {
		object client.Object
		want   string
		kind   provider.Kind
		reason string
	}{
		{of("Failed", "ResourceExhausted", "Cloud provider message - machine codes error: code = [ResourceExhausted] message = [no room]"), "no room", provider.Exhausted, "the code says it"},
		{of("Failed", "Unauthenticated", "who are you"), "who are you", provider.Denied, "another implementation's code"},
		{of("Failed", "Internal", "oops"), "oops", provider.Transient, "an unknown code is no kind"},
		{of("Failed", "", "the infrastructure does not list instance i-1, but node n reports Ready under it: check"), "", "", "an answer that is not believed is no failure"},
		{of("Processing", "ResourceExhausted", "x"), "", "", "the code is of an attempt before"},
		{&machinev1.Machine{Status: machinev1.MachineStatus{ErrorMessage: ptr.To("no such zone"), ErrorReason: ptr.To(machinev1.InvalidConfigurationMachineError)}}, "no such zone", provider.Invalid, "the reason says it"},
		{says("InstanceExists", "Instance has not been created: no room"), "no room", provider.Transient, "this API keeps no kind"},
		{says("InstanceExists", "Instance has not been created"), "", "", "nothing failed yet"},
		{says("InstanceExists", "Failed to check if machine exists: timeout"), "timeout", provider.Transient, "it cannot be asked"},
		{says("InstanceDeletionStarted", "Failed to delete the instance: it is locked"), "it is locked", provider.Transient, "it cannot be removed"},
		{&machinev1.Machine{}, "", "", "nothing failed"},
		{&corev1.Pod{}, "", "", "something else"},
	} {
		err := status.Failure(test.object)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != test.want || provider.KindOf(err) != test.kind {
			t.Errorf("%s: got %q of kind %q, want %q of kind %q", test.reason, got, provider.KindOf(err), test.want, test.kind)
		}
	}
}

func TestEventsInOrder(t *testing.T) {
	at := func(after time.Duration) metav1.Time { return metav1.NewTime(start.Add(after)) }
	got := status.Events([]corev1.Event{
		{Reason: "series", Series: &corev1.EventSeries{Count: 7, LastObservedTime: metav1.NewMicroTime(start.Add(3 * time.Minute))}},
		{Reason: "old", LastTimestamp: at(time.Minute), Count: 2},
		{Reason: "single", EventTime: metav1.NewMicroTime(start.Add(2 * time.Minute))},
	})
	var order []string
	for _, e := range got {
		order = append(order, e.Reason)
	}
	if strings.Join(order, " ") != "old single series" || got[0].Count != 2 || got[2].Count != 7 {
		t.Errorf("events %+v, want them by their last time", got)
	}
}

// TestStoredName: the name is one that the API server accepts, and two machines
// do not share one.
func TestStoredName(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,60}[a-z0-9])?){0,3}`).Draw(t, "name")
		stored := status.StoredName(name, "uid-1")
		if problems := validation.IsDNS1123Subdomain(stored); len(problems) > 0 {
			t.Fatalf("%q: %v", stored, problems)
		}
		if stored == status.StoredName(name, "uid-2") {
			t.Fatalf("two machines share %q", stored)
		}
	})
}

func TestKept(t *testing.T) {
	c := status.Stored(postmortem.Record{API: provider.Gardener, Namespace: "blue", Name: "m", UID: "u"}, []byte("{}"), start.Add(time.Hour))
	c.CreationTimestamp = metav1.NewTime(start)
	if k := status.Kept(c); !k.Expires.Equal(start.Add(time.Hour)) || !k.Taken.Equal(start) || k.Name != c.Name {
		t.Errorf("read back as %+v", k)
	}
	c.Annotations[status.ExpiresAnnotation] = "next week"
	if k := status.Kept(c); !k.Expires.IsZero() {
		t.Errorf("what cannot be read is %v, want none", k.Expires)
	}
}
