package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	machinev1 "github.com/openshift/api/machine/v1beta1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
	"github.com/millwright-dev/millwright/internal/demo/fleet"
)

// keepers are both programs for a fleet whose instances outlive them.
type keepers struct {
	place
	instances, calls string
	both             []*started
}

func (k *keepers) begin(t *testing.T) {
	t.Helper()
	for _, program := range []string{"machine-controller-manager", fleet.Machines} {
		address := devplanetest.FreeAddress(t)
		args := []string{"--control-kubeconfig=" + k.kubeconfig, "--namespace=" + garden, "--port=" + address[strings.LastIndex(address, ":")+1:]}
		if program == fleet.Machines {
			args = append(args, "--kubemark-backend=memory", "--kubemark-dir="+k.instances, "--call-log="+k.calls)
		} else {
			args = append(args, "--apis=openshift,gardener")
		}
		k.both = append(k.both, k.start(t, program, program, address, args...))
	}
}

func (k *keepers) end(t *testing.T) {
	t.Helper()
	for _, s := range k.both {
		s.ends(t)
	}
	k.both = nil
}

// kept are the kinds of both APIs, and the kinds of Kubernetes that machines use.
var kept = []schema.GroupVersionKind{
	machinev1.GroupVersion.WithKind("Machine"), machinev1.GroupVersion.WithKind("MachineSet"), machinev1.GroupVersion.WithKind("MachineHealthCheck"),
	v1alpha1.GroupVersion.WithKind("Machine"), v1alpha1.GroupVersion.WithKind("MachineSet"), v1alpha1.GroupVersion.WithKind("MachineDeployment"),
	v1alpha1.GroupVersion.WithKind("MachineClass"), corev1.SchemeGroupVersion.WithKind("Node"), corev1.SchemeGroupVersion.WithKind("Secret"),
}

// all returns the objects of these kinds.
func (p place) all(t *testing.T) (out []*unstructured.Unstructured) {
	t.Helper()
	for _, kind := range kept {
		var list unstructured.UnstructuredList
		list.SetGroupVersionKind(kind)
		if err := p.List(t.Context(), &list); err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			out = append(out, &list.Items[i])
		}
	}
	return out
}

// kindOf distinguishes kinds of one name.
func kindOf(o *unstructured.Unstructured) string {
	kind := o.GroupVersionKind()
	return strings.TrimPrefix(kind.Group+" "+kind.Kind, " ")
}

func conditions(o *unstructured.Unstructured) []any {
	all, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	return all
}

// theirs are the conditions of the originals.
var theirs = map[string][]string{
	"machine.openshift.io Machine":            {"Drainable", "InstanceExists", "Terminable"},
	"machine.openshift.io MachineHealthCheck": {"RemediationAllowed"},
	"machine.sapcloud.io MachineDeployment":   {"Available", "Progressing"},
}

// isOurs reports whether the originals do not have a condition. Conditions of nodes belong to kubelets, and machines of
// machine.sapcloud.io repeat them.
func isOurs(o *unstructured.Unstructured, condition any) (string, bool) {
	kind, _ := condition.(map[string]any)["type"].(string)
	return kind, !slices.Contains(theirs[kindOf(o)], kind) && o.GetKind() != "Node" && kindOf(o) != "machine.sapcloud.io Machine"
}

const ours = "millwright"

// leavings returns the parts of an object that Millwright added.
func leavings(o *unstructured.Unstructured) (out []string) {
	for part, all := range map[string]map[string]string{"annotation": o.GetAnnotations(), "label": o.GetLabels()} {
		for key := range all {
			if strings.Contains(key, ours) {
				out = append(out, part+" "+key)
			}
		}
	}
	for _, f := range o.GetFinalizers() {
		if strings.Contains(f, ours) {
			out = append(out, "finalizer "+f)
		}
	}
	taints, _, _ := unstructured.NestedSlice(o.Object, "spec", "taints")
	for _, taint := range taints {
		if key, _ := taint.(map[string]any)["key"].(string); strings.Contains(key, ours) {
			out = append(out, "taint "+key)
		}
	}
	for _, c := range conditions(o) {
		if kind, is := isOurs(o, c); is {
			out = append(out, "condition "+kind)
		}
	}
	return out
}

// TestGiveBack: Millwright leaves all fields that an original reads, and of its own fields those that the document lists.
// Without these, the objects are as an original leaves them, with existing instances: preflight calls the differences
// bookkeeping, and the machine controllers do nothing else.
func TestGiveBack(t *testing.T) {
	t.Parallel()
	p, _ := bare(t)
	p.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: garden}})
	p.install(t, "machine.sapcloud.io")
	p.install(t, "machine.openshift.io", "MachineDeployment")
	eventually(t, "the kinds are served", func(ctx context.Context) (string, error) {
		for _, kind := range kept {
			var list unstructured.UnstructuredList
			list.SetGroupVersionKind(kind)
			if err := p.List(ctx, &list); err != nil {
				return err.Error(), nil //nolint:nilerr // It is repeated.
			}
		}
		return "", nil
	})
	k := &keepers{place: p, instances: t.TempDir(), calls: filepath.Join(t.TempDir(), "calls")}
	k.begin(t)
	p.pool(t)
	p.joinAll(t, 2)
	p.openshiftPool(t, garden)
	p.rests(t, 5*time.Second, kept...)
	k.end(t)

	p.released(t)
	left := map[string]bool{}
	for _, o := range p.all(t) {
		p.needs(t, o)
		for _, trace := range leavings(o) {
			left[kindOf(o)+": "+strings.ReplaceAll(trace, "millwright.dev/", "")] = true
		}
	}
	documented(t, slices.Sorted(maps.Keys(left)))

	p.forget(t)
	k.takesOver(t)
}

// needs: each object has the fields that the original reads.
func (p place) needs(t *testing.T, o *unstructured.Unstructured) {
	t.Helper()
	field := func(fields ...string) string { s, _, _ := unstructured.NestedString(o.Object, fields...); return s }
	var pairs [][2]string
	finalizer := ""
	switch kindOf(o) {
	case "machine.openshift.io Machine":
		node := p.nodeOf(t, field("status", "nodeRef", "name"))
		finalizer = machinev1.MachineFinalizer
		pairs = [][2]string{
			{field("spec", "providerID"), node.Spec.ProviderID},
			{field("status", "phase"), machinev1.PhaseRunning},
			{field("status", "nodeRef", "uid"), string(node.UID)},
			{node.Annotations["machine.openshift.io/machine"], o.GetNamespace() + "/" + o.GetName()},
			{o.GetAnnotations()["machine.openshift.io/instance-state"], "running"},
		}
	case "machine.sapcloud.io Machine":
		node := p.nodeOf(t, o.GetLabels()[v1alpha1.LabelKeyNode])
		finalizer = v1alpha1.FinalizerMachine
		pairs = [][2]string{
			{field("spec", "providerID"), node.Spec.ProviderID},
			{field("status", "currentStatus", "phase"), string(v1alpha1.MachineRunning)},
			{field("status", "lastOperation", "state"), string(v1alpha1.MachineStateSuccessful)},
		}
	case "machine.sapcloud.io MachineClass":
		finalizer = v1alpha1.FinalizerMachine
	}
	for _, pair := range pairs {
		if pair[0] != pair[1] {
			t.Errorf("%s %s has %q, want %q", kindOf(o), o.GetName(), pair[0], pair[1])
		}
	}
	if finalizer != "" && !slices.Contains(o.GetFinalizers(), finalizer) {
		t.Errorf("%s %s has the finalizers %v, want %s", kindOf(o), o.GetName(), o.GetFinalizers(), finalizer)
	}
	if o.GetKind() == "Machine" {
		if owners := o.GetOwnerReferences(); len(owners) != 1 || owners[0].Controller == nil || !*owners[0].Controller || owners[0].Kind != "MachineSet" {
			t.Errorf("%s %s is owned by %+v", kindOf(o), o.GetName(), owners)
		}
	}
}

func (p place) nodeOf(t *testing.T, name string) (node corev1.Node) {
	t.Helper()
	if err := p.Get(t.Context(), client.ObjectKey{Name: name}, &node); err != nil {
		t.Errorf("a machine names its node: %v", err)
	}
	return node
}

// released: all leases are free.
func (p place) released(t *testing.T) {
	t.Helper()
	var all coordinationv1.LeaseList
	if err := p.List(t.Context(), &all, client.InNamespace(garden)); err != nil || len(all.Items) < 2 {
		t.Errorf("%d leases: %v", len(all.Items), err)
	}
	for _, l := range all.Items {
		if holder := ptr.Deref(l.Spec.HolderIdentity, ""); holder != "" {
			t.Errorf("%s holds the lease %s", holder, l.Name)
		}
	}
}

// quoted returns the names in the cell of a table.
var quoted = regexp.MustCompile("(annotation|condition|finalizer|label|taint) `([^`]+)`")

// documented: the page about the way back has a row for each kind of object, with the remaining fields.
func documented(t *testing.T, left []string) {
	t.Helper()
	raw, err := os.ReadFile(filepath.FromSlash("../../docs/taking-over.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, page, _ := strings.Cut(string(raw), "## Give back\n")
	page, _, _ = strings.Cut(page, "\n## ")
	var listed []string
	for line := range strings.Lines(page) {
		cells := strings.Split(line, "|")
		if len(cells) != 4 {
			continue
		}
		for _, name := range quoted.FindAllStringSubmatch(cells[2], -1) {
			listed = append(listed, strings.Trim(strings.TrimSpace(cells[1]), "`")+": "+name[1]+" "+name[2])
		}
	}
	slices.Sort(listed)
	if diff := cmp.Diff(left, listed); diff != "" {
		t.Errorf("our remaining fields (-), and those in docs/taking-over.md (+):\n%s", diff)
	}
}

// forget removes our fields. The objects are then as originals leave them, and so are the instances, which have no owner.
func (p place) forget(t *testing.T) {
	t.Helper()
	for _, o := range p.all(t) {
		if len(leavings(o)) == 0 {
			continue
		}
		notes, labels := o.GetAnnotations(), o.GetLabels()
		gone := func(key, _ string) bool { return strings.Contains(key, ours) }
		maps.DeleteFunc(notes, gone)
		maps.DeleteFunc(labels, gone)
		o.SetAnnotations(notes)
		o.SetLabels(labels)
		rest := slices.DeleteFunc(conditions(o), func(c any) bool { _, is := isOurs(o, c); return is })
		if err := p.Update(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		if len(rest) == len(conditions(o)) {
			continue
		}
		if err := unstructured.SetNestedSlice(o.Object, rest, "status", "conditions"); err != nil {
			t.Fatal(err)
		}
		if err := p.Status().Update(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
}

// takesOver: preflight finds only bookkeeping, and the programs do nothing else.
func (k *keepers) takesOver(t *testing.T) {
	t.Helper()
	if r := k.report(t, 0); !r.Ready || !r.Quiet || len(r.Objects) == 0 {
		t.Errorf("preflight says %+v", r)
	}
	before, had, from := map[string]string{}, k.machines(t), len(k.called(t))
	for _, o := range k.all(t) {
		before[kindOf(o)+" "+o.GetName()] = substance(o)
	}
	k.begin(t)
	eventually(t, "machines that have been looked at", func(context.Context) (string, error) {
		for _, o := range k.all(t) {
			if o.GetKind() == "Machine" && !slices.Contains(leavings(o), "annotation millwright.dev/origin") {
				return kindOf(o) + " " + o.GetName(), nil
			}
		}
		return "", nil
	})
	k.rests(t, 15*time.Second, kept...)
	k.end(t)
	for _, o := range k.all(t) {
		name := kindOf(o) + " " + o.GetName()
		if was := before[name]; was != substance(o) {
			t.Errorf("%s was to see bookkeeping only:\n%s\n%s", name, was, substance(o))
		}
		delete(before, name)
	}
	if len(before) > 0 {
		t.Errorf("gone are %v", slices.Sorted(maps.Keys(before)))
	}
	if has := k.machines(t); has != had || strings.Count(has, "\n") != 4 {
		t.Errorf("instances were\n%sand are\n%s", had, has)
	}
	verbs := map[string]bool{}
	for _, verb := range k.called(t)[from:] {
		verbs[verb] = true
	}
	// Verbs that read and change nothing.
	for _, verb := range []string{"find", "list", "leftovers", "size"} {
		delete(verbs, verb)
	}
	if len(verbs) > 0 {
		t.Errorf("the verbs of calls to the infrastructure are %v", slices.Sorted(maps.Keys(verbs)))
	}
}

// substance returns the parts of an object that are not bookkeeping.
func substance(o *unstructured.Unstructured) string {
	spec, _, _ := unstructured.NestedMap(o.Object, "spec")
	status, _, _ := unstructured.NestedMap(o.Object, "status")
	raw, err := json.Marshal(map[string]any{
		"uid": o.GetUID(), "deleted": o.GetDeletionTimestamp(), "labels": o.GetLabels(), "owners": o.GetOwnerReferences(), "finalizers": o.GetFinalizers(), "spec": spec,
		"phase": status["phase"], "current": status["currentStatus"], "operation": status["lastOperation"], "node": status["nodeRef"], "replicas": status["replicas"], "data": o.Object["data"],
	})
	if err != nil {
		panic(err) // the value was parsed from JSON
	}
	return string(raw)
}

// machines returns the existing instances, one per line.
func (k *keepers) machines(t *testing.T) (out string) {
	t.Helper()
	err := filepath.WalkDir(k.instances, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".json" {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var i struct {
			ID, UID, Created string
			Deleted          *time.Time
		}
		if err := json.Unmarshal(raw, &i); err != nil {
			return err
		}
		out += fmt.Sprintln(i.ID, i.UID, i.Created, i.Deleted)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// called returns the verbs of the calls so far.
func (k *keepers) called(t *testing.T) (out []string) {
	t.Helper()
	raw, err := os.ReadFile(k.calls)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(raw) {
		var e struct{ What, Verb string }
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		if e.What == "call" {
			out = append(out, e.Verb)
		}
	}
	return out
}
