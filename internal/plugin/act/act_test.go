package act_test

import (
	"strings"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/engine/disruption"
	"github.com/millwright-dev/millwright/internal/plugin/act"
)

var now = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func meta(name string, annotations map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "blue", Name: name, UID: "uid", Annotations: annotations}
}

// rolled is a deployment with two revisions.
func rolled(change func(*v1alpha1.MachineDeployment)) act.Object {
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"pool": "mill"}}
	template := func(class string) v1alpha1.MachineTemplateSpec {
		return v1alpha1.MachineTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: selector.MatchLabels}, Spec: v1alpha1.MachineSpec{Class: v1alpha1.ClassSpec{Kind: "MachineClass", Name: class}}}
	}
	d := &v1alpha1.MachineDeployment{ObjectMeta: meta("mill", map[string]string{}), Spec: v1alpha1.MachineDeploymentSpec{Replicas: 3, Selector: selector, Template: template("b")}}
	d.Annotations["deployment.kubernetes.io/revision"] = "2"
	d.Spec.Strategy = v1alpha1.MachineDeploymentStrategy{Type: v1alpha1.RollingUpdateMachineDeploymentStrategyType, RollingUpdate: &v1alpha1.RollingUpdateMachineDeployment{}}
	d.Spec.Strategy.RollingUpdate.MaxSurge, d.Spec.Strategy.RollingUpdate.MaxUnavailable = ptr.To(intstr.FromInt32(1)), ptr.To(intstr.FromInt32(0))
	if change != nil {
		change(d)
	}
	o := act.Object{Object: d}
	for i, class := range []string{"a", "b"} {
		s := &v1alpha1.MachineSet{ObjectMeta: meta("mill-"+class, map[string]string{"deployment.kubernetes.io/revision": string(rune('1' + i))})}
		s.Spec = v1alpha1.MachineSetSpec{Replicas: 1, Selector: selector, Template: template(class)}
		s.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(d, v1alpha1.GroupVersion.WithKind("MachineDeployment"))}
		o.Sets = append(o.Sets, s)
	}
	return o
}

func annotated(key string) func(*v1alpha1.MachineDeployment) {
	return func(d *v1alpha1.MachineDeployment) { d.Annotations[key] = "30%" }
}

func paused(d *v1alpha1.MachineDeployment) { d.Spec.Paused = true }

// TestActions: what each action changes, and its line for kubectl.
func TestActions(t *testing.T) {
	one := act.Object{Object: &machinev1.Machine{ObjectMeta: meta("mill-x", nil)}}
	set := act.Object{Object: &machinev1.MachineSet{ObjectMeta: meta("mill", map[string]string{"millwright.dev/max-deletion-share": "30%"})}}
	sized := act.Object{Object: &machinev1.MachineSet{ObjectMeta: meta("mill", nil), Spec: machinev1.MachineSetSpec{Replicas: ptr.To[int32](3)}}}
	some, other := disruption.NewStop(""), disruption.NewStop("")
	some.Spec.Selector.MatchLabels, other.Name = map[string]string{"pool": "blue"}, "other"
	approval := func(key, value string) string {
		return `{"metadata":{"annotations":{"millwright.dev/` + key + `":"` + value + `"}}}`
	}
	const deployment = "machinedeployments.machine.sapcloud.io/mill"
	for _, c := range []struct {
		reason, action, value string
		o                     act.Object
		patch, line, err      string
	}{
		{"a machine", "delete", "", one, "", "kubectl delete machines.machine.openshift.io/mill-x -n blue", ""},
		{"a set is not deleted here", "delete", "", set, "", "", `action: "delete" is not possible for MachineSet mill now`},
		{"a rollout", "pause", "", rolled(nil), `{"spec":{"paused":true}}`, "kubectl machine rollout pause " + deployment + " -n blue", ""},
		{"twice", "pause", "", rolled(paused), "", "", `action: "pause" is not possible for MachineDeployment mill now`},
		{"back", "undo", "1", rolled(nil), `{"spec":{"rollbackTo":{"revision":1}}}`, "kubectl machine rollout undo " + deployment + " --to-revision=1 -n blue", ""},
		{"to nowhere", "undo", "9", rolled(nil), "", "", "value: has no revision 9 in its history: 'rollout history' lists those that there are"},
		{"to the present", "undo", "2", rolled(nil), "", "", "value: skipped rollback (current template already matches revision 2)"},
		{"to no number", "undo", "one", rolled(nil), "", "", `value: must be a revision above zero, not "one"`},
		{"a canary", "approve-canary", "", rolled(annotated("millwright.dev/rollout-canary")), approval("rollout-approved", "2"), "kubectl annotate --overwrite " + deployment + " millwright.dev/rollout-approved=2 -n blue", ""},
		{"no canary", "approve-canary", "", rolled(nil), "", "", `action: "approve-canary" is not possible for MachineDeployment mill now`},
		{"deletions of a set", "approve-deletions", " 3 ", set, approval("approve-mass-deletion", "3"), "kubectl annotate --overwrite machinesets.machine.openshift.io/mill millwright.dev/approve-mass-deletion=3 -n blue", ""},
		{"creations", "approve-creations", "4", rolled(annotated("millwright.dev/max-creation-share")), approval("approve-mass-creation", "4"), "kubectl annotate --overwrite " + deployment + " millwright.dev/approve-mass-creation=4 -n blue", ""},
		{"a word that shells read", "approve-orphans", "aws:///$(x)'", set, approval("approve-orphan-removal", "aws:///$(x)'"), `kubectl annotate --overwrite machinesets.machine.openshift.io/mill 'millwright.dev/approve-orphan-removal=aws:///$(x)'\''' -n blue`, ""},
		{"nothing", "approve-orphans", "0", set, "", "", "value: must not be empty or zero"},
		{"a second line of the log", "approve-orphans", "aws:///a/i-1\n2026", set, "", "", "value: must be one line"},
		{"nonsense", "approve-orphans", "all", set, "", "", `value: must be a number of instances, or provider IDs, is "all"; nothing is approved`},
		{"another size", "scale", " 5 ", sized, `{"spec":{"replicas":5}}`, "kubectl scale machinesets.machine.openshift.io/mill --current-replicas=3 --replicas=5 -n blue", ""},
		{"none", "scale", "0", rolled(nil), `{"spec":{"replicas":0}}`, "kubectl scale " + deployment + " --current-replicas=3 --replicas=0 -n blue", ""},
		{"the same size", "scale", "3", sized, "", "", "value: MachineSet mill wants 3 machines already"},
		{"a negative size", "scale", "-1", sized, "", "", `value: must be a number of machines, not "-1"`},
		{"too many", "scale", "99999999999", sized, "", "", `value: must be a number of machines, not "99999999999"`},
		{"a set of a deployment", "scale", "5", act.Object{Object: rolled(nil).Sets[0]}, "", "", `action: "scale" is not possible for MachineSet mill-a now`},
		{"a node", "drain", "", act.Object{Object: one.Object, Node: "n-1"}, "", "kubectl drain n-1 --ignore-daemonsets --delete-emptydir-data", ""},
		{"no node", "drain", "", one, "", "", `action: "drain" is not possible for Machine mill-x now`},
		{"twice", "drain", "", act.Object{Object: one.Object, Node: "n-1", Draining: true}, "", "", `action: "drain" is not possible for Machine mill-x now`},
		{"back", "uncordon", "", act.Object{Object: one.Object, Node: "n-1", Cordoned: true}, "", "kubectl uncordon n-1", ""},
		{"an emergency", "stop", " it's down ", act.Object{Object: disruption.NewStop(""), Absent: true}, `{"spec":{"message":"it's down","paused":true}}`, `kubectl machine stop --message 'it'\''s down'`, ""},
		{"without a message", "stop", "", act.Object{Object: disruption.NewStop(""), Absent: true}, `{"spec":{"paused":true}}`, "kubectl machine stop", ""},
		{"a stop for some machines is extended", "stop", "", act.Object{Object: some}, `{"spec":{"paused":true,"selector":null}}`, "kubectl machine stop", ""},
		{"two lines", "stop", "a\nb", act.Object{Object: disruption.NewStop(""), Absent: true}, "", "", "value: must be one line"},
		{"a long message", "stop", strings.Repeat("a", 1025), act.Object{Object: disruption.NewStop(""), Absent: true}, "", "", "value: must have at most 1024 bytes"},
		{"the end of it", "resume-disruption", "", act.Object{Object: disruption.NewStop("")}, "", "kubectl machine resume", ""},
		{"the end of another budget", "resume-disruption", "", act.Object{Object: other}, "", "", `action: "resume-disruption" is not possible for MachineDisruptionBudget other now`},
		{"unknown", "explode", "", set, "", "", `action: there is no action "explode"`},
	} {
		t.Run(c.reason, func(t *testing.T) {
			got, err := act.Decide(now, c.o, c.action, c.value)
			text := ""
			if err != nil {
				text = err.Error()
			}
			if string(got.Patch) != c.patch || got.Line != c.line || text != c.err {
				t.Errorf("%s: %s, %s, %q; want %s, %s, %q", c.reason, got.Patch, got.Line, text, c.patch, c.line, c.err)
			}
		})
	}
}

// TestOffers: an object offers only what is possible now.
func TestOffers(t *testing.T) {
	owned := &machinev1.Machine{ObjectMeta: meta("a", nil)}
	owned.OwnerReferences = []metav1.OwnerReference{{Kind: "MachineSet", Name: "mill", UID: "u", Controller: ptr.To(true)}}
	leaving := owned.DeepCopy()
	leaving.DeletionTimestamp = &metav1.Time{Time: now}
	stopped := disruption.NewStop("")
	first := rolled(nil)
	first.Sets = first.Sets[1:]
	for _, c := range []struct {
		reason string
		o      act.Object
		want   string
	}{
		{"a machine of a set", act.Object{Object: owned}, "Delete and replace;"},
		{"a machine with a node", act.Object{Object: owned, Node: "n"}, "Delete and replace;Drain its node;"},
		{"a machine with a cordoned node", act.Object{Object: owned, Node: "n", Cordoned: true}, "Delete and replace;Drain its node;Uncordon its node;"},
		{"a machine whose node is drained", act.Object{Object: owned, Node: "n", Draining: true}, "Delete and replace;End the drain and uncordon;"},
		{"a machine in deletion with a node", act.Object{Object: leaving, Node: "n", Cordoned: true}, ""},
		{"no stop", act.Object{Object: disruption.NewStop(""), Absent: true}, "Stop all disruption;"},
		{"a stop", act.Object{Object: stopped}, "End the stop;"},
		{"a machine in deletion", act.Object{Object: leaving}, ""},
		{"a deployment", rolled(nil), "Scale;Pause the rollout;Replace all machines;Return to an earlier revision;"},
		{"a deployment without a past", first, "Scale;Pause the rollout;Replace all machines;"},
		{"a paused one", rolled(paused), "Scale;Resume the rollout;"},
		{"a class", act.Object{Object: &v1alpha1.MachineClass{ObjectMeta: meta("c", nil)}}, "Approve the removal of instances without machines;"},
		{"a set of an API with classes", act.Object{Object: first.Sets[0]}, ""},
		{"a set of an API without", act.Object{Object: &machinev1.MachineSet{ObjectMeta: meta("s", nil)}}, "Scale;Approve the removal of instances without machines;"},
	} {
		got := ""
		for _, o := range act.Offers(now, c.o) {
			got += o.Label + ";"
		}
		if got != c.want {
			t.Errorf("%s offers %q, want %q", c.reason, got, c.want)
		}
	}
}
