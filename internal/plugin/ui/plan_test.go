package ui

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/millwright-dev/millwright/internal/plugin/connect"
	"github.com/millwright-dev/millwright/internal/plugin/live"
	"github.com/millwright-dev/millwright/internal/plugin/survey"
	"github.com/millwright-dev/millwright/internal/plugin/ui/changes"
)

// withSet serves a cluster that has the set blue/mill of two machines that do not exist yet, and a node.
func withSet(t *testing.T) (*Server, client.Client) {
	t.Helper()
	labels := map[string]string{"pool": "mill", machinev1.MachineClusterIDLabel: "blue"}
	set := &machinev1.MachineSet{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: "mill", UID: "uid-mill"}, Spec: machinev1.MachineSetSpec{
		Replicas: ptr.To[int32](2), Selector: metav1.LabelSelector{MatchLabels: labels},
		Template: machinev1.MachineTemplateSpec{ObjectMeta: machinev1.ObjectMeta{Labels: labels}},
	}}
	c := fake.NewClientBuilder().WithScheme(connect.Scheme()).WithObjects(set, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "uid-n"}}).
		WithIndex(&corev1.Pod{}, "spec.nodeName", func(o client.Object) []string { return []string{o.(*corev1.Pod).Spec.NodeName} }).
		WithIndex(&corev1.Event{}, "involvedObject.kind", func(o client.Object) []string { return []string{o.(*corev1.Event).InvolvedObject.Kind} }).Build()
	s := idle()
	s.fleet = &live.Fleet{Control: interceptor.NewClient(c, interceptor.Funcs{Patch: tryPatch}), Target: c}
	return s, c
}

// tryPatch answers a dry run as an API server does: the fake one answers with the object as it is.
func tryPatch(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	var options client.PatchOptions
	options.ApplyOptions(opts)
	if len(options.DryRun) == 0 {
		return c.Patch(ctx, o, p, opts...)
	}
	raw, err := p.Data(o)
	if err != nil {
		return err
	}
	after, err := survey.Merged(o, raw)
	if set, is := o.(*machinev1.MachineSet); err == nil && is {
		after.(*machinev1.MachineSet).DeepCopyInto(set)
	}
	return err
}

func same(*http.Request) {}

// TestPlan: a plan says what is created, and stores nothing.
func TestPlan(t *testing.T) {
	s, c := withSet(t)
	for reason, body := range map[string]string{
		"of an object":  `{"object":{"api":"machine.openshift.io","kind":"MachineSet","namespace":"blue","name":"mill"},"patch":{"spec":{"replicas":5}}}`,
		"of a manifest": `{"namespace":"blue","manifest":"{apiVersion: machine.openshift.io/v1beta1, kind: MachineSet, metadata: {name: mill}, spec: {replicas: 5}}"}`,
	} {
		t.Run(reason, func(t *testing.T) {
			got := posted(s, "/api/plan", body, same)
			var p changes.PlanPage
			if err := json.Unmarshal(got.Body.Bytes(), &p); err != nil || got.Code != http.StatusOK {
				t.Fatalf("%d %s", got.Code, got.Body)
			}
			if p.Nothing || len(p.Changes) != 1 || len(p.Plans) != 1 || p.Plans[0].Created != 5 || !strings.Contains(p.Plans[0].Lines[1].Text, "create 5 machines") {
				t.Errorf("%s", got.Body)
			}
		})
	}
	var set machinev1.MachineSet
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "blue", Name: "mill"}, &set); err != nil || *set.Spec.Replicas != 2 {
		t.Errorf("the plan has changed the set: %v %v", *set.Spec.Replicas, err)
	}
}

// TestPlanErrors: an error names the field that it is about.
func TestPlanErrors(t *testing.T) {
	s, _ := withSet(t)
	object := `"object":{"api":"machine.openshift.io","kind":"MachineSet","namespace":"blue","name":"mill"}`
	for body, want := range map[string]string{
		`{}`:                          "manifest: must not be empty",
		`{"manifest":"# nothing"}`:    "manifest: it is empty",
		`{` + object + `,"patch":{}}`: "patch: must not be empty",
		`{"manifest":"a: ["}`:         "manifest: document 1 is not the YAML or JSON",
		`{"manifest":"{apiVersion: v1, kind: Secret, metadata: {name: a}}"}`:                                                                                           "manifest: it has no object that can be planned: Secret a (v1)",
		`{"manifest":"{apiVersion: machine.openshift.io/v1beta1, kind: MachineSet, metadata: {name: a}}"}`:                                                             "manifest: metadata.namespace of MachineSet a must not be empty",
		`{"namespace":"blue","manifest":"{apiVersion: machine.openshift.io/v1beta1, kind: MachineSet, metadata: {name: a}, spec: {replicas: many}}"}`:                  "manifest: MachineSet a",
		`{"namespace":"blue","manifest":` + quoted(strings.Repeat("---\n{apiVersion: machine.openshift.io/v1beta1, kind: Machine, metadata: {name: a}}\n", 101)) + `}`: "manifest: 101 objects, at most 100",
		`{"manifest":"a",` + object + `}`:                           "object: must be empty if there is a manifest",
		`{` + object + `}`:                                          "patch: must be a JSON object",
		`{` + object + `,"patch":[1]}`:                              "patch: must be a JSON object",
		`{` + object + `,"patch":{},"delete":true}`:                 "patch: must be empty if the object is deleted",
		`{"object":{"kind":"MachineSet","name":"mill"},"patch":{}}`: "object: api and namespace must not be empty",
		`{"object":{"api":"machine.openshift.io","kind":"Nonsense","namespace":"blue","name":"mill"},"patch":{}}`:    "object: ",
		`{"object":{"api":"machine.openshift.io","kind":"MachineSet","namespace":"blue","name":"other"},"patch":{}}`: "object: MachineSet blue/other does not exist",
		`{"object":{"api":"x","kind":"Node","namespace":"x","name":"n"},"patch":{}}`:                                 "object: Node x/n: only machines",
	} {
		if got := posted(s, "/api/plan", body, same); got.Code != http.StatusUnprocessableEntity || !strings.HasPrefix(got.Body.String(), want) {
			t.Errorf("%.120s: %d %s, want %q", body, got.Code, got.Body, want)
		}
	}
}

func quoted(text string) string {
	out, _ := json.Marshal(text)
	return string(out)
}
