package installation

import (
	"bytes"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	discovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
)

const api = "machine.sapcloud.io/v1alpha1"

func deployment(generation int64, wanted, updated, available, replicas int32) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "m", Name: "a", Generation: generation},
		Spec:       appsv1.DeploymentSpec{Replicas: ptr.To(wanted)},
		Status: appsv1.DeploymentStatus{
			ObservedGeneration: 2, UpdatedReplicas: updated, AvailableReplicas: available, Replicas: replicas,
			Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Message: "quota exceeded"}},
		},
	}
}

func TestRun(t *testing.T) {
	for _, c := range []struct {
		reason     string
		deployment *appsv1.Deployment
		served     []metav1.APIResource
		err        []string // parts of it
	}{
		{"all is there", deployment(2, 2, 2, 2, 2), []metav1.APIResource{{Name: "machines"}}, nil},
		{"no pod is asked for", deployment(2, 0, 0, 0, 0), []metav1.APIResource{{Name: "machines"}}, nil},
		{"a pod is not available", deployment(2, 2, 2, 1, 2), []metav1.APIResource{{Name: "machines"}}, []string{"deployment m/a: 2 pods wanted, 2 updated, 1 available, 2 in all: quota exceeded"}},
		{"a pod of an older template is left", deployment(2, 2, 2, 2, 3), []metav1.APIResource{{Name: "machines"}}, []string{"3 in all"}},
		{"a pod has an older template", deployment(2, 2, 1, 2, 2), []metav1.APIResource{{Name: "machines"}}, []string{"1 updated"}},
		{"the status is of an older generation", deployment(3, 2, 2, 2, 2), []metav1.APIResource{{Name: "machines"}}, []string{"has not seen its last change"}},
		{"no Deployment and no API", nil, nil, []string{`deployment m/a: deployments.apps "a" not found`, "API " + api}},
		{"an API without resources", deployment(2, 2, 2, 2, 2), []metav1.APIResource{}, []string{"it has no resources"}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			client := fake.NewClientset()
			if c.deployment != nil {
				client = fake.NewClientset(c.deployment)
			}
			if c.served != nil {
				client.Discovery().(*discovery.FakeDiscovery).Resources = []*metav1.APIResourceList{{GroupVersion: api, APIResources: c.served}}
			}
			var out bytes.Buffer
			err := Check{Namespace: "m", Deployments: []string{"a"}, APIs: []string{api}}.Run(t.Context(), client, clock.RealClock{}, &out)
			if (err == nil) != (c.err == nil) {
				t.Fatalf("error %v, want %q", err, c.err)
			}
			for _, part := range c.err {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %v, want %q in it", err, part)
				}
			}
			if c.err == nil && out.String() != "available: a\nserved: "+api+"\n" {
				t.Errorf("output %q", out.String())
			}
		})
	}
}

// TestWaits: what is not there yet is looked for again, until the timeout.
func TestWaits(t *testing.T) {
	client, times := fake.NewClientset(), testingclock.NewFakeClock(time.Unix(0, 0))
	done := make(chan error, 1)
	go func() {
		done <- Check{Namespace: "m", Deployments: []string{"a"}, Timeout: 4 * time.Second, Interval: 2 * time.Second}.Run(t.Context(), client, times, &bytes.Buffer{})
	}()
	for range 2 {
		for !times.HasWaiters() {
			time.Sleep(time.Millisecond)
		}
		select {
		case err := <-done:
			t.Fatalf("it ends before its time: %v", err)
		default:
		}
		times.Step(2 * time.Second)
	}
	if err := <-done; err == nil || !strings.HasPrefix(err.Error(), "after 4s: deployment m/a") {
		t.Errorf("error %v", err)
	}
}
