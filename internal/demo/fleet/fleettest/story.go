package fleettest

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Rolls lets the owner of two machines replace both, one at a time, and requires that a pod is evicted from each machine before the machine's
// server is deleted. Node returns the node of a machine.
func (b *Bench) Rolls(namespace string, node func(machine string) string, change func()) {
	b.T.Helper()
	old := b.Ready()
	var pods []*corev1.Pod
	for _, name := range old {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "on-" + name}, Spec: corev1.PodSpec{
			NodeName: node(name), Containers: []corev1.Container{{Name: "c", Image: "example.com/none"}},
		}}
		b.Must(b.Client.Create(b.T.Context(), p))
		pods = append(pods, p)
	}
	change()
	most := 0
	b.Eventually("both are replaced", func() string {
		servers, ready := b.Servers(), b.Ready()
		most = max(most, len(servers))
		for n, name := range old {
			err := b.Client.Get(b.T.Context(), client.ObjectKeyFromObject(pods[n]), &corev1.Pod{})
			if servers[name] == 0 && !apierrors.IsNotFound(err) {
				b.T.Fatalf("the server of %s was deleted before its pod (error %v)", name, err)
			}
			if servers[name] > 0 {
				return name + " is still there"
			}
		}
		if len(ready) != 2 || len(servers) != 2 {
			return fmt.Sprintf("ready %v, servers %v", ready, servers)
		}
		return ""
	})
	if most > 3 {
		b.T.Errorf("%d servers existed at the same time, with a surge of one", most)
	}
}

// SurvivesACrash scales the owner of two machines to five, and kills the machine controller while servers boot.
func (b *Bench) SurvivesACrash(scale func()) {
	b.T.Helper()
	scale()
	b.Eventually("some servers are accepted", func() string {
		if len(b.Servers()) < 4 {
			return fmt.Sprint(b.Servers())
		}
		return ""
	})
	b.Kill()
	b.Restart()
	b.Settled("after a crash each machine has its one server", 5)
}
