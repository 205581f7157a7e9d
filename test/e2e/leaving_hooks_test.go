package e2e

import (
	"testing"
)

// Owners of hooks rely on this: a machine with a preDrain hook keeps its pods, and with a preTerminate hook its instance, until
// the hook is removed.
func TestHooksHoldAndRelease(t *testing.T) {
	t.Parallel()
	f, d := hollow(t), dialects[0]
	const name = "hooked"
	d.occupied(t, f, name)
	merge(t, f, budget(name), `{"spec":{"minAvailable":0}}`)
	machine := d.object("Machine", name)
	merge(t, f, machine, `{"spec":{"lifecycleHooks":{
		"preDrain":[{"name":"backup","owner":"story/keeper"}], "preTerminate":[{"name":"audit","owner":"story/auditor"}]}}}`)
	d.remove(t, f, name)
	d.says(t, f, name, `"phase":"Deleting"`, "Drain operation currently blocked by: [{Name:backup Owner:story/keeper}]",
		"Terminate operation currently blocked by: [{Name:audit Owner:story/auditor}]")
	unmoved(t, f, name)
	if cordoned(t, f, name) {
		t.Error("the node is cordoned although a hook holds the drain")
	}

	merge(t, f, machine, `{"spec":{"lifecycleHooks":{"preDrain":null}}}`)
	podGone(t, f, name)
	d.says(t, f, name, "Drain finished successfully", "Terminate operation currently blocked by: [{Name:audit Owner:story/auditor}]")
	d.instance(t, f, name)
	if !cordoned(t, f, name) {
		t.Error("the node takes new pods after its drain")
	}

	merge(t, f, machine, `{"spec":{"lifecycleHooks":null}}`)
	d.gone(t, f, name)
}
