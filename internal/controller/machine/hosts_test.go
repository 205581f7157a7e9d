package machine

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/provider"
)

// TestHasNamed: whatever is seen of instances, and whatever machines come and go, a host name is another's exactly if the instance of another machine
// that there is was last seen with it.
func TestHasNamed(t *testing.T) {
	hosts := []string{"a", "b", "c"}
	rapid.Check(t, func(t *rapid.T) {
		m, last := newMemory(), map[string]provider.Instance{}
		keys, uids := map[string]client.ObjectKey{}, 0
		host := rapid.SampledFrom(append([]string{""}, hosts...))
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			name := rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "machine")
			key := client.ObjectKey{Namespace: "ns", Name: name}
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0: // another machine of the name
				m.forget(key)
				for uid, k := range keys {
					if k == key {
						delete(keys, uid)
						delete(last, uid)
					}
				}
			case 1:
				m.restored(key)
				for uid, k := range keys {
					if k == key {
						delete(last, uid)
					}
				}
			default:
				uid := ""
				for u, k := range keys {
					if k == key {
						uid = u
					}
				}
				if uid == "" {
					uids++
					uid = fmt.Sprint("uid-", uids)
					keys[uid] = key
				}
				m.of(&v1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, UID: types.UID(uid)}})
				i := provider.Instance{NodeName: host.Draw(t, "node"), Addresses: []corev1.NodeAddress{
					{Type: corev1.NodeHostName, Address: host.Draw(t, "host")}, {Type: corev1.NodeInternalIP, Address: "c"},
				}}
				m.saw(key, i)
				last[uid] = i
			}
			for _, h := range hosts {
				for _, asks := range append([]string{"uid-0"}, fmt.Sprint("uid-", uids)) {
					want := false
					for uid, i := range last {
						want = want || uid != asks && (i.NodeName == h || i.Addresses[0].Address == h)
					}
					if got := m.hasNamed(asks, h); got != want {
						t.Fatalf("host %s, asked for %s: %t, want %t", h, asks, got, want)
					}
				}
			}
		}
	})
}
