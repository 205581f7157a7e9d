package verdict

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func at(after time.Duration) Reporter {
	return Reporter{Now: start.Add(after), Release: "4.2", Namespace: "ns"}
}

// said is a status as one line.
func said(s configv1.ClusterOperatorStatus) string {
	var out []string
	for _, c := range s.Conditions {
		if c.Type != configv1.OperatorUpgradeable {
			out = append(out, fmt.Sprintf("%s %s/%s/%s", c.Type, c.Status, c.Reason, c.Message))
		}
	}
	for _, v := range s.Versions {
		out = append(out, v.Name+"="+v.Version)
	}
	return strings.Join(out, "; ")
}

// TestRows: the rows of section 7.4.
func TestRows(t *testing.T) {
	created := at(0).Begin(configv1.ClusterOperatorStatus{})
	progressing, _ := at(0).Progressing(created)
	available := at(time.Minute).Available(progressing, at(0).AvailableMessage())
	next := at(time.Hour)
	next.Release = "4.3"
	upgrading, _ := next.Progressing(available)
	unversioned := at(0)
	unversioned.Release = ""
	cause := errors.New("no luck")
	degraded, _ := at(time.Hour).Degraded(available, cause, false)
	late := next
	late.Now = next.Now.Add(20 * time.Minute)
	early := next
	early.Now = next.Now.Add(20*time.Minute - time.Second)
	const (
		steady = "Progressing False/AsExpected/; Degraded False/AsExpected/; Available True/AsExpected/Cluster Machine API Operator is available at operator: 4.2; operator=4.2"
		moving = "Progressing True/SyncingResources/Progressing towards operator: 4.3; Degraded False/AsExpected/; Available True/AsExpected/Cluster Machine API Operator is available at operator: 4.2; operator=4.2"
	)
	only := func(s configv1.ClusterOperatorStatus) (configv1.ClusterOperatorStatus, []Event) { return s, nil }
	for name, c := range map[string]struct {
		reason string
		do     func() (configv1.ClusterOperatorStatus, []Event)
		want   string
		event  string
	}{
		"creation": {
			"nothing is known yet", func() (configv1.ClusterOperatorStatus, []Event) { return only(created) },
			"Progressing True/Initializing/Operator is initializing; Degraded False/AsExpected/; Available False/Initializing/Operator is initializing", "",
		},
		"progressing, versions differ": {
			"a new cluster", func() (configv1.ClusterOperatorStatus, []Event) { return at(0).Progressing(created) },
			"Progressing True/SyncingResources/Progressing towards operator: 4.2; Degraded False/AsExpected/; Available False/Initializing/Operator is initializing", "Normal Status upgrade: Progressing towards operator: 4.2",
		},
		"progressing, told before": {
			"an event once per change", func() (configv1.ClusterOperatorStatus, []Event) { return at(time.Second).Progressing(progressing) },
			said(progressing), "",
		},
		"progressing, versions differ, upgrade": {
			"it stays available", func() (configv1.ClusterOperatorStatus, []Event) { return next.Progressing(available) },
			moving, "Normal Status upgrade: Progressing towards operator: 4.3",
		},
		"progressing, versions equal": {"a resync is no progress", func() (configv1.ClusterOperatorStatus, []Event) { return at(time.Hour).Progressing(available) }, steady, ""},
		"available":                   {"versions are written here only", func() (configv1.ClusterOperatorStatus, []Event) { return only(available) }, steady, ""},
		"available, RELEASE_VERSION unset": {
			"no versions", func() (configv1.ClusterOperatorStatus, []Event) { return only(unversioned.Available(created, "m")) },
			"Progressing False/AsExpected/; Degraded False/AsExpected/; Available True/AsExpected/m", "",
		},
		"degraded, versions equal": {
			"a resync failed; the rest is untouched", func() (configv1.ClusterOperatorStatus, []Event) {
				return at(time.Hour).Degraded(available, cause, false)
			},
			"Progressing False/AsExpected/; Degraded True/SyncingFailed/Failed to resync for operator: 4.2 because no luck; Available True/AsExpected/Cluster Machine API Operator is available at operator: 4.2; operator=4.2",
			"Warning Status degraded: Failed to resync for operator: 4.2 because no luck",
		},
		"degraded, told before": {"an event once per change", func() (configv1.ClusterOperatorStatus, []Event) {
			return at(2*time.Hour).Degraded(degraded, cause, false)
		}, said(degraded), ""},
		"degraded, upgrading for less than 20 minutes": {"it may be part of the upgrade", func() (configv1.ClusterOperatorStatus, []Event) { return early.Degraded(upgrading, cause, false) }, moving, ""},
		"degraded, upgrading for 20 minutes": {
			"it no longer is", func() (configv1.ClusterOperatorStatus, []Event) { return late.Degraded(upgrading, cause, false) },
			strings.Replace(moving, "Degraded False/AsExpected/", "Degraded True/SyncingFailed/Failed when progressing towards operator: 4.3 because no luck", 1),
			"Warning Status degraded: Failed when progressing towards operator: 4.3 because no luck",
		},
		"degraded, bad input": {
			"no upgrade mends that", func() (configv1.ClusterOperatorStatus, []Event) {
				return at(time.Second).Degraded(progressing, cause, true)
			},
			"Progressing True/SyncingResources/Progressing towards operator: 4.2; Degraded True/SyncingFailed/Failed when progressing towards operator: 4.2 because no luck; Available False/Initializing/Operator is initializing",
			"Warning Status degraded: Failed when progressing towards operator: 4.2 because no luck",
		},
		"recovered": {"what was degraded is available again", func() (configv1.ClusterOperatorStatus, []Event) {
			return only(at(2*time.Hour).Available(degraded, at(0).AvailableMessage()))
		}, steady, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, events := c.do()
			if got := said(s); got != c.want {
				t.Errorf("%s:\ngot  %s\nwant %s", c.reason, got, c.want)
			}
			told := ""
			for _, e := range events {
				told += e.Type + " " + e.Reason + ": " + e.Message
			}
			if told != c.event {
				t.Errorf("%s: event %q, want %q", c.reason, told, c.event)
			}
			if u := condition(s, configv1.OperatorUpgradeable); u == nil || u.Status != configv1.ConditionTrue || u.Reason != "" {
				t.Errorf("always Upgradeable: %+v", u)
			}
			if len(s.RelatedObjects) != 8 || s.RelatedObjects[0].Name != "ns" {
				t.Errorf("related objects: %v", s.RelatedObjects)
			}
		})
	}
}

// TestTransitionTimes: a time is that of the last change of a status, or of another upgrade.
func TestTransitionTimes(t *testing.T) {
	s, _ := at(0).Progressing(configv1.ClusterOperatorStatus{})
	s, _ = at(time.Minute).Progressing(s)
	if got := condition(s, configv1.OperatorProgressing).LastTransitionTime.Time; !got.Equal(start) {
		t.Errorf("the same progress began at %s", got)
	}
	next := at(time.Hour)
	next.Release = "4.3"
	s, _ = next.Progressing(s)
	if got := condition(s, configv1.OperatorProgressing).LastTransitionTime.Time; !got.Equal(next.Now) {
		t.Errorf("another upgrade began at %s", got)
	}
}

// TestRollout: step 7 of section 7.3.
func TestRollout(t *testing.T) {
	now := start.Add(time.Hour)
	ready := func(change func(*appsv1.Deployment)) *appsv1.Deployment {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "d", Generation: 3}, Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](1)}}
		d.Status = appsv1.DeploymentStatus{ObservedGeneration: 3, Replicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1, Conditions: []appsv1.DeploymentCondition{{
			Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(start),
		}}}
		if change != nil {
			change(d)
		}
		return d
	}
	for name, c := range map[string]struct {
		reason string
		in     *appsv1.Deployment
		after  time.Duration
		fails  bool
	}{
		"missing":      {"somebody took it", nil, 0, true},
		"deleting":     {"it goes", ready(func(d *appsv1.Deployment) { d.DeletionTimestamp = ptr.To(metav1.NewTime(now)) }), 0, true},
		"ready":        {"nothing is to be waited for", ready(nil), 0, false},
		"not seen":     {"its controller has not looked yet", ready(func(d *appsv1.Deployment) { d.Generation = 4 }), 5 * time.Second, false},
		"old pods":     {"they are still there", ready(func(d *appsv1.Deployment) { d.Status.Replicas = 2 }), 5 * time.Second, false},
		"not updated":  {"pods are as before", ready(func(d *appsv1.Deployment) { d.Status.UpdatedReplicas = 0 }), 5 * time.Second, false},
		"unavailable":  {"pods do not run", ready(func(d *appsv1.Deployment) { d.Status.AvailableReplicas = 0 }), 5 * time.Second, false},
		"no condition": {"nobody says that it is available", ready(func(d *appsv1.Deployment) { d.Status.Conditions = nil }), 5 * time.Second, false},
		"just available": {"3 minutes, of which one is over", ready(func(d *appsv1.Deployment) {
			d.Status.Conditions[0].LastTransitionTime = metav1.NewTime(now.Add(-time.Minute))
		}), 2 * time.Minute, false},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := Deployment(c.in, now)
			if w.After != c.after || (err != nil) != c.fails || (w.For == "") != (c.after == 0) {
				t.Errorf("%s: %+v, %v", c.reason, w, err)
			}
		})
	}
}

// TestHandlerRollout: step 7 of section 7.3, for the DaemonSet, which need not have run for any time.
func TestHandlerRollout(t *testing.T) {
	ready := func(change func(*appsv1.DaemonSet)) *appsv1.DaemonSet {
		d := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "d", Generation: 3}}
		d.Status = appsv1.DaemonSetStatus{ObservedGeneration: 3, DesiredNumberScheduled: 2, UpdatedNumberScheduled: 2}
		change(d)
		return d
	}
	for name, c := range map[string]struct {
		reason string
		in     *appsv1.DaemonSet
		after  time.Duration
		fails  bool
	}{
		"missing":     {"somebody took it", nil, 0, true},
		"deleting":    {"it goes", ready(func(d *appsv1.DaemonSet) { d.DeletionTimestamp = ptr.To(metav1.NewTime(start)) }), 0, true},
		"ready":       {"nothing is to be waited for", ready(func(*appsv1.DaemonSet) {}), 0, false},
		"no nodes":    {"nobody has such instances", ready(func(d *appsv1.DaemonSet) { d.Status = appsv1.DaemonSetStatus{ObservedGeneration: 3} }), 0, false},
		"not seen":    {"its controller has not looked yet", ready(func(d *appsv1.DaemonSet) { d.Generation = 4 }), 5 * time.Second, false},
		"not updated": {"a pod is as before", ready(func(d *appsv1.DaemonSet) { d.Status.UpdatedNumberScheduled = 1 }), 5 * time.Second, false},
		"unavailable": {"a pod does not run", ready(func(d *appsv1.DaemonSet) { d.Status.NumberUnavailable = 1 }), 5 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := DaemonSet(c.in)
			if w.After != c.after || (err != nil) != c.fails || (w.For == "") != (c.after == 0) {
				t.Errorf("%s: %s: %+v, %v", name, c.reason, w, err)
			}
		})
	}
}

// TestRelatedObjects: section 7.4, the objects that tools for evidence collect.
func TestRelatedObjects(t *testing.T) {
	var got []string
	for _, o := range at(0).Begin(configv1.ClusterOperatorStatus{}).RelatedObjects {
		got = append(got, strings.Join([]string{o.Group, o.Resource, o.Namespace, o.Name}, "/"))
	}
	want := []string{
		"/namespaces//ns", "machine.openshift.io/machines/ns/", "machine.openshift.io/machinesets/ns/", "machine.openshift.io/machinehealthchecks/ns/",
		"rbac.authorization.k8s.io/roles/ns/", "rbac.authorization.k8s.io/clusterroles//machine-api-operator", "rbac.authorization.k8s.io/clusterroles//machine-api-controllers",
		"metal3.io/baremetalhosts/ns/",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}

// TestWorkers: step 8 of section 7.3.
func TestWorkers(t *testing.T) {
	set := func(n int32, pool string) Set {
		return Set{Name: pool, Replicas: ptr.To(n), Selector: metav1.LabelSelector{MatchLabels: map[string]string{"pool": pool}}}
	}
	machine := func(name, pool string, running bool) Machine {
		return Machine{Name: name, Labels: map[string]string{"pool": pool}, Running: running}
	}
	for name, c := range map[string]struct {
		reason   string
		sets     []Set
		machines []Machine
		want     string
	}{
		"none":    {"nobody asks for workers", nil, nil, ""},
		"one":     {"a single worker need not run", []Set{set(1, "a")}, []Machine{machine("m", "a", false)}, ""},
		"missing": {"a set is not as asked for", []Set{set(2, "a")}, []Machine{machine("m", "a", true)}, "replicas not satisfied for MachineSet: expected 2 replicas, got 1 current replicas"},
		"default": {"no replicas are one", []Set{{Name: "a"}}, nil, "replicas not satisfied for MachineSet: expected 1 replicas, got 0 current replicas"},
		"waiting": {
			"one of two runs",
			[]Set{set(1, "a"), set(1, "b")},
			[]Machine{machine("m", "a", true), machine("n", "b", false)},
			"minimum worker replica count (2) not yet met: current running replicas 1, waiting for [n]",
		},
		"enough": {"two of three run", []Set{set(3, "a")}, []Machine{machine("m", "a", true), machine("n", "a", true), machine("o", "a", false)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := Workers(c.sets, c.machines); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("%s: %q, want %q", c.reason, got, c.want)
			}
		})
	}
}
