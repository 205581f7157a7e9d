package lifecycle_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// TestIdentity: a node gets the provider ID of its machine's instance if no other component sets one, and if
// more than a record or a mark proves that the node is on the instance. It cannot be changed later.
func TestIdentity(t *testing.T) {
	type facts struct {
		m lifecycle.Machine
		w lifecycle.World
	}
	of := func(edit func(*provider.Instance)) func(*facts) {
		return func(f *facts) { edit(&f.w.Instances.Own[0]) }
	}
	for reason, tc := range map[string]struct {
		change func(*facts)
		want   string
	}{
		"it has the instance's address":                                     {func(*facts) {}, "cloud:///i-1"},
		"the machine has not recorded anything yet, which is stored before": {func(f *facts) { f.m.Recorded.ProviderID = "" }, "cloud:///i-1"},
		"it reports, though it is not ready":                                {func(f *facts) { f.w.Node.Object.Status.Conditions[0].Status = corev1.ConditionFalse }, "cloud:///i-1"},
		"somebody else gives nodes their provider ID":                       {func(f *facts) { f.w.Session.IdentifiesNodes = false }, ""},
		"there is no node":                                                  {func(f *facts) { f.w.Node.Object = nil }, ""},
		"it shows it":                                                       {func(f *facts) { f.w.Node.Object.Spec.ProviderID = "cloud:///i-1" }, ""},
		"it shows another":                                                  {func(f *facts) { f.w.Node.Object.Spec.ProviderID = "cloud:///i-9" }, ""},
		"it is silent: it may be of who had the address before":             {func(f *facts) { f.w.Node.Object.Status.Conditions[0].Status = corev1.ConditionUnknown }, ""},
		"it never reported":                                                 {func(f *facts) { f.w.Node.Object.Status.Conditions = nil }, ""},
		"it is on its way out":                                              {func(f *facts) { f.w.Node.Object.DeletionTimestamp = &metav1.Time{Time: now} }, ""},
		"the machine is":                                                    {func(f *facts) { f.m.Deleted = now }, ""},
		"it has another address":                                            {func(f *facts) { f.w.Node.Object.Status.Addresses[0].Address = "10.0.0.9" }, ""},
		"the address is no internal one":                                    {func(f *facts) { f.w.Node.Object.Status.Addresses[0].Type = corev1.NodeExternalIP }, ""},
		"both show an external address alone, which may be a gateway's": {func(f *facts) {
			f.w.Node.Object.Status.Addresses[0].Type, f.w.Instances.Own[0].Addresses[0].Type = corev1.NodeExternalIP, corev1.NodeExternalIP
		}, ""},
		"it has no address":           {func(f *facts) { f.w.Node.Object.Status.Addresses = nil }, ""},
		"nobody knows the instance's": {of(func(i *provider.Instance) { i.Addresses = nil }), ""},
		"a name among them is no address: many hosts may have had it":      {of(func(i *provider.Instance) { i.Addresses = hostName("node-1") }), ""},
		"it has the name that is foretold":                                 {of(func(i *provider.Instance) { i.NodeName, i.Addresses = "node-1", nil }), "cloud:///i-1"},
		"it has the address, and another name than is foretold":            {of(func(i *provider.Instance) { i.NodeName = "node-2" }), ""},
		"the instance is being made: who has its address was there before": {of(func(i *provider.Instance) { i.State = provider.Pending }), ""},
		"the instance is off":                                              {of(func(i *provider.Instance) { i.State = provider.Stopped }), ""},
		"the instance has no provider ID yet":                              {of(func(i *provider.Instance) { i.ProviderID = "" }), ""},
		"the instance is not there":                                        {func(f *facts) { f.w.Instances.Own = nil }, ""},
		"the infrastructure did not answer":                                {func(f *facts) { f.w.Instances.Looked = false }, ""},
		"the instance stands in for the one recorded":                      {func(f *facts) { f.w.Instances.Substitute = true }, ""},
	} {
		t.Run(reason, func(t *testing.T) {
			n := node(corev1.ConditionTrue)
			n.Spec.ProviderID = ""
			n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address[0].Address}}
			i := instance(provider.Running)
			i.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address[0].Address}}
			f := facts{machine(stage(lifecycle.StageRunning, time.Hour)), world(having(i), joined(n))}
			f.w.Session.IdentifiesNodes = true
			tc.change(&f)
			if got := f.w.Identity(f.m, f.w.Node.Object); got != tc.want {
				t.Errorf("%s: %q, want %q", reason, got, tc.want)
			}
		})
	}
}

func hostName(name string) []corev1.NodeAddress {
	return []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: name}}
}

// TestUnsureIdentityIsAskedAgain: no event would cause a pass for a running machine.
func TestUnsureIdentityIsAskedAgain(t *testing.T) {
	m, w := machine(stage(lifecycle.StageRunning, time.Hour)), world(runningOn(node(corev1.ConditionTrue)))
	w.Node.Unsure = true
	d := lifecycle.Decide(now, m, w, patient)
	if d.Step != lifecycle.Await || d.Reason != lifecycle.ReasonRunning || d.After != patient.Delays.Transient {
		t.Errorf("%+v", d)
	}
}
