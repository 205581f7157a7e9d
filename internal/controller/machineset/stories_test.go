package machineset_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
)

// both runs a story on a real API server in each API.
func both(t *testing.T, openshift func(*testing.T, *cluster[*machinev1.MachineSet]), gardener func(*testing.T, *cluster[*v1alpha1.MachineSet])) {
	t.Run("machine.openshift.io", func(t *testing.T) { openshift(t, startCluster(t, openshiftAPI)) })
	t.Run("machine.sapcloud.io", func(t *testing.T) { gardener(t, startCluster(t, gardenerAPI)) })
}

func TestScale(t *testing.T) { both(t, scaleStory, scaleStory) }

// Up to 20 and down to 5, through the scale subresource. The machines that a user marked for deletion go
// first, and the new ones have all required fields from the first write on.
func scaleStory[S client.Object](t *testing.T, c *cluster[S]) {
	s := c.declare(t, 0)
	c.scale(t, s, 20)
	c.awaitStatus(t, s, 20)
	machines := c.machines(t)
	if len(machines) != 20 {
		t.Fatalf("%d machines, want 20", len(machines))
	}
	for _, m := range machines {
		owners := m.GetOwnerReferences()
		if len(owners) != 1 || owners[0].UID != s.GetUID() || owners[0].Kind != "MachineSet" || !*owners[0].Controller || !*owners[0].BlockOwnerDeletion {
			t.Errorf("%s is owned by %v", m.GetName(), owners)
		}
		if !strings.HasPrefix(m.GetName(), s.GetName()+"-") || m.GetGenerateName() != s.GetName()+"-" || len(m.GetFinalizers()) != 1 {
			t.Errorf("%s made from %q has finalizers %v", m.GetName(), m.GetGenerateName(), m.GetFinalizers())
		}
	}
	asked := map[string]bool{}
	for _, m := range machines[3:6] {
		asked[m.GetName()] = true
		patch := `{"metadata":{"annotations":{"machine.openshift.io/delete-machine":"2026-01-02 03:04:05","machinepriority.machine.sapcloud.io":"1"}}}`
		if err := c.Patch(t.Context(), m, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
			t.Fatal(err)
		}
	}
	c.scale(t, s, 17)
	c.awaitStatus(t, s, 17)
	for _, m := range c.machines(t) {
		if asked[m.GetName()] {
			t.Errorf("%s was asked to go and is still there", m.GetName())
		}
	}
	c.scale(t, s, 5)
	c.awaitStatus(t, s, 5)
	if n := len(c.machines(t)); n != 5 {
		t.Errorf("%d machines, want 5", n)
	}
}

func TestReplace(t *testing.T) { both(t, replaceStory, replaceStory) }

// A machine deleted by hand is replaced.
func replaceStory[S client.Object](t *testing.T, c *cluster[S]) {
	s := c.declare(t, 2)
	c.awaitStatus(t, s, 2)
	gone := c.machines(t)[0]
	if err := c.Delete(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() string {
		now := c.machines(t)
		for _, m := range now {
			if m.GetUID() == gone.GetUID() {
				return "still there"
			}
		}
		if len(now) != 2 {
			return fmt.Sprintf("%d machines, want 2", len(now))
		}
		return ""
	})
	c.awaitStatus(t, s, 2)
}

func TestAdoptAndRelease(t *testing.T) { both(t, claimStory, claimStory) }

// A machine that matches is adopted instead of creating another; one that no
// longer matches is let go and replaced.
func claimStory[S client.Object](t *testing.T, c *cluster[S]) {
	s := c.declare(t, 0)
	orphan := c.lens.NewMachine(s, s.GetName()+"-orphan")
	orphan.SetOwnerReferences(nil)
	orphan.SetFinalizers(nil)
	if err := c.Create(t.Context(), orphan); err != nil {
		t.Fatal(err)
	}
	c.scale(t, s, 1)
	c.awaitStatus(t, s, 1)
	eventually(t, func() string {
		all := c.machines(t)
		if len(all) == 1 && len(all[0].GetOwnerReferences()) == 1 && all[0].GetOwnerReferences()[0].UID == s.GetUID() {
			return ""
		}
		return fmt.Sprintf("%d machines, the first owned by %v", len(all), all[0].GetOwnerReferences())
	})
	member := c.machines(t)[0]
	if err := c.Patch(t.Context(), member, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"pool":"other"}}}`))); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() string {
		all := c.machines(t)
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(member), member); err != nil {
			return err.Error()
		}
		if len(all) == 2 && len(member.GetOwnerReferences()) == 0 {
			return ""
		}
		return fmt.Sprintf("%d machines, the one relabelled owned by %v", len(all), member.GetOwnerReferences())
	})
	c.awaitStatus(t, s, 1)
}

func TestDeleteSet(t *testing.T) {
	for _, policy := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan} {
		t.Run(string(policy), func(t *testing.T) {
			both(t,
				func(t *testing.T, c *cluster[*machinev1.MachineSet]) { deleteStory(t, c, policy) },
				func(t *testing.T, c *cluster[*v1alpha1.MachineSet]) { deleteStory(t, c, policy) })
		})
	}
}

// A set takes its machines with it, unless they are to survive.
func deleteStory[S client.Object](t *testing.T, c *cluster[S], policy metav1.DeletionPropagation) {
	s := c.declare(t, 3)
	c.awaitStatus(t, s, 3)
	if err := c.Delete(t.Context(), s, client.PropagationPolicy(policy)); err != nil {
		t.Fatal(err)
	}
	want := 0
	if policy == metav1.DeletePropagationOrphan {
		want = 3
	}
	eventually(t, func() string {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(s), s); !apierrors.IsNotFound(err) {
			return fmt.Sprintf("the set is still there with finalizers %v (%v)", s.GetFinalizers(), err)
		}
		if n := len(c.machines(t)); n != want {
			return fmt.Sprintf("%d machines, want %d", n, want)
		}
		return ""
	})
	for _, m := range c.machines(t) {
		if len(m.GetOwnerReferences()) != 0 {
			t.Errorf("%s is still owned by %v", m.GetName(), m.GetOwnerReferences())
		}
	}
}

func TestTemplateReachesLivingMachines(t *testing.T) {
	c := startCluster(t, gardenerAPI)
	s := c.declare(t, 2)
	c.awaitStatus(t, s, 2)
	patch := `{"spec":{"template":{"spec":{"drainTimeout":"7m0s","nodeTemplate":{"metadata":{"labels":{"tier":"x"}}}}}}}`
	if err := c.Patch(t.Context(), s, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() string {
		for _, o := range c.machines(t) {
			m := o.(*v1alpha1.Machine)
			if m.Spec.NodeTemplateSpec.Labels["tier"] != "x" || m.Spec.MachineConfiguration == nil || m.Spec.MachineDrainTimeout.Minutes() != 7 {
				return fmt.Sprintf("%s still has %+v", m.Name, m.Spec)
			}
		}
		return ""
	})
}

func TestFailedMachineIsReplaced(t *testing.T) {
	c := startCluster(t, gardenerAPI)
	s := c.declare(t, 2)
	c.awaitStatus(t, s, 2)
	bad := c.machines(t)[0].(*v1alpha1.Machine)
	bad.Status.CurrentStatus.Phase = v1alpha1.MachineFailed
	if err := c.Status().Update(t.Context(), bad); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() string {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(bad), bad); !apierrors.IsNotFound(err) {
			return fmt.Sprintf("the failed machine is still there (%v)", err)
		}
		return ""
	})
	c.awaitStatus(t, s, 2)
}

// A thousand changes of machines cost few writes of the set: at most one in
// ten per machine, and that at a fifth of the number the budget is set for.
func TestStatusWritesAreFew(t *testing.T) { both(t, budgetStory, budgetStory) }

func budgetStory[S client.Object](t *testing.T, c *cluster[S]) {
	const n = 200
	begun := time.Now()
	s := c.declare(t, n)
	c.awaitStatus(t, s, n)
	up, upTook := c.statusWrites.Load(), time.Since(begun)
	begun = time.Now()
	c.scale(t, s, 0)
	c.awaitStatus(t, s, 0)
	down, downTook := c.statusWrites.Load()-up, time.Since(begun)
	t.Logf("%d status writes for %d machines up in %s, %d down in %s", up, n, upTook, down, downTook)
	pause := replicas.StatusPause(n, 0)
	// Counters are gathered by time, so that a slow machine writes more often:
	// one in each pause, and a few that say at once what changed.
	if most := max(n/10, 3+int64(upTook/pause)); up > most {
		t.Errorf("%d status writes up, want at most %d", up, most)
	}
	// A set that has few left writes as often as one that never had more.
	if most := max(n/10, 3+int64(downTook/replicas.StatusPause(0, 0))); down > most {
		t.Errorf("%d status writes down, want at most %d", down, most)
	}
}

func TestBadInput(t *testing.T) {
	t.Run("machine.openshift.io", func(t *testing.T) {
		c := startCluster(t, openshiftAPI)
		s := c.declare(t, 2, func(s *machinev1.MachineSet) { s.Spec.Selector.MatchLabels = map[string]string{"pool": "b"} })
		eventually(t, func() string {
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(s), s); err != nil || s.Status.ErrorReason == nil {
				return fmt.Sprintf("no error reason (%v)", err)
			}
			return ""
		})
		if *s.Status.ErrorReason != machinev1.InvalidConfigurationMachineSetError || !strings.HasPrefix(*s.Status.ErrorMessage, "spec.template.metadata.labels: ") {
			t.Errorf("got %s: %s", *s.Status.ErrorReason, *s.Status.ErrorMessage)
		}
		refuses(t, c, s, "ReconcileError", "spec.template.metadata.labels: `selector` does not match template `labels`")
	})
	t.Run("machine.sapcloud.io", func(t *testing.T) {
		c := startCluster(t, gardenerAPI)
		s := c.declare(t, 1, func(s *v1alpha1.MachineSet) { s.Spec.Template.Spec.Class.Kind = "" })
		eventually(t, func() string {
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(s), s); err != nil || len(s.Status.Conditions) == 0 {
				return fmt.Sprintf("no condition (%v)", err)
			}
			return ""
		})
		if got := s.Status.Conditions[0]; got.Type != v1alpha1.MachineSetReplicaFailure || got.Message != "spec.template.spec.class.kind: is required" {
			t.Errorf("got %+v", got)
		}
		refuses(t, c, s, "FailedCreate", "spec.template.spec.class.kind: is required")
		mend := `{"spec":{"template":{"spec":{"class":{"kind":"MachineClass"}}}}}`
		if err := c.Patch(t.Context(), s, client.RawPatch("application/merge-patch+json", []byte(mend))); err != nil {
			t.Fatal(err)
		}
		c.awaitStatus(t, s, 1)
		if len(s.Status.Conditions) != 0 {
			t.Errorf("mended, and still %v", s.Status.Conditions)
		}
	})
}

// refuses checks that one event was recorded and that no machine was created.
func refuses[S client.Object](t *testing.T, c *cluster[S], s S, reason, message string) {
	t.Helper()
	eventually(t, func() string {
		var events corev1.EventList
		if err := c.List(t.Context(), &events, client.InNamespace(c.namespace)); err != nil {
			return err.Error()
		}
		for _, e := range events.Items {
			if e.InvolvedObject.UID == s.GetUID() && e.Reason == reason && e.Message == message {
				return ""
			}
		}
		return fmt.Sprintf("no event %s %q among %d", reason, message, len(events.Items))
	})
	if n := len(c.machines(t)); n != 0 {
		t.Errorf("%d machines made", n)
	}
}
