package openshift

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// TestBeneath is the table of how a cluster completes a machine's provider
// spec.
func TestBeneath(t *testing.T) {
	tests := map[string]struct {
		reason, own, cluster, want, keeps, fails string
	}{
		"nothing":           {"it stays to the byte", `{ "a": 1 }`, `{}`, `{ "a": 1 }`, `{}`, ""},
		"empty":             {"as good as absent", `{ "a": 1 }`, ``, `{ "a": 1 }`, `{}`, ""},
		"null":              {"as good as absent", `{ "a": 1 }`, `null`, `{ "a": 1 }`, `{}`, ""},
		"another field":     {"added", `{"a":1}`, `{"b":2}`, `{"a":1,"b":2}`, `{"b":2}`, ""},
		"the same field":    {"the machine wins", `{ "a": 1 }`, `{"a":2}`, `{ "a": 1 }`, `{}`, ""},
		"objects":           {"merged field by field", `{"a":{"b":1}}`, `{"a":{"b":2,"c":{"d":3}}}`, `{"a":{"b":1,"c":{"d":3}}}`, `{"a":{"b":2,"c":{"d":3}}}`, ""},
		"deep objects":      {"at any depth", `{"a":{"b":{"c":1}}}`, `{"a":{"b":{"d":2}}}`, `{"a":{"b":{"c":1,"d":2}}}`, `{"a":{"b":{"d":2}}}`, ""},
		"lists":             {"the machine wins", `{ "a": [1] }`, `{"a":[2,3]}`, `{ "a": [1] }`, `{}`, ""},
		"object and value":  {"the machine wins", `{ "a": 1 }`, `{"a":{"b":2}}`, `{ "a": 1 }`, `{}`, ""},
		"null of a machine": {"it asks for none", `{ "a": null }`, `{"a":2}`, `{ "a": null }`, `{}`, ""},
		"type of document":  {"not handed down", `{ "a": 1 }`, `{"metadata":{"name":"x"},"apiVersion":"","kind":""}`, `{ "a": 1 }`, `{}`, ""},
		"the same type":     {"means these machines", `{"kind":"K","apiVersion":"v"}`, `{"kind":"K","apiVersion":"v","b":2}`, `{"apiVersion":"v","b":2,"kind":"K"}`, `{"b":2}`, ""},
		"another kind":      {"means something else", `{ "kind": "Machine" }`, `{"kind":"Cluster","b":2}`, `{ "kind": "Machine" }`, `{}`, ""},
		"another version":   {"means something else", `{ "apiVersion": "a/v1" }`, `{"apiVersion":"b/v1","b":2}`, `{ "apiVersion": "a/v1" }`, `{}`, ""},
		"machine of none":   {"whether it is meant is not known", `{ "a": 1 }`, `{"kind":"Machine","b":2}`, `{ "a": 1 }`, `{}`, ""},
		"large numbers":     {"keep their digits", `{"a":12345678901234567}`, `{"b":98765432109876543}`, `{"a":12345678901234567,"b":98765432109876543}`, `{"b":98765432109876543}`, ""},
		"no object":         {"the cluster is told", `{ "a": 1 }`, `["x"]`, ``, ``, "is not an object"},
		"broken machine":    {"the provider objects", `["x"]`, `{"b":2}`, `["x"]`, `{}`, ""},
		"null machine":      {"the provider objects", `null`, `{"b":2}`, `null`, `{}`, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, keeps, err := beneath([]byte(tc.own), []byte(tc.cluster))
			if (err != nil) != (tc.fails != "") || err != nil && !strings.Contains(err.Error(), tc.fails) {
				t.Fatalf("%s: error %v", tc.reason, err)
			}
			if string(got) != tc.want || string(keeps) != tc.keeps {
				t.Errorf("%s: got %s and keeps %s, want %s and %s", tc.reason, got, keeps, tc.want, tc.keeps)
			}
			if tc.fails != "" {
				return
			}
			if again, kept, err := beneath([]byte(tc.own), keeps); err != nil || string(again) != tc.want || string(kept) != tc.keeps {
				t.Errorf("%s: by what is kept it comes to %s and keeps %s, error %v", tc.reason, again, kept, err)
			}
		})
	}
}

func cluster(namespace, name, value string) *v1beta1.Cluster {
	c := &v1beta1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if value != "" {
		c.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: []byte(value)}
	}
	return c
}

func clientWith(t *testing.T, objects ...client.Object) client.Client {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1beta1.AddToScheme, corev1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	return fake.NewClientBuilder().WithScheme(s).WithObjects(objects...).Build()
}

func blueMachine() *machinev1.Machine {
	m := &machinev1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m", Labels: map[string]string{ClusterLabel: "blue"}}}
	m.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: []byte(`{"size":3}`)}
	return m
}

func TestWhichCluster(t *testing.T) {
	tests := map[string]struct {
		reason   string
		clusters []client.Object
		want     string
	}{
		"none":          {"absence changes nothing", nil, `{"size":3}`},
		"named":         {"by the machine's label", []client.Object{cluster("ns", "red", `{"zone":"r"}`), cluster("ns", "blue", `{"zone":"b"}`)}, `{"size":3,"zone":"b"}`},
		"the only one":  {"whatever its name", []client.Object{cluster("ns", "red", `{"zone":"r"}`)}, `{"size":3,"zone":"r"}`},
		"none of two":   {"it is not guessed", []client.Object{cluster("ns", "red", `{"zone":"r"}`), cluster("ns", "green", `{"zone":"g"}`)}, `{"size":3}`},
		"elsewhere":     {"another namespace is another cluster", []client.Object{cluster("other", "blue", `{"zone":"b"}`)}, `{"size":3}`},
		"without value": {"it says nothing about machines", []client.Object{cluster("ns", "blue", "")}, `{"size":3}`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := clientWith(t, tc.clusters...)
			m := blueMachine()
			c, err := Resolver{Reader: r, Clusters: r}.Class(t.Context(), m)
			if err != nil || string(c.Spec) != tc.want || c.Cluster != "blue" {
				t.Errorf("%s: spec %s of cluster %s, error %v", tc.reason, c.Spec, c.Cluster, err)
			}
			if string(m.Spec.ProviderSpec.Value.Raw) != `{"size":3}` {
				t.Error("the machine was changed")
			}
			if c, err := (Resolver{Reader: r}).Class(t.Context(), m); err != nil || string(c.Spec) != `{"size":3}` {
				t.Errorf("a lens that reads no clusters: spec %s, error %v", c.Spec, err)
			}
		})
	}
}

// TestWhatAMachineKeeps is about when clusters have a say, and what of it is to
// be stored before an instance is asked for.
func TestWhatAMachineKeeps(t *testing.T) {
	born := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	since := func(c *v1beta1.Cluster, after time.Duration) *v1beta1.Cluster {
		c.CreationTimestamp = metav1.NewTime(born.Add(after))
		return c
	}
	none := func(*machinev1.Machine) {}
	keeping := func(kept string) func(*machinev1.Machine) {
		return func(m *machinev1.Machine) { m.Annotations = map[string]string{DefaultsAnnotation: kept} }
	}
	blue := since(cluster("ns", "blue", `{"metadata":{},"zone":"b"}`), -time.Hour)
	late := since(cluster("ns", "blue", `{"zone":"b"}`), time.Second)
	silent := since(cluster("ns", "blue", ""), -time.Hour)
	all := func(clusters ...client.Object) []client.Object { return clusters }
	tests := map[string]struct {
		reason      string
		edit        func(*machinev1.Machine)
		clusters    []client.Object
		spec, keeps string
	}{
		"no cluster":               {"absence changes nothing, and costs no write", none, nil, `{"size":3}`, ""},
		"older cluster":            {"counts, and is to be kept", none, all(blue), `{"size":3,"zone":"b"}`, `{"zone":"b"}`},
		"cluster of the same time": {"may come from the same file", none, all(since(cluster("ns", "blue", `{"zone":"b"}`), 0)), `{"size":3,"zone":"b"}`, `{"zone":"b"}`},
		"younger cluster":          {"an instance may have been asked for without it", none, all(late), `{"size":3}`, ""},
		"silent cluster":           {"it may say something later", none, all(silent), `{"size":3}`, `{}`},
		"silent about this":        {"the machine says all itself", none, all(since(cluster("ns", "blue", `{"size":4}`), 0)), `{"size":3}`, `{}`},
		"none of two":              {"one may be left later", none, all(since(cluster("ns", "red", `{"zone":"r"}`), 0), since(cluster("ns", "green", `{"zone":"g"}`), 0)), `{"size":3}`, `{}`},
		"one of two is older":      {"as if the other were not there", none, all(since(cluster("ns", "red", `{"zone":"r"}`), 0), since(cluster("ns", "green", `{"zone":"g"}`), time.Hour)), `{"size":3,"zone":"r"}`, `{"zone":"r"}`},
		"kept":                     {"whatever the cluster says by now", keeping(`{"zone":"a"}`), all(blue), `{"size":3,"zone":"a"}`, ""},
		"kept, cluster gone":       {"whether or not there is one", keeping(`{"zone":"a"}`), nil, `{"size":3,"zone":"a"}`, ""},
		"kept nothing":             {"that is known, too", keeping(`{}`), all(blue), `{"size":3}`, ""},
		"provider ID":              {"made from nothing else", func(m *machinev1.Machine) { m.Spec.ProviderID = ptr.To("cloud:///i-1") }, all(blue), `{"size":3}`, ""},
		"addresses":                {"made from nothing else", func(m *machinev1.Machine) { m.Status.Addresses = []corev1.NodeAddress{{Address: "10.0.0.1"}} }, all(blue), `{"size":3}`, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := clientWith(t, tc.clusters...)
			m := blueMachine()
			m.CreationTimestamp = metav1.NewTime(born)
			tc.edit(m)
			c, err := Resolver{Reader: r, Clusters: r}.Class(t.Context(), m)
			if err != nil || string(c.Spec) != tc.spec || string(c.Inherited) != tc.keeps {
				t.Errorf("%s: spec %s, to be kept %q, error %v, want %s and %q", tc.reason, c.Spec, c.Inherited, err, tc.spec, tc.keeps)
			}
		})
	}
}

// The author of an invalid record on a machine can fix it. Until then it is no reason to fail.
func TestKeptNonsense(t *testing.T) {
	r := clientWith(t)
	m := blueMachine()
	m.Annotations = map[string]string{DefaultsAnnotation: `["x"]`}
	c, err := Resolver{Reader: r, Clusters: r}.Class(t.Context(), m)
	if err == nil || err.Error() != "metadata.annotations[millwright.dev/cluster-defaults]: is not an object" {
		t.Errorf("error %v", err)
	}
	if provider.KindOf(err) == provider.Invalid || string(c.Spec) != `{"size":3}` {
		t.Errorf("kind %v, what is left: %s", provider.KindOf(err), c.Spec)
	}
}

// What is to be kept is written with the finalizer, and with the instance.
func TestRecordKeepsDefaults(t *testing.T) {
	w := lifecycle.World{Instances: lifecycle.Instances{Looked: true}, Session: lifecycle.Session{Inherited: []byte(`{"zone":"b"}`)}}
	hold := lifecycle.Decision{Step: lifecycle.AddFinalizer}
	found := w
	found.Instances.Own = []provider.Instance{{ProviderID: "cloud:///i-1"}}
	await := lifecycle.Decision{Step: lifecycle.Await, Stage: lifecycle.StageCreating}
	tests := map[string]struct {
		reason, want string
		o            lifecycle.Outcome
	}{
		"held":          {"before an instance is asked for", `{"zone":"b"}`, lifecycle.Outcome{Decision: hold, Steps: []lifecycle.Decision{hold}, World: w}},
		"instance":      {"what it is looked for with is what it was made from", `{"zone":"b"}`, lifecycle.Outcome{Decision: await, World: found}},
		"not asked for": {"it may be mended yet", "", lifecycle.Outcome{Decision: await, World: w}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			m := blueMachine()
			Machines{}.Record(m, tc.o)
			if got := m.Annotations[DefaultsAnnotation]; got != tc.want {
				t.Errorf("%s: %s: keeps %q, want %q", name, tc.reason, got, tc.want)
			}
		})
	}
}

// What the cluster says counts as if the machine said it: secrets, too.
func TestSecretsNamedByTheCluster(t *testing.T) {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "cloud"}, Data: map[string][]byte{"key": []byte("k"), "userData": []byte("boot")}}
	r := clientWith(t, s, cluster("ns", "blue", `{"credentialsSecret":{"name":"cloud"},"userDataSecret":{"name":"cloud"}}`))
	c, err := Resolver{Reader: r, Clusters: r}.Class(t.Context(), blueMachine())
	if err != nil || string(c.Credentials["key"]) != "k" || string(c.UserData) != "boot" {
		t.Errorf("credentials %v, user data %q, error %v", c.Credentials, c.UserData, err)
	}
}

// answers is a reader that says one thing, or nothing for as long as it may.
type answers struct {
	client.Reader
	err error
}

func (a answers) List(ctx context.Context, _ client.ObjectList, _ ...client.ListOption) error {
	if a.err != nil {
		return a.err
	}
	<-ctx.Done()
	return ctx.Err()
}

// Not knowing is not the same as there being none: no instance is made without
// what it may have to have. What is left of the class serves to remove one.
func TestClustersThatCannotBeRead(t *testing.T) {
	tests := map[string]struct {
		reason, fails string
		err           error
	}{
		"no such kind": {"absence changes nothing", "", &meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "Cluster"}}},
		"denied":       {"somebody has to grant it", "spec.providerSpec.value: list the clusters", errors.New("forbidden")},
		"no answer":    {"a worker does not wait for ever", "spec.providerSpec.value: list the clusters", nil},
	}
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "cloud"}, Data: map[string][]byte{"key": []byte("k")}}
	for name, tc := range tests {
		synctest.Test(t, func(t *testing.T) {
			m := blueMachine()
			m.Spec.ProviderSpec.Value.Raw = []byte(`{"credentialsSecret":{"name":"cloud"}}`)
			begun := time.Now()
			c, err := Resolver{Reader: clientWith(t, s), Clusters: answers{err: tc.err}}.Class(t.Context(), m)
			if (err != nil) != (tc.fails != "") || err != nil && !strings.HasPrefix(err.Error(), tc.fails) {
				t.Errorf("%s (%s): error %v", name, tc.reason, err)
			}
			if string(c.Spec) != string(m.Spec.ProviderSpec.Value.Raw) || string(c.Credentials["key"]) != "k" {
				t.Errorf("what is left: %s, %v", c.Spec, c.Credentials)
			}
			if took := time.Since(begun); took > clusterWait {
				t.Errorf("took %v", took)
			}
		})
	}
}

func TestClusterThatSaysNonsense(t *testing.T) {
	r := clientWith(t, cluster("ns", "blue", `["x"]`))
	c, err := Resolver{Reader: r, Clusters: r}.Class(t.Context(), blueMachine())
	if err == nil || !strings.HasPrefix(err.Error(), "spec.providerSpec.value: complete it by cluster blue: its spec.providerSpec.value is not an object") {
		t.Errorf("error %v", err)
	}
	if string(c.Spec) != `{"size":3}` {
		t.Errorf("what is left: %s", c.Spec)
	}
}
