package apis_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/dialect/apis"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
	"github.com/millwright-dev/millwright/internal/engine/postmortem"
	"github.com/millwright-dev/millwright/provider"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestSaid(t *testing.T) {
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
			got := apis.Said(test.object).Statements
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
		{&machinev1.Machine{Status: machinev1.MachineStatus{ErrorMessage: ptr.To("no room"), ErrorReason: ptr.To(machinev1.InsufficientResourcesMachineError)}}, "no room", provider.Exhausted, "so does this one"},
		{says("InstanceExists", "Instance has not been created: no room"), "no room", provider.Transient, "this API keeps no kind"},
		{says("InstanceExists", "Instance has not been created"), "", "", "nothing failed yet"},
		{says("InstanceExists", "Failed to check if machine exists: timeout"), "timeout", provider.Transient, "it cannot be asked"},
		{says("InstanceDeletionStarted", "Failed to delete the instance: it is locked"), "it is locked", provider.Transient, "it cannot be removed"},
		{&machinev1.Machine{}, "", "", "nothing failed"},
		{&corev1.Pod{}, "", "", "something else"},
	} {
		t.Run(test.reason, func(t *testing.T) {
			err := apis.Said(test.object).Failure
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != test.want || provider.KindOf(err) != test.kind {
				t.Errorf("%s: got %q of kind %q, want %q of kind %q", test.reason, got, provider.KindOf(err), test.want, test.kind)
			}
		})
	}
}

// TestSaidOfGroups: numbers, class and freeze are found where each API has them.
func TestSaidOfGroups(t *testing.T) {
	class, frozen := v1alpha1.ClassSpec{Name: "c"}, metav1.ObjectMeta{Labels: map[string]string{v1alpha1.LabelKeyFreeze: v1alpha1.LabelValueTrue}}
	until := metav1.NewTime(start)
	set := &v1alpha1.MachineSet{ObjectMeta: frozen, Status: v1alpha1.MachineSetStatus{Replicas: 4, ReadyReplicas: 3, AvailableReplicas: 2, ObservedGeneration: 9}}
	set.Spec.Template.Spec.Class = class
	deployment := &v1alpha1.MachineDeployment{ObjectMeta: frozen}
	deployment.Spec.Template.Spec.Class = class
	deployment.Status = v1alpha1.MachineDeploymentStatus{Replicas: 4, ReadyReplicas: 3, AvailableReplicas: 2, UpdatedReplicas: 1, ObservedGeneration: 9}
	machine := &v1alpha1.Machine{Spec: v1alpha1.MachineSpec{Class: class}}
	machine.Status.CurrentStatus = v1alpha1.CurrentStatus{Phase: v1alpha1.MachineFailed, PreserveExpiryTime: &until}
	counts := dialect.Counts{Have: 4, Ready: 3, Available: 2, Observed: 9}
	all := counts
	all.Updated = 1
	for _, test := range []struct {
		reason string
		object client.Object
		want   dialect.Said
	}{
		{"a set counts machines, and not which are updated", set, dialect.Said{Class: "c", Classed: true, Frozen: true, Counts: counts}},
		{"a deployment knows that, too", deployment, dialect.Said{Class: "c", Classed: true, Frozen: true, Counts: all}},
		{"a machine is preserved for some time", machine, dialect.Said{Class: "c", Classed: true, Phase: "Failed", KeptUntil: start}},
		{"a set without the label is not frozen", &v1alpha1.MachineSet{}, dialect.Said{Classed: true}},
		{"the other API has neither classes nor freezes", &machinev1.MachineSet{ObjectMeta: frozen, Status: machinev1.MachineSetStatus{
			Replicas: 4, ReadyReplicas: 3, AvailableReplicas: 2, ObservedGeneration: 9,
		}}, dialect.Said{Counts: counts}},
		{"but deployments", &v1beta1.MachineDeployment{Status: v1beta1.MachineDeploymentStatus{
			Replicas: 4, ReadyReplicas: 3, AvailableReplicas: 2, UpdatedReplicas: 1, ObservedGeneration: 9,
		}}, dialect.Said{Counts: all}},
		{"and phases", &machinev1.Machine{Status: machinev1.MachineStatus{Phase: ptr.To("Running")}}, dialect.Said{Phase: "Running"}},
		{"something else says nothing", &corev1.Pod{}, dialect.Said{}},
	} {
		t.Run(test.reason, func(t *testing.T) {
			if diff := cmp.Diff(test.want, apis.Said(test.object)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.reason, diff)
			}
		})
	}
}

// TestSaidSecrets: both APIs name the secrets that a machine is made with, and with which of
// them the infrastructure is asked.
func TestSaidSecrets(t *testing.T) {
	machine := func(spec, kept string) client.Object {
		m := &machinev1.Machine{}
		m.Namespace = "blue"
		m.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: []byte(spec)}
		if kept != "" {
			m.Annotations = map[string]string{openshift.DefaultsAnnotation: kept}
		}
		return m
	}
	of := func(refs ...*corev1.SecretReference) client.Object {
		c := &v1alpha1.MachineClass{SecretRef: refs[0], CredentialsSecretRef: refs[1]}
		c.Namespace = "blue"
		return c
	}
	named := func(namespace, name string, credentials bool) dialect.NamedSecret {
		return dialect.NamedSecret{Namespace: namespace, Name: name, Credentials: credentials}
	}
	boot, cloud := &corev1.SecretReference{Name: "boot"}, &corev1.SecretReference{Namespace: "red", Name: "cloud"}
	for _, test := range []struct {
		reason string
		object client.Object
		want   []dialect.NamedSecret
	}{
		{"both are named", machine(`{"userDataSecret":{"name":"boot"},"credentialsSecret":{"name":"cloud"}}`, ""), []dialect.NamedSecret{named("blue", "boot", false), named("blue", "cloud", true)}},
		{"the cluster names one, and the machine keeps that", machine(`{"userDataSecret":{"name":"boot"}}`, `{"userDataSecret":{"name":"other"},"credentialsSecret":{"name":"cloud"}}`), []dialect.NamedSecret{named("blue", "boot", false), named("blue", "cloud", true)}},
		{"none is named", machine(`{"size":"small"}`, ""), nil},
		{"the spec cannot be read", machine(`[]`, ""), nil},
		{"there is no spec", &machinev1.Machine{}, nil},
		{"a class with two", of(boot, cloud), []dialect.NamedSecret{named("blue", "boot", false), named("red", "cloud", true)}},
		{"a class with one has all in it", of(boot, nil), []dialect.NamedSecret{named("blue", "boot", true)}},
		{"a class without", of(nil, nil), nil},
		{"something else", &corev1.Pod{}, nil},
	} {
		t.Run(test.reason, func(t *testing.T) {
			if got := apis.Said(test.object).Secrets; !slices.Equal(got, test.want) {
				t.Errorf("%s: %+v, want %+v", test.reason, got, test.want)
			}
		})
	}
}

// TestSaidUnasked: the reason of the condition says it, and no text.
func TestSaidUnasked(t *testing.T) {
	says := func(reason string) client.Object {
		return &machinev1.Machine{Status: machinev1.MachineStatus{Conditions: []machinev1.Condition{{Type: machinev1.InstanceExistsCondition, Reason: reason}}}}
	}
	for reason, want := range map[string]bool{machinev1.ErrorCheckingProviderReason: true, machinev1.InstanceNotCreatedReason: false, machinev1.InstanceMissingReason: false} {
		if apis.Said(says(reason)).Unasked != want {
			t.Errorf("%s: %v, want %v", reason, !want, want)
		}
	}
	if apis.Said(&v1alpha1.Machine{}).Unasked {
		t.Error("an API that does not tell")
	}
}
