package machineset_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	dto "github.com/prometheus/client_model/go"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/controller/machineset"
	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
	"github.com/millwright-dev/millwright/internal/runtime/run"
)

// The schema of machine.sapcloud.io has no default for replicas, and zero is
// absent on the wire. Then the server cannot show a scale, while setting one
// works: that is what kubectl scale does.
func TestScaleOfASetWithoutReplicas(t *testing.T) {
	c := startCluster(t, gardenerAPI)
	s := c.declare(t, 0)
	scaler, err := client.New(devplanetest.Start(t).Config, client.Options{Scheme: run.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	err = scaler.SubResource("scale").Get(t.Context(), s, &autoscalingv1.Scale{})
	if !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), ".spec.replicas") {
		t.Errorf("reading the scale of a set without replicas: %v", err)
	}
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":2}}`))
	body := &client.SubResourcePatchOptions{SubResourceBody: &autoscalingv1.Scale{}}
	if err := scaler.SubResource("scale").Patch(t.Context(), s.DeepCopy(), patch, body); err != nil {
		t.Fatalf("kubectl scale: %v", err)
	}
	c.awaitStatus(t, s, 2)
	scale := &autoscalingv1.Scale{}
	if err := scaler.SubResource("scale").Get(t.Context(), s, scale); err != nil {
		t.Fatal(err)
	}
	if scale.Spec.Replicas != 2 || scale.Status.Replicas != 2 || scale.Status.Selector != "pool=a" {
		t.Errorf("scale %+v %+v", scale.Spec, scale.Status)
	}
}

// The set deletes its machines and leaves their phase to the machine
// controller; the original writes Terminating in advance.
func TestSetLeavesThePhaseAlone(t *testing.T) {
	w := newWorld(gardenerAPI)
	w.declare(t, 1)
	r := w.controller()
	w.rest(t, r)
	w.scale(t, 0)
	w.rest(t, r)
	machines := w.machinesOf(t, w.Client)
	if len(machines) != 1 || machines[0].GetDeletionTimestamp() == nil {
		t.Fatalf("%d machines, want one under deletion", len(machines))
	}
	if m := machines[0].(*v1alpha1.Machine); m.Status.CurrentStatus.Phase != "" || m.Status.LastOperation.Description != "" {
		t.Errorf("the set wrote %+v, %+v", m.Status.CurrentStatus, m.Status.LastOperation)
	}
}

// refusingPatches lets nothing be adopted.
type refusingPatches struct{ *world[*machinev1.MachineSet] }

// Patch is refused.
func (refusingPatches) Patch(context.Context, client.Object, client.Patch, ...client.PatchOption) error {
	return errors.New("admission refuses it")
}

// A machine that could not be adopted is not made good for by another.
func TestFailedAdoptionIsNoMissingReplica(t *testing.T) {
	w := newWorld(openshiftAPI)
	w.declare(t, 1)
	orphan := &machinev1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "orphan", UID: "orphan", Labels: pool}}
	if err := w.Client.Create(t.Context(), orphan); err != nil {
		t.Fatal(err)
	}
	w.sync(t, true, true)
	r := machineset.New(w.lens, machineset.Options{
		Client: refusingPatches{w}, Live: w.Client, Clock: w.clock, Recorder: &events.FakeRecorder{},
		Creates: replicas.Sequential, Deletes: replicas.Sequential,
	})
	for range 3 {
		if _, err := w.reconcile(t, r); err == nil {
			t.Fatal("nobody hears of the failure")
		}
	}
	if w.created != 0 {
		t.Errorf("%d machines were made beside the orphan", w.created)
	}
}

// The row mcm_machine_stale_machines_total of section 7.1 of the Gardener notes: what counts are machines that failed for
// their health, once they are deleted.
func TestStaleMachinesAreCounted(t *testing.T) {
	rows := []struct {
		reason string
		phase  v1alpha1.MachinePhase
		last   v1alpha1.MachineOperationType
		scale  int
		want   float64
	}{
		{"it was unhealthy for too long", v1alpha1.MachineFailed, v1alpha1.MachineOperationHealthCheck, 2, 1},
		{"it never joined", v1alpha1.MachineFailed, v1alpha1.MachineOperationCreate, 2, 0},
		{"it is unhealthy, and there is one too many", v1alpha1.MachineUnknown, v1alpha1.MachineOperationHealthCheck, 1, 0},
		{"it failed, and it would have gone with the others", v1alpha1.MachineFailed, v1alpha1.MachineOperationHealthCheck, 0, 1},
	}
	for _, row := range rows {
		t.Run(row.reason, func(t *testing.T) {
			w := newWorld(gardenerAPI)
			w.declare(t, 2)
			w.sync(t, true, true)
			r, stale := w.controller(), machineset.NewStaleMachines()
			r.StaleMachines = stale
			w.rest(t, r)
			m := w.machinesOf(t, w.Client)[0].(*v1alpha1.Machine)
			m.Status.CurrentStatus.Phase, m.Status.LastOperation.Type = row.phase, row.last
			if err := w.Client.Status().Update(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			w.scale(t, row.scale)
			w.sync(t, true, true)
			w.rest(t, r)
			var got dto.Metric
			if err := stale.Write(&got); err != nil {
				t.Fatal(err)
			}
			if got.GetCounter().GetValue() != row.want {
				t.Errorf("counted %v, want %v", got.GetCounter().GetValue(), row.want)
			}
		})
	}
}
